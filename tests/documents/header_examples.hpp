// SPDX-License-Identifier: BSL-1.0
//
// What the examples in the comments of headers take for granted (header_examples.awk).
#pragma once
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace given {

using namespace std::chrono_literals;
using leat::ask;

struct sample {
  double celsius = 0;
  std::int64_t at_ms = 0;
};
LEAT_MESSAGE(sample, celsius, at_ms);

struct totals {
  double sum = 0;
  void add(const sample& s) { sum += s.celsius; }
};
LEAT_MESSAGE(totals, sum);

struct set_point {
  double celsius = 0;
};
LEAT_MESSAGE(set_point, celsius);
struct reading {
  double celsius = 0;
};
LEAT_MESSAGE(reading, celsius);
struct status_request {
  int of = 0;
};
LEAT_MESSAGE(status_request, of);
struct status {
  bool ok = true;
};
LEAT_MESSAGE(status, ok);

class smooth : public leat::process {
 public:
  void run() override {}
};
inline leat::process_options options;

inline leat::channel<int> a(1), b(1);
inline int v = 1;

using page = std::string;
inline std::vector<std::string> urls;
inline page fetch(const std::string& url) { return url; }
inline void complain(const std::string&, const std::exception_ptr&) {}
template <class... T>
void use(const T&...) {}

inline leat::stop_source source;
inline leat::stop_token token = source.token();
inline int fd = -1;
inline char to[64];
inline std::size_t size = sizeof to;
inline ssize_t n = 0;
inline std::string name;
inline void f() {}
inline int look_up(const std::string&) { return 0; }

}  // namespace given

// A test's.
#define CHECK(...) static_cast<void>(__VA_ARGS__)
