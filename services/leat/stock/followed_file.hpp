// SPDX-License-Identifier: BSL-1.0
//
// A file that others append to, replace and cut, as `tail -F` sees it. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <leat/net/file.hpp>

namespace leat::stock {

class followed_file {
 public:
  enum class status : std::uint8_t {
    data,
    end,      // for now
    fresh,    // another file has its name: reading goes on at its beginning
    cut,      // it has become shorter: reading goes on at its beginning
    missing,  // there is none
  };

  explicit followed_file(std::string path) : path_(std::move(path)) {}

  // Throws std::system_error but for a file that is not there, and for one that is not a regular file.
  bool open();
  void to_end();
  void to_begin() noexcept { offset_ = 0; }
  // data: the first n bytes of `into`. The others tell what is the case at the end of the file.
  status read(net::mutable_bytes into, std::size_t& n);

  // Of the file that is open: device and number.
  using identity = std::pair<std::uint64_t, std::uint64_t>;
  identity which() const noexcept { return which_.value_or(identity()); }

 private:
  template <class F>
  std::optional<identity> identity_by(F f) const;
  std::optional<identity> identity_of_path() const;

  const std::string path_;
  net::file file_;
  std::optional<identity> which_;
  std::uint64_t offset_ = 0;
};

}  // namespace leat::stock
