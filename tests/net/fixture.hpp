// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <leat/net.hpp>
#include "csp/start_waiting.hpp"
#include "sched/fixture.hpp"

namespace leat::net::test {

using namespace leat::sched::test;
using leat::csp::test::start_waiting;

// body() as the main G at procs 1, 2, 4; nothing may be left behind.
template <class F>
void at_procs(F body) {
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), body);
  }
}

// What a call that must fail says; an empty one if it did not.
template <class F>
std::error_code error_of(F call) {
  try {
    call();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}
template <class Exception, class F>
std::string text_of(F call) {
  try {
    call();
  } catch (const Exception& e) {
    return e.what();
  }
  return {};
}

// True: the call threw leat::stopped.
template <class F>
bool stops(F call) {
  try {
    call();
  } catch (const leat::stopped&) {
    return true;
  }
  return false;
}

// A G that is stopped while it waits in call(): did it throw leat::stopped?
template <class F>
bool stops_while_waiting(F call) {
  stop_source source;
  std::atomic<bool> stopped{false};
  {
    auto t = start_waiting([&] { stopped = stops(call); }, {.stop = source});
    source.request_stop();
    t.get();
  }
  return stopped;
}

// A name that no other program has, for a socket that is no file.
inline std::string abstract_name(const char* what) {
  return std::string("unix:@leat-") + what + '-' + std::to_string(::getpid());
}

// Two connected streams over the kind of socket that the text names.
struct stream_pair {
  stream near, far;
};
inline stream_pair connected(const std::string& where = "127.0.0.1:0") {
  listener at = listen(where);
  stream near = dial(at.local());
  return {std::move(near), at.accept()};
}

// The peer of this one gets a reset.
inline void reset(stream& s) {
  const linger at_once{1, 0};
  ::setsockopt(s.handle().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  s.close();
}

// A directory that goes with its contents.
class scratch_directory {
 public:
  scratch_directory() {
    const char* const root = std::getenv("TMPDIR");
    path_ = std::string(root ? root : "/tmp") + "/leat-test.XXXXXX";
    if (!::mkdtemp(path_.data())) throw std::system_error(errno, std::system_category(), "mkdtemp");
  }
  ~scratch_directory() { (void)!std::system(("rm -rf '" + path_ + "'").c_str()); }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace leat::net::test
