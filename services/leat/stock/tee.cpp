// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(tee)

namespace leat::stock {
namespace {

class merge : public process {
  record_in values{this, "values", "one channel or several; none is served before the others"};
  record_out out{this, "out", fields_like("values"), "all of them"};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  void run() override {
    passes pass(this, &values);
    for (record& r : taken(this, values))
      if (!pass(out, std::move(r))) return;
  }
};
LEAT_PROCESS(merge, "passes on the records of several channels to one");

class tee : public process {
  record_in values{this, "values", "what comes in"};
  record_out first{this, "out", fields_like("values"), "all of them"};
  record_out second{this, "out2", fields_like("values"), "all of them again", optional_port};
  record_out third{this, "out3", fields_like("values"), "all of them again", optional_port};
  record_out fourth{this, "out4", fields_like("values"), "all of them again", optional_port};
  errors told{this,
              {{"the readers of one port have ended", "that port is left out; it ends when all have"},
               {"a reader that is slow", "all wait for it, unless its channel drops"},
               channel_is_full,
               no_such_message}};

  void run() override {
    passes pass(this, &values);
    std::vector<const record_out*> to;
    for (const record_out* o : {&first, &second, &third, &fourth})
      if (o->connected()) to.push_back(o);
    for (const record& r : taken(this, values)) {
      // One whose readers have ended is left out; the others go on.
      std::erase_if(to, [&](const record_out* o) { return !pass(*o, r); });
      if (to.empty() || stop_requested()) return;
    }
  }
};
LEAT_PROCESS(tee, "passes on each record to several ports");

}  // namespace
}  // namespace leat::stock
