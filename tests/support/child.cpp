// SPDX-License-Identifier: BSL-1.0
#include "support/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string_view>

#include <leat/base/check.hpp>

extern char** environ;

namespace leat::test {

namespace {

constexpr const char* child_flag = "--leat-child";

const child_entry*& first_entry() {
  static const child_entry* first = nullptr;
  return first;
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result;
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry; ++entry) {
    const bool changed = std::any_of(changes.begin(), changes.end(), [&](const std::string& change) {
      return name_of(change) == name_of(*entry);
    });
    if (!changed) result.emplace_back(*entry);
  }
  for (const std::string& change : changes)
    if (change.find('=') != std::string::npos) result.push_back(change);
  return result;
}

std::string asan_options(bool leaks) {
  const char* inherited = std::getenv("ASAN_OPTIONS");
  return "ASAN_OPTIONS=" + (inherited ? inherited + std::string(":") : std::string()) +
         (leaks ? "" : "detect_leaks=0");
}

// Without the search for leaks at exit, which costs seconds per process on some machines; the parent,
// which runs the tests, does search. A test that wants it sets ASAN_OPTIONS itself.
std::vector<std::string> environment_for(const child_options& options) {
  std::vector<std::string> changes = options.environment;
  const bool given = std::any_of(changes.begin(), changes.end(), [](const std::string& change) {
    return change.rfind("ASAN_OPTIONS", 0) == 0;
  });
  if (given) return changes;
  changes.push_back(asan_options(false));
  return changes;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// In the child: a clean start, as far as a fork allows.
void become_child(int output) {
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGPIPE, SIGALRM})
    ::sigaction(number, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // A test that dies on purpose leaves no core.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

// Reads until the child and all that inherited its output are gone, or the limit ends it.
child_result collect(pid_t child, int input, deadline until) {
  child_result result;
  bool open = true;
  bool running = true;
  int status = 0;
  while (running) {
    if (until.expired() && !result.timed_out) {
      result.timed_out = true;
      ::kill(child, SIGKILL);
    }
    // Waits for output in short turns, since a child may live on after it closed its output.
    pollfd ready{input, POLLIN, 0};
    ::poll(&ready, open ? 1 : 0, 10);
    if (open && ready.revents != 0) {
      char chunk[4096];
      const ssize_t size = ::read(input, chunk, sizeof chunk);
      if (size > 0) result.output.append(chunk, static_cast<std::size_t>(size));
      if (size == 0) open = false;
      if (size > 0) continue;
    }
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    LEAT_CHECK(ended >= 0 || errno == EINTR, "the child cannot be waited for", "pid", child, "errno", errno);
    running = ended != child;
  }
  // What it wrote last is still in the pipe; a grandchild that holds the other end is not waited for.
  ::fcntl(input, F_SETFL, O_NONBLOCK);
  char chunk[4096];
  for (ssize_t size; (size = ::read(input, chunk, sizeof chunk)) > 0;)
    result.output.append(chunk, static_cast<std::size_t>(size));
  ::close(input);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

template <class Body>
child_result run_in_fork(const child_options& options, Body body) {
  int pipe_ends[2];
  LEAT_CHECK(::pipe2(pipe_ends, O_CLOEXEC) == 0, "no pipe for the child's output", "errno", errno);
  // Else the child would print what is still buffered once more.
  std::fflush(nullptr);
  const pid_t child = ::fork();
  LEAT_CHECK(child >= 0, "cannot fork", "errno", errno);
  if (child == 0) {
    become_child(pipe_ends[1]);
    body();
    ::_exit(70);
  }
  ::close(pipe_ends[1]);
  return collect(child, pipe_ends[0], deadline(options.limit));
}

}  // namespace

child_result run_program(const std::string& path, const std::vector<std::string>& arguments,
                         const child_options& options) {
  // All made before the fork: the child of a process with threads must not allocate.
  std::vector<std::string> argument_texts{path};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_texts = environment_with(environment_for(options));
  const std::vector<char*> argv = pointers_to(argument_texts);
  const std::vector<char*> envp = pointers_to(environment_texts);
  return run_in_fork(options, [&] {
    ::execve(path.c_str(), argv.data(), envp.data());
    fixed_text<512> text;
    text.format("cannot start {}: errno {}\n", path, errno);
    write_text(STDERR_FILENO, text.view());
    ::_exit(127);
  });
}

child_result run_forked(const std::function<void()>& body, const child_options& options) {
  return run_in_fork(options, [&] {
    for (const std::string& change : options.environment) {
      const std::size_t equals = change.find('=');
      if (equals == std::string::npos) {
        ::unsetenv(change.c_str());
      } else {
        ::setenv(change.substr(0, equals).c_str(), change.c_str() + equals + 1, 1);
      }
    }
    try {
      body();
    } catch (...) {
      write_text(STDERR_FILENO, "the child's function threw\n");
      ::_exit(70);
    }
    std::fflush(nullptr);
    ::_exit(0);
  });
}

child_result run_self(const std::string& name, const child_options& options) {
  return run_program("/proc/self/exe", {child_flag, name}, options);
}

std::string leaks_once(const std::string& program) {
  static std::mutex lock;
  static std::set<std::string> started;
  const std::lock_guard guard(lock);
  return asan_options(started.insert(program).second);
}

child_entry::child_entry(const char* name, void (*body)()) : name_(name), body_(body), next_(first_entry()) {
  first_entry() = this;
}

bool run_as_child(int argc, char** argv, int& status) {
  if (argc != 3 || std::strcmp(argv[1], child_flag) != 0) return false;
  const child_entry* found = nullptr;
  int count = 0;
  for (const child_entry* entry = first_entry(); entry; entry = entry->next_) {
    if (std::strcmp(entry->name_, argv[2]) != 0) continue;
    found = entry;
    ++count;
  }
  if (count == 1) {
    found->body_();
    status = 0;
    return true;
  }
  // Files of tests may be linked together.
  std::fprintf(stderr, "%s LEAT_CHILD(%s) in this program\n", count == 0 ? "no" : "more than one", argv[2]);
  status = 126;
  return true;
}

}  // namespace leat::test
