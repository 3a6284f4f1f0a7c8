// SPDX-License-Identifier: BSL-1.0
//
// A program that saves without end is killed at random moments. What its file holds then is a state that it saved,
// whole, and never one from before what the file held already. LEAT_STATE_KILLS=1000 is the long form.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <leat/base/clock.hpp>
#include <leat/process/state_file.hpp>
#include <leat/process/state_store.hpp>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "sched/hang_guard.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace state_kill_test {

// All of it says the same number.
struct tally {
  std::int64_t n = 0;
  std::vector<std::int64_t> copies = {};
  std::string text = "0";
};
LEAT_MESSAGE(tally, n, copies, text);

tally tally_of(std::int64_t n) {
  return {n, std::vector<std::int64_t>(static_cast<std::size_t>(n % 700), n), std::to_string(n)};
}

// In memory that outlives the child.
struct progress {
  std::atomic<std::int64_t> begun{0};   // the greatest number whose save has begun
  std::atomic<std::int64_t> loaded{0};  // at the last start
  std::atomic<int> wrong{0};            // a state was loaded that is none
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
  const char* const f = std::getenv("LEAT_STATE_FOLDER");
  return f ? f : "";
}

class saver : public process {
  state<tally> kept{this, "kept"};
  void run() override {
    progress& p = *shared_progress(folder_of_child() + "/progress");
    const tally t = kept.load();
    if (!(t == tally_of(t.n))) p.wrong = 1;
    p.loaded = t.n;
    for (std::int64_t n = t.n + 1;; ++n) {
      p.begun = n;
      kept.save(tally_of(n));
      if (n % 16 == 0 && sleep_for(std::chrono::microseconds(100)) == sleep_result::stopped) return;
    }
  }
};

}  // namespace state_kill_test
using namespace state_kill_test;
LEAT_PROCESS_AS("saver", saver, "saves without end");

LEAT_CHILD(saves_until_killed) {
  const config::plan p =
      plan_of("[service]\nname = \"s\"\n[process.p]\nuse = \"saver\"\nstate = { folder = \"" +
              folder_of_child() + "/states\", every = \"0s\" }\n");
  leat::run(runtime_options_of(p), [&] {
    const channel<int> stop(1);
    host h(p);
    (void)h.run(stop);
  });
}

TEST_CASE("a kill at any moment leaves a state that was saved") {
  std::string folder = (std::filesystem::temp_directory_path() / "leat-kill-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  const char* const count = std::getenv("LEAT_STATE_KILLS");
  const int kills = count ? std::atoi(count) : 20;
  progress& p = *shared_progress(folder + "/progress");
  const std::string file = folder + "/states/s.p.0.kept.state";
  random_numbers random(seed_for("state_kill"));
  std::int64_t before = 0;
  int advanced = 0;
  std::uint64_t range = 60'000;  // microseconds; a machine that is busy gets more time to write something
  for (int i = 0; i < kills || (advanced == 0 && i < kills + 50); ++i) {
    const auto limit = std::chrono::microseconds(1000 + random.below(range));
    const leat::test::child_result r = leat::test::run_self(
        "saves_until_killed", {.limit = limit, .environment = {"LEAT_STATE_FOLDER=" + folder}});
    INFO(r.output);
    REQUIRE(r.timed_out);
    REQUIRE(p.wrong == 0);
    REQUIRE(p.loaded <= p.begun);
    REQUIRE_FALSE(std::filesystem::exists(file + ".bad-1"));
    range = std::min<std::uint64_t>(2 * range, 2'000'000);
    if (!std::filesystem::exists(file)) continue;
    const tally t = from_cbor<tally>(unpack_state(read_whole_file(file)).value);
    REQUIRE(t == tally_of(t.n));
    REQUIRE(t.n >= before);
    REQUIRE(t.n <= p.begun);
    if (t.n > before) {
      ++advanced;
      range = std::max<std::uint64_t>(range / 4, 30'000);
    }
    before = t.n;
  }
  MESSAGE(kills << " kills, " << advanced << " of them after a write, " << before << " saved in the end");
  CHECK(advanced > 0);
  std::filesystem::remove_all(folder);
}
