// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>

#include <leat/base/clock.hpp>

#include "checking.hpp"
#include "support/figure.hpp"

using namespace leat::config;
using namespace leat::config::test;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr bool slow_build = true;
#elif defined(__has_feature)
constexpr bool slow_build = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool slow_build = false;
#endif

std::string chain(int processes, const char* last_key = "") {
  std::string text =
      "leat = 1\n[process.p0]\nuse = \"ticker-sim\"\nconfig = { period = \"250ms\" }\nout = { value = \"c0\" "
      "}\n";
  for (int i = 1; i < processes; ++i) {
    const std::string here = std::to_string(i), before = std::to_string(i - 1);
    const bool last = i + 1 == processes;
    text += "\n[channel.c" + before + "]\ntype = \"sample\"\ncapacity = 256\n\n[process.p" + here + "]\n";
    text += last ? "use = \"sink\"\nin = { samples = \"c" + before + "\" }\n"
                 : "use = \"smooth\"\nconfig = { window = 16 }\nstack = \"64K\"\nhang = \"500ms\"\nin = { "
                   "raw = \"c" +
                       before + "\" }\nout = { clean = \"c" + here + "\" }\n";
  }
  return text + last_key;
}

// So many columns, each with another name behind it.
std::string renamed_columns(int n) {
  std::string columns, names;
  for (int i = 0; i < n; ++i) {
    const std::string number = std::to_string(i);
    columns += "\"c" + number + "\", ";
    names += "f" + number + " = \"c" + number + "\"\n";
  }
  return "leat = 1\n[process.read]\nuse = \"line-reader\"\nconfig = { from = \"host:1\", columns = [" +
         columns +
         "] }\n[process.band]\nuse = \"deadband\"\nconfig = { field = \"f0\" }\nin = { values = "
         "\"read.values\" }\n[process.band.map.values]\n" +
         names + "[process.take]\nuse = \"recorder\"\nin = { values = \"band.out\" }\n";
}

// Each `find` replaced; in one pass, since the text may be long.
std::string replaced(const std::string& text, const std::string& find, const std::string& put) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(find, from)) != std::string::npos; from = at + find.size())
    result.append(text, from, at - from).append(put);
  return result.append(text, from);
}

// Of this thread, so that a busy machine does not count.
leat::nanoseconds cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + leat::nanoseconds(t.tv_nsec);
}

leat::nanoseconds best_of_some(const std::string& text, bool good) {
  leat::nanoseconds best = 1h;
  for (int i = 0; i < (slow_build ? 2 : 5); ++i) {
    const leat::nanoseconds begin = cpu_time();
    const checked c = check_this(text);
    best = std::min(best, cpu_time() - begin);
    CHECK(c.plan.has_value() == good);
  }
  return best;
}

}  // namespace

TEST_CASE("a file of 1,000 processes is checked in less than 100 ms") {
  const leat::nanoseconds took = best_of_some(chain(1000), true);
  CHECK(leat::test::at_most("check of a file of 1,000 processes", took, slow_build ? 3s : 100ms));
}

TEST_CASE("ten times the processes take about ten times as long, not a hundred times") {
  const leat::nanoseconds small = best_of_some(chain(1000), true), large = best_of_some(chain(10000), true);
  CHECK(leat::test::at_most("check of a file of 10,000 processes", large, 40 * small));
}

TEST_CASE("ten times the fields take about ten times as long as well") {
  const leat::nanoseconds small = best_of_some(renamed_columns(1000), true),
                          large = best_of_some(renamed_columns(10000), true);
  CHECK(leat::test::at_most("check of 10,000 fields", large, 40 * small));
}

TEST_CASE("ten thousand mistyped names among ten thousand do not take for ever") {
  const std::string text = replaced(chain(10000), "{ raw = \"c", "{ raw = \"xc");
  const leat::nanoseconds begin = cpu_time();
  const checked c = check_this(text);
  CHECK(c.found.errors() >= 9998);
  CHECK(leat::test::at_most("check of 10,000 mistyped names", cpu_time() - begin, slow_build ? 60s : 10s));
}

TEST_CASE("a thousand mistakes are found about as fast") {
  const std::string text = replaced(chain(1000), "use = \"smooth\"", "use = \"smoooth\"");
  const leat::nanoseconds took = best_of_some(text, false);
  CHECK(leat::test::at_most("check of a file with 1,000 mistakes", took, slow_build ? 5s : 200ms));
}
