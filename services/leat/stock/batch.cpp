// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/batch.hpp>

#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(batch)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

class batch : public process {
  record_in values{this, "values", "what comes in"};
  leat::out<record_batch> batches{this, "batches", "several records in one message, in their order"};
  setting<std::int64_t, live> size{this, "size", 100, "records in a message, at most", between(1, 1'000'000)};
  setting<nanoseconds, live> every{this, "every", 1s,
                                   "no record waits longer than this for others; 0: any time",
                                   between<nanoseconds>(0s, 8760h)};
  errors told{
      this,
      {{"a stop or a failure while records are gathered",
        "they are lost, counted and logged; of them, delivery = \"at-least-once\" brings only the last "
        "one again"},
       nobody_reads,
       {"a channel with full = \"fail\" has no room", "the records are lost, counted and logged"}}};

  void run() override {
    passes pass(this, &values);
    in_hand hand(this, values);
    record_batch b;
    time_point end = never;
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, end);
      if (r) {
        hand.add();
        const nanoseconds longest = *every;
        if (b.records.empty() && longest > 0ns) end = saturating_add(leat::now(), longest);
        b.records.push_back(std::move(*r));
      }
      const bool last = got == recv_status::closed;
      const bool due =
          b.records.size() >= static_cast<std::size_t>(*size) || (end != never && leat::now() >= end);
      if (!b.records.empty() && (last || due)) {
        const std::size_t n = b.records.size();
        if (!pass.go_on(batches.send(std::exchange(b, {})), n)) return;
        hand.settle();
        end = never;
      }
      if (last || got == recv_status::stopped) return;
    }
  }
};
LEAT_PROCESS(batch, "joins records to messages of several");

}  // namespace
}  // namespace leat::stock
