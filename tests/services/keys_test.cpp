// SPDX-License-Identifier: BSL-1.0
//
// Channels with a key: order per key over replicas, under load, restarts and hangs; the latest of each key.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <leat/services/picture.hpp>

#include "fixture.hpp"
#include "sched/hang_guard.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace keys_test {

struct tagged {
  int key = 0, n = 0;  // n counts for each key
  double weight = 0;
};
LEAT_MESSAGE(tagged, key, n, weight);

struct noted {
  std::string who;
  int key, n;
};
// In the order in which they were received, by all.
class record_book {
 public:
  void note(int key, int n) {
    std::lock_guard hold(lock_);
    all_.push_back({std::string(self().name), key, n});
  }
  std::vector<noted> take() {
    std::lock_guard hold(lock_);
    return std::exchange(all_, {});
  }
  std::size_t count() {
    std::lock_guard hold(lock_);
    return all_.size();
  }

 private:
  std::mutex lock_;
  std::vector<noted> all_;
};
record_book book;

// What a worker does with a value, after it has been noted.
std::atomic<void (*)(const tagged&)> handle{nullptr};
std::atomic<int> misdeeds{0};

class tags : public process {
  out<tagged> values{this, "values"};
  setting<int> count{this, "count", 1000, "values"};
  setting<int> keys{this, "keys", 20, "keys"};
  setting<int> seed{this, "seed", 1, "of the keys"};
  void run() override {
    random_numbers random(static_cast<std::uint64_t>(*seed));
    std::map<int, int> next;
    for (int i = 0; i < count; ++i) {
      const int key = static_cast<int>(random.below(static_cast<std::uint64_t>(*keys)));
      if (values.send({key, next[key]++}) != send_status::sent) return;
    }
  }
};
class works : public process {
  in<tagged> values{this, "values"};
  void run() override {
    for (const tagged& v : values) {
      book.note(v.key, v.n);
      if (const auto f = handle.load()) f(v);
    }
  }
};

std::string service(const std::string& channel, const std::string& worker, const std::string& more = {},
                    const std::string& when = "failure") {
  return "[service]\nname = \"s\"\ndrain = \"60s\"\n[process.source]\nuse = \"tags\"\nout = { values = \"c\" "
         "}\n" +
         more + "[channel.c]\n" + channel + "\n[process.w]\nuse = \"works\"\nin = { values = \"c\" }\n" +
         "restart = { when = \"" + when + "\", burst = 100000, backoff = [\"1ms\", \"2ms\"] }\n" + worker;
}

// Each key at one replica, its values in order; `fits` says which may follow which.
template <class F>
void check_order(const std::vector<noted>& all, F fits) {
  std::map<int, std::string> who;
  std::map<int, int> last;
  int wrong = 0;
  for (const noted& v : all) {
    if (who.emplace(v.key, v.who).first->second != v.who) ++wrong;
    const auto [at, first] = last.emplace(v.key, v.n);
    if (!first && !fits(at->second, v.n)) ++wrong;
    if (first && !fits(-1, v.n)) ++wrong;
    at->second = v.n;
  }
  CHECK(wrong == 0);
}
bool next_one(int before, int now) { return now == before + 1; }
bool later(int before, int now) { return now > before; }

std::string found_in(const std::string& text) {
  const config::checked c = config::check_text("t.toml", "leat = 1\n" + text, program_catalog());
  return render(c.found, c.sources);
}
bool has(const std::string& text, const std::string& what) {
  INFO(text);
  const bool there = text.find(what) != std::string::npos;
  CHECK(there);
  return there;
}

}  // namespace keys_test
using namespace keys_test;
LEAT_PROCESS_AS("tags", tags, "sends values of random keys");
LEAT_PROCESS_AS("works", works, "notes what it gets");

TEST_CASE("replicas get the values of their keys, all of them and in order") {
  for (const char* const replicas : {"1", "2", "5"}) {
    handle = nullptr;
    const config::plan p =
        plan_of(service("key = \"key\"\ncapacity = 4", std::string("replicas = ") + replicas + "\n",
                        "config = { count = 5000, keys = 100 }\n"));
    const ledger l = run_plan(p);
    const std::vector<noted> all = book.take();
    CHECK(all.size() == 5000);
    check_order(all, next_one);
    CHECK_FALSE(l.failed);
    CHECK(l.promise);
    CHECK(account_of(l, p, "c").stats.received == 5000);
  }
}

