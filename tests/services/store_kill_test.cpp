// SPDX-License-Identifier: BSL-1.0
//
// A program that sends and receives through a store is killed at random moments. Nothing is lost beyond what `sync`
// allows: with "each" no value whose send returned, with "1s" none whose send returned some hundred milliseconds
// before, which is written, if not synced. With "each" only what was not acknowledged comes twice; else also
// what was in the last moments (docs/stores.md). LEAT_STORE_KILLS=1000 is the long form.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <leat/base/clock.hpp>
#include <leat/fiber/annotate.hpp>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "sched/hang_guard.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace store_kill_test {

constexpr int most = 1 << 26;

// In memory that outlives the child.
struct progress {
  std::atomic<int> begun{0};  // the greatest number whose send has begun
  std::atomic<int> sent{0};   // and has returned
  std::atomic<int> old{0};    // the same, as of 1.4 s before: `sync`, and what a slow disk takes
  std::atomic<int> out_of_order{0};
  std::atomic<std::uint8_t> received[most];
};
progress* shared_progress(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(progress)) != 0) std::abort();
  void* const at = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) std::abort();
  return static_cast<progress*>(at);
}

std::string folder_of_child() {
  const char* const f = std::getenv("LEAT_STORE_FOLDER");
  return f ? f : "";
}
bool is(const char* name) {
  const char* const how = std::getenv("LEAT_STORE_HOW");
  return how && std::string_view(how).find(name) != std::string_view::npos;
}

// The numbers go on where the last life ended.
class sender : public process {
  out<number> to{this, "to"};
  void run() override {
    progress& p = *shared_progress(folder_of_child() + "/progress");
    if (is("last")) return;
    std::vector<std::pair<std::int64_t, int>> times;
    std::size_t oldest = 0;
    for (int n = p.begun + 1; n < most; ++n) {
      p.begun = n;
      if (to.send({n}) != send_status::sent) return;
      p.sent = n;
      const std::int64_t at = now_ns();
      if (times.empty() || at - times.back().first > 1'000'000) times.emplace_back(at, n);
      while (oldest < times.size() && at - times[oldest].first > 1'400'000'000)
        p.old = times[oldest++].second;
      if (n % 64 == 0 && sleep_for(std::chrono::microseconds(200)) == sleep_result::stopped) return;
    }
  }
};
class receiver : public process {
  in<number> from{this, "from"};
  void run() override {
    progress& p = *shared_progress(folder_of_child() + "/progress");
    int last = 0, n = 0;
    for (const number& v : from) {
      if (v.n <= last) ++p.out_of_order;
      last = v.n;
      if (p.received[v.n] < 255) ++p.received[v.n];
      // Slower than the sender, so that much is in the file.
      if (!is("last") && ++n % 32 == 0 && sleep_for(std::chrono::microseconds(400)) == sleep_result::stopped)
        return;
    }
  }
};

}  // namespace store_kill_test
using namespace store_kill_test;
LEAT_PROCESS_AS("kill-sender", sender, "sends without end");
LEAT_PROCESS_AS("kill-receiver", receiver, "counts what it gets");

LEAT_CHILD(stores_until_killed) {
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\ndrain = \"1h\"\n[process.a]\nuse = \"kill-sender\"\nout = { to = \"c\" }\n"
      "[process.b]\nuse = \"kill-receiver\"\nin = { from = \"c\" }\ndelivery = \"at-least-once\"\n"
      "[channel.c]\nstore = { folder = \"" +
      folder_of_child() + "/stores\", sync = \"" + (is("each") ? "each" : "1s") + "\" }\n");
  leat::run(runtime_options_of(p), [&] {
    const channel<int> stop(1);
    host h(p);
    (void)h.run(stop);
  });
}

TEST_CASE("a kill at any moment loses nothing beyond what sync allows") {
  const char* const count = std::getenv("LEAT_STORE_KILLS");
  const int kills = (count ? std::atoi(count) : fiber::under_asan ? 60 : 200) / 2;
  random_numbers random(seed_for("store_kill"));
  for (const std::string how : {"each", "1s"}) {
    std::string folder = (std::filesystem::temp_directory_path() / "leat-kill-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()));
    progress& p = *shared_progress(folder + "/progress");
    std::vector<std::pair<int, int>> may_be_lost;  // numbers, after each kill
    int lives = 0;
    std::uint64_t range = 60'000;  // microseconds; a machine that is busy gets more time
    // A machine that is busy does as many as it can; the long form does all.
    const time_point enough = count ? never : now() + 30s;
    int done = 0;
    for (; done < kills && now() < enough; ++done) {
      const int before = p.sent;
      // Some live long enough that most of what they sent must be there.
      const bool long_life = how != "each" && done % 8 == 7;
      const auto limit = std::chrono::microseconds((long_life ? 2'000'000 : 1000) + random.below(range));
      const leat::test::child_result r = leat::test::run_self(
          "stores_until_killed",
          {.limit = limit, .environment = {"LEAT_STORE_FOLDER=" + folder, "LEAT_STORE_HOW=" + how}});
      INFO(r.output);
      REQUIRE(r.timed_out);
      REQUIRE(p.out_of_order == 0);
      range = std::min<std::uint64_t>(2 * range, 2'000'000);
      // Its send had not returned.
      if (p.begun > p.sent) may_be_lost.emplace_back(p.begun.load(), p.begun.load());
      if (p.sent == before) continue;
      ++lives;
      range = std::max<std::uint64_t>(range / 4, 30'000);
      if (how != "each") may_be_lost.emplace_back(std::max<int>(p.old, before) + 1, p.sent.load());
    }
    const leat::test::child_result r = leat::test::run_self(
        "stores_until_killed",
        {.environment = {"LEAT_STORE_FOLDER=" + folder, "LEAT_STORE_HOW=" + how + " last"}});
    INFO(r.output);
    REQUIRE(r.exited(0));
    int missing = 0, lost = 0, twice = 0;
    for (int n = 1; n <= p.begun; ++n) {
      if (p.received[n] > 1) ++twice;
      if (p.received[n] > 0) continue;
      ++missing;
      lost += std::none_of(may_be_lost.begin(), may_be_lost.end(),
                           [&](const auto& range_of) { return range_of.first <= n && n <= range_of.second; });
    }
    MESSAGE("sync = " << how << ": " << done << " kills, " << lives << " after a send, " << p.sent.load()
                      << " sent, " << missing << " of the last moments missing, " << twice << " came twice");
    CHECK(lost == 0);
    // One was in hand at each kill, at most.
    if (how == "each") CHECK(twice <= kills);
    CHECK(lives > 0);
    std::filesystem::remove_all(folder);
  }
}
