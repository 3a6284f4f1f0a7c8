// SPDX-License-Identifier: BSL-1.0
//
// Checks texts and files of these tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>

#include "fixture.hpp"

namespace leat::config::test {

inline const test_catalog& classes() {
  static const test_catalog all;
  return all;
}

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline checked check_this(std::string text, const std::map<std::string, std::string>& environment = {}) {
  return check_text("t.toml", std::move(text), classes(),
                    {.environment = [&](std::string_view name) -> std::optional<std::string> {
                      const auto found = environment.find(std::string(name));
                      if (found == environment.end()) return std::nullopt;
                      return found->second;
                    }});
}

inline std::string shown(const checked& c) { return render(c.found, c.sources); }

// A folder of its own, removed at the end; the working folder meanwhile, so that names in diagnostics are short.
class scratch_folder {
 public:
  scratch_folder() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "leat-config-XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
    std::filesystem::current_path(folder_);
  }
  ~scratch_folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  void file(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

 private:
  std::filesystem::path before_, folder_;
};

// A service that is right, with this name for its channel.
inline std::string small_service(const std::string& name, const std::string& more = "") {
  return "leat = 1\n[service]\nname = \"" + name +
         "\"\n[process.probe]\nuse = \"ticker-sim\"\n[process.taker]\nuse = \"sink\"\nin = { samples = "
         "\"probe.value\" }\n" +
         more;
}

}  // namespace leat::config::test