TEST_CASE("order holds while replicas fail at random, and nothing is lost") {
  for (const int seed : {1, 2, 3}) {
    misdeeds = 0;
    handle = [](const tagged& v) {
      static std::atomic<std::uint64_t> random{7};
      random = random * 6364136223846793005u + 1442695040888963407u;
      if (v.n % 3 == 2) yield();
      if ((random >> 33) % 50 == 0 && ++misdeeds <= 60) throw std::runtime_error("at random");
    };
    log_catcher quiet;
    const config::plan p =
        plan_of(service("key = \"key\"\ncapacity = 3", "replicas = 3\n",
                        "config = { count = 4000, keys = 37, seed = " + std::to_string(seed) + " }\n"));
    const ledger l = run_plan(p);
    const std::vector<noted> all = book.take();
    CHECK(all.size() == 4000);
    check_order(all, next_one);
    CHECK(l.promise);
    CHECK(process_of(l, p, "w").restarts > 0);
  }
}

TEST_CASE("with delivery at least once a value comes again, before those behind it") {
  misdeeds = 0;
  handle = [](const tagged& v) {
    if (v.n % 20 == 5 && ++misdeeds % 2 == 1) throw std::runtime_error("the first time");
  };
  log_catcher quiet;
  const config::plan p = plan_of(service("key = \"key\"", "replicas = 2\ndelivery = \"at-least-once\"\n",
                                         "config = { count = 2000 }\n"));
  const ledger l = run_plan(p);
  check_order(book.take(), [](int before, int now) { return now == before || now == before + 1; });
  CHECK(process_of(l, p, "w").redelivered > 0);
  CHECK(l.promise);
}

TEST_CASE("a replica that hangs is replaced, its values wait for the next, and others go on") {
  misdeeds = 0;
  handle = [](const tagged& v) {
    if (v.n == 20 && misdeeds.fetch_add(1) < 2)
      for (;;) asm volatile("");
  };
  log_catcher quiet;
  const config::plan p =
      plan_of(service("key = \"key\"\ncapacity = 2", "replicas = 2\nhang = \"50ms\"\ngrace = \"20ms\"\n",
                      "config = { count = 3000, keys = 30 }\n"));
  const ledger l = run_plan(p);
  const std::vector<noted> all = book.take();
  CHECK(all.size() == 3000);
  check_order(all, next_one);
  CHECK(process_of(l, p, "w").quarantined + process_of(l, p, "w").overruns >= 2);
  CHECK(account_of(l, p, "c").stats.received == 3000);
}

TEST_CASE("the keys of a replica that has ended for good go to the others") {
  misdeeds = 0;
  handle = [](const tagged&) {
    if (++misdeeds == 100) throw std::runtime_error("for good");
  };
  log_catcher quiet;
  const config::plan p = plan_of(service("key = \"key\"\ncapacity = 2", "replicas = 3\n", "", "never"));
  const ledger l = run_plan(p);
  const std::vector<noted> all = book.take();
  const channel_stats& s = account_of(l, p, "c").stats;
  CHECK(l.failed);
  CHECK(s.sent == 1000);
  CHECK(s.received == all.size());
  CHECK(s.left <= 2);
  CHECK(all.size() + s.left == 1000);
  std::map<int, int> last;
  for (const noted& v : all) {
    const auto [at, first] = last.emplace(v.key, v.n);
    CHECK((first || at->second < v.n));
    at->second = v.n;
  }
}

TEST_CASE("the latest of each key is kept, and what is pushed out is counted") {
  static std::atomic<bool> go_on{false};
  for (const char* const replicas : {"1", "2"}) {
    go_on = false;
    handle = [](const tagged&) { CHECK(eventually([] { return go_on.load(); })); };
    const config::plan p =
        plan_of(service("key = \"key\"\nfull = \"latest\"", std::string("replicas = ") + replicas + "\n",
                        "config = { count = 3000, keys = 50 }\n"));
    ledger l;
    l = run_plan(p, [](const channel<int>&) {
      // The source has ended when nothing more is dropped: each worker stands at its first value.
      CHECK(eventually([] { return book.count() > 0; }));
      go_on = true;
    });
    const std::vector<noted> all = book.take();
    check_order(all, later);
    const channel_stats& s = account_of(l, p, "c").stats;
    CHECK(s.sent == 3000);
    CHECK(s.received == all.size());
    CHECK(s.left == 0);
    // Of each key the last one arrives, whatever was dropped before.
    std::map<int, int> sent, got;
    random_numbers random(1);
    for (int i = 0; i < 3000; ++i) ++sent[static_cast<int>(random.below(50))];
    for (const noted& v : all) got[v.key] = v.n + 1;
    CHECK(got == sent);
  }
}

