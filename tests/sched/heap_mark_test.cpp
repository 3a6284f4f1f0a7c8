// SPDX-License-Identifier: BSL-1.0
//
// Gs that allocate for ever, quarantined by the hundred, with a spy for an allocator (services/hangs/spy.cpp)
// that knows who is inside of it: nobody is frozen or left there.
// LEAT_QUARANTINES=100000 in the environment for the whole: in children of a thousand each, since what a
// quarantined G has is kept; LEAT_SECONDS=600: as many as there is time for.
#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <leat/sched/heap_mark.hpp>
#include <leat/sched/leavable.hpp>

#include "hang_guard.hpp"
#include "support/child.hpp"
#include "support/figure.hpp"
#include "victims.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

extern "C" void vendor_polls_for_ever();
extern "C" int spy_sees_inside(int* tids, int room);
extern "C" void spy_takes_marks_away();

namespace {

void reallocs() {
  void* p = nullptr;
  for (std::size_t i = 0;; ++i) {
    p = std::realloc(p, i * 2654435761u % 20'000 + 1);
    asm volatile("" : : "r"(p) : "memory");
  }
}
void callocs() {
  for (std::size_t i = 0;; ++i) {
    void* const p = std::calloc(i % 50 + 1, 16);
    asm volatile("" : : "r"(p) : "memory");
    std::free(p);
  }
}
void news() {
  for (std::size_t i = 0;; ++i) {
    void* const p = ::operator new(i % 3000, std::align_val_t(64));
    asm volatile("" : : "r"(p) : "memory");
    ::operator delete(p, std::align_val_t(64));
  }
}
void of_the_old_kind() {
  void* q = nullptr;
  for (std::size_t i = 0;; ++i) {
    void* const p = ::valloc(i % 3000 + 1);
    asm volatile("" : : "r"(p) : "memory");
    std::free(p);
    q = ::reallocarray(q, i % 100 + 1, 16);
    asm volatile("" : : "r"(q) : "memory");
  }
}

int from_environment(const char* name, int otherwise) {
  const char* const given = std::getenv(name);
  return given ? std::atoi(given) : otherwise;
}

bool settled_but(unsigned few, nanoseconds within) {
  for (const auto until = now() + within; stats().fenced > few; (void)sleep_for(1ms))
    if (now() > until) return false;
  return true;
}

// Those that are inside whenever one looks, but for those that run on behind a fence: frozen there, or left
// there, so that their call never ended.
int stopped_inside() {
  std::vector<int> always;
  for (int look = 0; look < 20; ++look) {
    int tids[4096];
    const int n = spy_sees_inside(tids, 4096);
    std::vector<int> now(tids, tids + n), both;
    std::sort(now.begin(), now.end());
    if (look == 0) always = now;
    std::set_intersection(always.begin(), always.end(), now.begin(), now.end(), std::back_inserter(both));
    always = both;
    (void)sleep_for(1ms);
  }
  const auto runs_on = [](int tid) {
    bool found = false;
    sched::scheduler::current()->threads().each([&](sched::M& m) {
      if (m.tid.load() == tid && m.hung.apart.load() && !m.hung.frozen.load()) found = true;
    });
    return found;
  };
  return static_cast<int>(
      std::count_if(always.begin(), always.end(), [&](int tid) { return !runs_on(tid); }));
}

}  // namespace

LEAT_CHILD(allocate_until_quarantined) {
  const int n = from_environment("LEAT_TEST_QUARANTINES", 100);
  const bool planted = from_environment("LEAT_TEST_PLANTED", 0) != 0;
  // Else threads are frozen in its code, but never left there.
  Dl_info spy{};
  if (from_environment("LEAT_TEST_LEAVABLE", 0) != 0) {
    expect(::dladdr(reinterpret_cast<void*>(spy_sees_inside), &spy) != 0, "the spy is not found");
    sched::add_leavable_file(spy.dli_fname);
  }
  runtime_options o = with_procs(2);
  o.max_quarantined = static_cast<unsigned>(n);
  o.max_threads = 64;
  leat::run(o, [&] {
    expect(sched::heap_is_marked(), "allocations pass without marks");
    if (planted) spy_takes_marks_away();
    hang_guard watch("quarantines", 0, 30s);
    const std::vector<void (*)()> allocating{mallocs, reallocs,       callocs,
                                             news,    builds_strings, of_the_old_kind};
    for (int done = 0; done < n;) {
      std::vector<task<void>> some;
      for (int i = 0; i < 8 && done < n; ++i, ++done) {
        const auto k = static_cast<std::size_t>(done);
        // In a library of others a thread is never left, and frozen only when it was looked at for long.
        auto body = allocating[k % allocating.size()];
        if (done % (planted ? 2 : 50) == 1) body = vendor_polls_for_ever;
        some.push_back(spawn({.guard = guard_of(1ms, 1ms)}, body));
      }
      for (auto& t : some) {
        bool told = false;
        try {
          t.get();
        } catch (const quarantined&) {
          told = true;
        }
        expect(told, "a task came back");
        watch.progress();
      }
      // Who runs on behind a fence gets what a busy machine leaves, and that may be nothing for long.
      expect(settled_but(8, 100s), "threads are not settled");
      if (planted && stopped_inside() > 0) break;
    }
    (void)settled_but(0, 10s);
    const runtime_stats s = stats();
    char text[200];
    const int length =
        std::snprintf(text, sizeof text, "%llu quarantined, %u frozen, %u fenced: %d inside\n",
                      static_cast<unsigned long long>(s.quarantined), s.frozen, s.fenced, stopped_inside());
    (void)!::write(1, text, static_cast<std::size_t>(length));
  });
  ::_exit(0);
}

namespace {

struct found {
  int quarantined = 0, frozen = 0, fenced = 0, inside = -1;
};
found run_one(int n, bool leavable, bool planted) {
  const auto child = leat::test::run_self(
      "allocate_until_quarantined", {.limit = 200s,
                                     .environment = {"LEAT_TEST_QUARANTINES=" + std::to_string(n),
                                                     leavable ? "LEAT_TEST_LEAVABLE=1" : "LEAT_TEST_LEAVABLE",
                                                     planted ? "LEAT_TEST_PLANTED=1" : "LEAT_TEST_PLANTED"}});
  CHECK_MESSAGE(child.exited(0), child.output);
  found f;
  const auto at = child.output.rfind(" quarantined, ");
  const auto line = at == std::string::npos ? at : child.output.rfind('\n', at);
  const char* const text = child.output.c_str() + (line == std::string::npos ? 0 : line + 1);
  const bool read = std::sscanf(text, "%d quarantined, %d frozen, %d fenced: %d inside", &f.quarantined,
                                &f.frozen, &f.fenced, &f.inside) == 4;
  CHECK_MESSAGE(read, child.output);
  return f;
}

}  // namespace

TEST_CASE("nobody is frozen or left inside the allocator" * doctest::timeout(36'000)) {
  const int all = from_environment("LEAT_QUARANTINES", 400);
  const int at_once = all > 1000 ? 1000 : (all + 1) / 2;
  found sum{0, 0, 0, 0};
  const std::int64_t begin = now_ns(), seconds = from_environment("LEAT_SECONDS", 36'000);
  for (int turn = 0; sum.quarantined < all && now_ns() - begin < seconds * 1'000'000'000; ++turn) {
    const found f = run_one(std::min(at_once, all - sum.quarantined), turn % 2 == 1, false);
    REQUIRE(f.inside == 0);
    sum.quarantined += f.quarantined;
    sum.frozen += f.frozen;
    sum.fenced += f.fenced;
    if (all > 1000)
      std::printf("%d of %d quarantined in %lld s, %d of them frozen, none inside the allocator\n",
                  sum.quarantined, all, static_cast<long long>((now_ns() - begin) / 1'000'000'000),
                  sum.frozen);
    std::fflush(stdout);
  }
  if (all >= 10'000)
    CHECK(leat::test::at_least("quarantines, nobody inside the allocator", sum.quarantined, "", 10'000));
  MESSAGE(sum.quarantined, " quarantined, ", sum.frozen, " of them frozen, ", sum.fenced,
          " fenced, none inside");
}

TEST_CASE("without marks some would be: the spy sees them") {
  CHECK(run_one(100, false, true).inside > 0);  // frozen
  CHECK(run_one(100, true, true).inside > 0);   // left
}
