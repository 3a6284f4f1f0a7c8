// SPDX-License-Identifier: BSL-1.0
//
// The power goes at random writes, and the disk keeps a random choice of what was not synced. What was synced is there
// afterwards, and what is there is what was written up to some moment: in order, whole, and without a gap.
// LEAT_POWER_CUTS=1000 is the long form.
#include <doctest/doctest.h>
#include <algorithm>
#include <cstdlib>
#include <random>

#include "faulty_vfs.hpp"
#include "fixture.hpp"

using namespace leat::store;
using namespace leat::store::test;

TEST_CASE("after a power cut nothing is missing that was synced, and nothing is out of order") {
  const char* const asked = std::getenv("LEAT_POWER_CUTS");
  const int cuts = asked ? std::atoi(asked) : 200;
  faulty_disk& disk = faulty_disk::get();
  int lost_some = 0;
  for (int seed = 1; seed <= cuts; ++seed) {
    const temporary_folder t;
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
    std::uint64_t next = 1, removed = 0, synced = 0, synced_removed = 0;
    std::uint64_t tried_to_remove = 0;  // a write that failed at its sync may be there all the same
    const unsigned keeps = below(4);    // of four writes that were not synced
    for (int life = 0; life < 3; ++life) {
      disk.power_on();
      try {
        store_file f(t.file(), ours, faulty_disk::name);
        if (life > 0) {
          // What is there: a row of numbers that ends where a transaction ended.
          const auto rows = f.read(0, 1 << 20, std::uint64_t{1} << 30);
          const std::uint64_t last = rows.empty() ? tried_to_remove : rows.back().number;
          INFO("seed " << seed << ", life " << life);
          // Synced values are there, unless they were removed.
          if (!rows.empty()) {
            CHECK(rows.back().number >= synced);
            CHECK(rows.front().number <= tried_to_remove + 1);
            CHECK(rows.front().number > synced_removed);
            for (std::size_t i = 1; i < rows.size(); ++i) REQUIRE(rows[i].number == rows[i - 1].number + 1);
            for (const auto& r : rows) REQUIRE(r.body == body_of(r.number, 30 + r.number % 200));
          } else {
            CHECK(tried_to_remove >= synced);
          }
          if (last + 1 < next) ++lost_some;
          next = std::max(last, synced) + 1;
          removed = rows.empty() ? next - 1 : rows.front().number - 1;
          synced = next - 1;
          synced_removed = std::min(synced_removed, removed);
        }
        disk.cut_at = 20 + below(400);
        for (;;) {
          store_file::batch b;
          std::vector<std::vector<std::uint8_t>> bodies;
          const std::uint64_t n = 1 + below(30);
          for (std::uint64_t i = 0; i < n; ++i) bodies.push_back(body_of(next + i, 30 + (next + i) % 200));
          for (std::uint64_t i = 0; i < n; ++i) b.append.push_back({next + i, bodies[i]});
          const std::uint64_t gone = below(2) == 0 ? below(20) : 0;
          for (std::uint64_t i = 0; i < gone && removed + 1 + i < next; ++i)
            b.remove.push_back(removed + 1 + i);
          b.sync = below(5) == 0;
          tried_to_remove = removed + b.remove.size();
          f.write(b);
          next += n;
          removed += b.remove.size();
          if (b.sync) {
            synced = next - 1;
            synced_removed = removed;
          }
        }
      } catch (const store_error& e) {
        INFO("seed " << seed << ", life " << life << ": " << e.what());
        REQUIRE(disk.off);
      }
      disk.power_cut([&] { return below(4) < keeps; });
    }
  }
  MESSAGE((cuts * 3) << " cuts, after " << lost_some << " of them something unsynced was missing");
  CHECK(lost_some > 0);
}
