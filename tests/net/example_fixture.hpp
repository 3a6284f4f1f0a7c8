// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "net/fixture.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

namespace leat::net::test {

// An example server on a free port of loopback. The examples print "name: on ADDRESS" when they listen.
class server {
 public:
  explicit server(const std::string& where = "127.0.0.1:0")
      : program_({leat::test::program_path(LEAT_EXAMPLE), where},
                 {.in = stdio::null,
                  .err = stdio::pipe,
                  .env = {leat::test::leaks_once(leat::test::program_path(LEAT_EXAMPLE))}}) {
    const auto line = program_.err().read_line(patience);
    const std::size_t at = line ? line->find(": on ") : std::string::npos;
    if (at == std::string::npos) throw std::runtime_error("the server said: " + line.value_or("nothing"));
    where_ = line->substr(at + 5);
    port_ = where_.substr(where_.rfind(':') + 1);
  }

  const std::string& where() const noexcept { return where_; }
  const std::string& port() const noexcept { return port_; }
  stream dial() const { return net::dial(where_, patience); }

  // As by Ctrl-C. What it printed after its first line must be nothing: no leak, no race, no complaint.
  exit_status end(int signal = SIGINT) {
    program_.kill(signal);
    std::string said;
    char data[4096];
    while (const std::size_t n = program_.err().read_some(data, patience)) said.append(data, n);
    CHECK(said == "");
    return program_.wait(patience);
  }

 private:
  child program_;
  std::string where_, port_;
};

inline bool has_program(const char* name) {
  if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) return true;
  std::printf("skipped: there is no %s here\n", name);
  return false;
}

// What a client prints that gets `input` and then the end of it.
struct output {
  std::string text;
  exit_status status;
};
inline output run_client(const std::vector<std::string>& argv, const std::string& input = {}) {
  child c(argv, {.in = stdio::pipe, .out = stdio::pipe});
  c.in().write(input, patience);
  c.in().close();
  output o;
  char data[4096];
  while (const std::size_t n = c.out().read_some(data, patience)) o.text.append(data, n);
  o.status = c.wait(patience);
  return o;
}

}  // namespace leat::net::test
