// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>
#include <leat/stock/windows.hpp>

LEAT_STOCK_ANCHOR(deadband)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

class deadband : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), "those that differ from the last one sent"};
  field_setting<> field{this,
                        "field",
                        "values",
                        value_kind::real,
                        "value",
                        "the number that is looked at",
                        validated_by(validate_field_name)};
  setting<double, live> absolute{this, "absolute", 0, "differences up to this much are none",
                                 between(0.0, 1e300)};
  setting<double, live> percent{this, "percent", 0,
                                "and those up to so many percent of the last one sent; the larger counts",
                                between(0.0, 1e6)};
  setting<nanoseconds, live> every{
      this, "every", 0s,
      "after this long without any, the next is sent although it does not differ; 0: never",
      between<nanoseconds>(0s, 8760h)};
  key_settings keys{this};
  rejects bad{this};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  void run() override {
    passes pass(this, &values);
    const field_path at = field_path::named(*field), key_at = keys.path();
    keyed<deadband_state> states(keys.limit());
    for (record& r : taken(this, values)) {
      const std::optional<double> v = number_in(r, at, bad);
      const std::optional<std::string> key = v ? key_in(r, key_at, bad) : std::nullopt;
      if (!key) continue;
      const nanoseconds silence = *every;
      const band b{*absolute, *percent, silence > 0ns ? silence : nanoseconds::max()};
      if (!states.get(*key, [] { return deadband_state(); }).passes(*v, leat::now(), b)) continue;
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(deadband, "passes on what differs enough from the last it passed on");

}  // namespace
}  // namespace leat::stock
