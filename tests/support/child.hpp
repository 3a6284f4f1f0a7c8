// SPDX-License-Identifier: BSL-1.0
// Children for tests: code that is meant to die, or that needs a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat::test {

struct child_result {
  std::string output;      // stdout and stderr, as they came
  bool timed_out = false;  // killed by the limit
  int exit_code = -1;      // -1 unless it exited
  int signal = 0;          // 0 unless a signal ended it

  bool exited(int code) const noexcept { return !timed_out && exit_code == code; }
  bool died_by(int number) const noexcept { return !timed_out && signal == number; }
  bool said(const std::string& text) const { return output.find(text) != std::string::npos; }
};

struct child_options {
  nanoseconds limit = std::chrono::seconds(60);  // generous: it costs nothing when all is well
  // "NAME=value" sets, "NAME" alone removes.
  std::vector<std::string> environment = {};
};

// A program by path (no search). Exit code 127 and a line of output when it cannot be started.
child_result run_program(const std::string& path, const std::vector<std::string>& arguments,
                         const child_options& options = {});

// The function in a fork of this process; exit code 0 when it returns, 70 when it throws. Other
// threads do not exist in the child and their locks stay as they are, so prefer run_self for
// anything that starts threads; ThreadSanitizer insists on it.
child_result run_forked(const std::function<void()>& body, const child_options& options = {});

// A function defined by LEAT_CHILD(name) { ... }, in a fresh start of this test program.
child_result run_self(const std::string& name, const child_options& options = {});

// For the environment of a program that is started otherwise: the search for leaks at exit costs seconds per
// process on some machines, so only the first start of each program has it. "ASAN_OPTIONS=...".
std::string leaks_once(const std::string& program);

// For main: true when this process is such a fresh start; it then ran the function.
bool run_as_child(int argc, char** argv, int& status);

class child_entry {
 public:
  child_entry(const char* name, void (*body)());

 private:
  friend bool run_as_child(int argc, char** argv, int& status);
  const char* name_;
  void (*body_)();
  const child_entry* next_;
};

}  // namespace leat::test

#define LEAT_CHILD(name)                                                  \
  static void name();                                                     \
  static const ::leat::test::child_entry name##_child_entry{#name, name}; \
  static void name()
