// SPDX-License-Identifier: BSL-1.0
//
// Levels of the log for single speakers.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leat/base/log_levels.hpp>

using leat::log_level;

namespace {

// What is logged while it lives; afterwards all is as it was.
class listener {
 public:
  listener() : before_(leat::get_log_level()) {
    leat::set_log_sink(
        [](void* to, log_level, std::string_view component, std::string_view text) {
          static_cast<listener*>(to)->heard_.push_back(std::string(component) + "|" + std::string(text));
        },
        this);
  }
  ~listener() {
    leat::set_log_sink(nullptr, nullptr);
    leat::set_log_level(before_);
  }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  std::vector<std::string> take() { return std::exchange(heard_, {}); }

 private:
  log_level before_;
  std::vector<std::string> heard_;
};

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("one speaker may say more than the others, by its component or as the first word") {
  listener l;
  leat::set_log_level(log_level::warning);
  REQUIRE(leat::set_log_level_of("plant/pump", log_level::debug));
  CHECK(leat::log_enabled(log_level::debug));
  CHECK(leat::get_log_level() == log_level::warning);
  leat::log_debug("plant/pump", "a");
  leat::log_debug("plant/pump/1", "b");
  leat::log_debug("stock", "{}: c", "plant/pump");
  leat::log_debug("stock", "{}: d", "plant/pump/0");
  leat::log_debug("plant/pumps", "not meant");
  leat::log_debug("stock", "plant/pump-2: not meant");
  leat::log_debug("stock", "of plant/pump");
  leat::log_info("stock", "plant/fan: not meant");
  leat::log_warning("stock", "plant/fan: e");
  CHECK(l.take() == lines{"plant/pump|a", "plant/pump/1|b", "stock|plant/pump: c", "stock|plant/pump/0: d",
                          "stock|plant/fan: e"});
}

TEST_CASE("one speaker may say less than the others") {
  listener l;
  leat::set_log_level(log_level::info);
  REQUIRE(leat::set_log_level_of("plant/noisy", log_level::error));
  leat::log_warning("plant/noisy", "a");
  leat::log_error("plant/noisy", "b");
  leat::log_info("plant/fan", "c");
  leat::log_debug("plant/fan", "d");
  CHECK(l.take() == lines{"plant/noisy|b", "plant/fan|c"});
  REQUIRE(leat::set_log_level_of("plant/noisy", log_level::info));
  leat::log_info("plant/noisy", "e");
  CHECK(l.take() == lines{"plant/noisy|e"});
}

TEST_CASE("a level for all is one for all") {
  listener l;
  REQUIRE(leat::set_log_level_of("plant/pump", log_level::debug));
  REQUIRE(leat::set_log_level_of("plant/noisy", log_level::error));
  leat::set_log_level(log_level::notice);
  CHECK_FALSE(leat::log_enabled(log_level::info));
  leat::log_debug("plant/pump", "a");
  leat::log_notice("plant/noisy", "b");
  CHECK(l.take() == lines{"plant/noisy|b"});
}

TEST_CASE("names that are empty or too long, and too many, are refused") {
  const listener l;
  CHECK_FALSE(leat::set_log_level_of("", log_level::debug));
  CHECK_FALSE(leat::set_log_level_of(std::string(leat::longest_log_speaker + 1, 'x'), log_level::debug));
  std::size_t taken = 0;
  while (taken <= leat::most_log_speakers &&
         leat::set_log_level_of("n" + std::to_string(taken), log_level::debug))
    ++taken;
  CHECK(taken <= leat::most_log_speakers);
  CHECK(leat::set_log_level_of("n0", log_level::error));  // a known one goes on
}

TEST_CASE("levels can be set while others log") {
  // Not a listener: what is heard in the moment of a change may be either.
  leat::set_log_sink([](void*, log_level, std::string_view, std::string_view) {}, nullptr);
  leat::set_log_level(log_level::error);
  std::atomic<bool> done{false};
  std::vector<std::thread> speakers;
  for (int i = 0; i < 2; ++i)
    speakers.emplace_back([&] {
      while (!done) leat::log_debug("nobody hears", "it");
    });
  for (int i = 0; i < 2000; ++i) {
    (void)leat::set_log_level_of("n1", i % 2 ? log_level::debug : log_level::error);
    if (i % 50 == 0) leat::set_log_level(log_level::error);
  }
  done = true;
  for (std::thread& t : speakers) t.join();
  listener l;
  leat::log_debug("nobody hears", "it");
  leat::log_debug("n1", "it");
  CHECK(l.take() == lines{"n1|it"});
}
