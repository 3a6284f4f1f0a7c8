// SPDX-License-Identifier: BSL-1.0
// The main of all tests. doctest's own signal handlers stay out: they would stand between the tests
// and the handlers that Leat installs.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <string>

#include <leat/base/format.hpp>

#include "support/child.hpp"
#include "support/soak.hpp"
#include "support/watchdog.hpp"

namespace {

int cases_begun = 0;

struct time_limit_listener : doctest::IReporter {
  explicit time_limit_listener(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& test) override {
    ++cases_begun;
    // The decorator doctest::timeout(seconds) wins over the default.
    const leat::nanoseconds limit = test.m_timeout > 0
                                        ? leat::saturate_ns(std::chrono::duration<double>(test.m_timeout))
                                        : leat::test::default_time_limit();
    leat::test::test_begins({test.m_name, test.m_file.c_str(), test.m_line}, limit);
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { leat::test::test_ends(); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("time_limit", 1, time_limit_listener);

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define LEAT_NAME_CRASHED_TEST 1
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define LEAT_NAME_CRASHED_TEST 1
#endif
#endif

#if defined(LEAT_NAME_CRASHED_TEST)
// Returns into the faulting instruction, which then meets the default action.
void name_crashed_test(int number) {
  const leat::test::running_test test = leat::test::current_test();
  leat::fixed_text<512> text;
  text.append("signal ").append_int(number).append(" in test \"").append(test.name).append("\", ");
  text.append(test.file).append(':').append_uint(test.line).append('\n');
  leat::write_text(STDERR_FILENO, text.view());
}

void install_crash_handler() {
  struct sigaction action = {};
  action.sa_handler = name_crashed_test;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::sigaction(number, &action, nullptr);
}
#else
void install_crash_handler() {}
#endif

// The value of a variable that is for this program alone, not for those it starts.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value ? value : "";
  ::unsetenv(name);
  return text;
}

// Cases of the suite `soak` run when LEAT_SOAK=1 says so, and then no others (support/soak.hpp).
// LEAT_TEST_CASE is the name of the only case to run: `./dev` runs one again by it. A comma would end the
// name, so any character stands for it. True: one case is wanted.
bool choose_cases(doctest::Context& context) {
  context.addFilter(leat::test::soaking() ? "test-suite" : "test-suite-exclude", "soak");
  std::string name = take_variable("LEAT_TEST_CASE");
  std::replace(name.begin(), name.end(), ',', '?');
  if (!name.empty()) context.addFilter("test-case", name.c_str());
  return !name.empty();
}

}  // namespace

int main(int argc, char** argv) {
  int child_status = 0;
  if (leat::test::run_as_child(argc, argv, child_status)) return child_status;
  doctest::Context context(argc, argv);
  const bool wants_one = choose_cases(context);
  install_crash_handler();
  leat::test::start_watchdog();
  int status = context.run();
  leat::test::stop_watchdog();
  if (wants_one && cases_begun == 0) {  // nothing has passed
    leat::write_text(STDERR_FILENO, "no test case has the name that LEAT_TEST_CASE says\n");
    status = 1;
  }
  return status;
}