TEST_CASE("what copies gives each process all, and its replicas their keys") {
  handle = nullptr;
  const config::plan p =
      plan_of(service("key = \"key\"\nfanout = \"copy\"\nreader = { x = \"latest\" }", "replicas = 3\n") +
              "[process.v]\nuse = \"works\"\nin = { values = \"c\" }\n" +
              "[process.x]\nuse = \"works\"\nin = { values = \"c\" }\nreplicas = 2\n");
  const ledger l = run_plan(p);
  std::map<char, std::vector<noted>> by;
  for (const noted& v : book.take()) by[v.who[0]].push_back(v);
  CHECK(by['w'].size() == 1000);
  CHECK(by['v'].size() == 1000);
  check_order(by['w'], next_one);
  check_order(by['v'], next_one);
  check_order(by['x'], later);
  CHECK(account_of(l, p, "c", "w").stats.received == 1000);
  CHECK(account_of(l, p, "c", "v").stats.received == 1000);
  CHECK(account_of(l, p, "c", "x").stats.sent == 1000);
  CHECK(l.promise);
}

TEST_CASE("without a key the replicas compete") {
  // Whoever gets the first value stays with it, and the others get the next ones of its key.
  static std::atomic<int> taken;
  taken = 0;
  handle = [](const tagged&) {
    if (taken++ == 0) CHECK(eventually([] { return taken > 100; }));
  };
  const config::plan p = plan_of(service("capacity = 4", "replicas = 3\n"));
  (void)run_plan(p);
  std::map<int, std::map<std::string, int>> who;
  for (const noted& v : book.take()) ++who[v.key][v.who];
  bool mixed = false;
  for (const auto& [key, by] : who) mixed = mixed || by.size() > 1;
  CHECK(mixed);
}

TEST_CASE("the picture names the key") {
  handle = nullptr;
  CHECK(has(text_picture(plan_of(service("key = \"key\"", "replicas = 2\n"))),
            "[keyed 64 by key, block, tagged]"));
  CHECK(has(text_picture(plan_of(service("key = \"key\"\nfull = \"latest\"\nkeys = 7", ""))),
            "[latest by key 7 by key, tagged]"));
}

TEST_CASE("the check finds keys that are none") {
  CHECK(has(found_in(service("key = \"kay\"", "")),
            "t.toml:9:7: error: channel 'c' has no field 'kay'; did you mean 'key'?"));
  CHECK(has(
      found_in(service("key = \"weight\"", "")),
      "error: field 'weight' holds a number, which cannot be a key: a text, a whole number, true or false, "
      "or a time is"));
  CHECK(has(found_in(service("key = \"key.part\"", "")), "error: channel 'c' has no field 'key.part'"));
  CHECK(has(found_in(service("key = \"key[\"", "")), "error: 'key' is not the path of a field: "));
  CHECK(has(found_in(service("key = \"\"", "")), "error: 'key' must name a field"));
  CHECK(has(found_in(service("keys = 5", "")),
            "warning: 'keys' means nothing without 'key' and full = \"latest\""));
  CHECK(has(found_in(service("key = \"key\"\nkeys = 0\nfull = \"latest\"", "")), "error: "));
  CHECK(found_in(service("key = \"key\"\nkeys = 5\nfull = \"latest\"", "")).empty());
}

// Not a test but a measurement: LEAT_KEYS_SCALE=1.
TEST_CASE("what a second replica brings") {
  if (!std::getenv("LEAT_KEYS_SCALE")) return;
  handle = [](const tagged&) {
    for (int i = 0; i < 200'000; ++i) asm volatile("");
  };
  for (int round = 0; round < 3; ++round)
    for (const char* const replicas : {"1", "2", "4"}) {
      nanoseconds took{0};
      const config::plan p = plan_of("[runtime]\nprocs = 2\n" +
                                     service("key = \"key\"", std::string("replicas = ") + replicas + "\n",
                                             "config = { count = 5000, keys = 200 }\n"));
      (void)run_plan(p, [](const channel<int>&) {}, &took);
      CHECK(book.take().size() == 5000);
      MESSAGE(std::string(replicas) << " replicas: " << took.count() / 5'000'000 << " us a value");
    }
}
