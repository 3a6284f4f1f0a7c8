// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <stdlib.h>
#include <filesystem>
#include <leat/process/message.hpp>
#include <leat/store/store_file.hpp>
#include <leat/store/store_shape.hpp>
#include <string>
#include <system_error>
#include <vector>

namespace leat::store::test {

class temporary_folder {
 public:
  temporary_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "leat-store-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  std::string file(const char* name = "a.store") const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::vector<std::uint8_t> body_of(std::uint64_t n, std::size_t length = 20) {
  std::vector<std::uint8_t> out(length, static_cast<std::uint8_t>(n * 7));
  for (std::size_t i = 0; i < 8 && i < length; ++i) out[i] = static_cast<std::uint8_t>(n >> (8 * i));
  return out;
}

inline const store_file::identity ours{"plant/raw", "sample\nsensor text\ncelsius double\n"};

// Appends first to last, in one transaction.
inline void append(store_file& f, std::uint64_t first, std::uint64_t last, bool sync = false,
                   std::size_t length = 20) {
  std::vector<std::vector<std::uint8_t>> bodies;
  store_file::batch b;
  for (std::uint64_t n = first; n <= last; ++n) bodies.push_back(body_of(n, length));
  for (std::uint64_t n = first; n <= last; ++n) b.append.push_back({n, bodies[n - first]});
  b.sync = sync;
  f.write(b);
}

}  // namespace leat::store::test
