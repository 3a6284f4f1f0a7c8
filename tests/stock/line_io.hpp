// SPDX-License-Identifier: BSL-1.0
//
// What tests of line-reader and line-writer have in common.
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

#include <leat/net.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {

using strings = std::vector<std::string>;
namespace fs = std::filesystem;

inline void put(const std::string& path, std::string_view text, std::ios::openmode how = std::ios::app) {
  std::ofstream(path, std::ios::binary | how) << text;
}
inline std::string content(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

inline std::string line_from(const leat::channel<record>& c) {
  const auto r = c.recv_until(patience);
  return r && r->text("line") ? *r->text("line") : "(nothing)";
}
inline record text(const char* line) { return {{"line", line}}; }

// "listens on 127.0.0.1:40123" of the log.
inline std::string listens_on(log_reader& log) {
  CHECK(eventually([&] { return log.has("listens on "); }));
  return log.after("listens on ");
}

// The master of a new terminal; `link` leads to its other side.
inline net::stream new_terminal(const std::string& link) {
  const int fd = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::grantpt(fd) == 0);
  REQUIRE(::unlockpt(fd) == 0);
  char name[128];
  REQUIRE(::ptsname_r(fd, name, sizeof name) == 0);
  fs::remove(link);
  fs::create_symlink(name, link);
  return net::stream(net::descriptor(fd));
}

}  // namespace leat::stock::test
