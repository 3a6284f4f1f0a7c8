// SPDX-License-Identifier: BSL-1.0
//
// Whether two records are the same is decided by a text that is made of their fields: JSON, in which a number is none
// that is written as a text. A whole number is the same whether it came as an integer or as a real.
#include <algorithm>
#include <cmath>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/recent.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(dedup)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

std::vector<setting_diagnostic> validate_compared(const value& settings) {
  const value::list *fields = list_in(settings, "fields"), *ignore = list_in(settings, "ignore");
  if (!fields || !ignore || fields->empty() || ignore->empty()) return {};
  return {{"`fields` says what is compared; leave out one of the two", settings.find("ignore")}};
}

void add_compared(std::string& to, const field_value& v) {
  const auto* const real = std::get_if<double>(&v);
  if (real && std::fabs(*real) < 1e15 && std::trunc(*real) == *real)
    return shapes::write_json(field_value(static_cast<std::int64_t>(*real)), to);
  shapes::write_json(v, to);
}

class dedup : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), "those that did not come before, within `window`"};
  field_setting<std::vector<std::string>> fields{this,
                                                 "fields",
                                                 "values",
                                                 value_kind::any,
                                                 std::vector<std::string>(),
                                                 "records that are alike in these are repeats; none: in all",
                                                 validated_by(validate_columns)};
  field_setting<std::vector<std::string>> ignore{this,
                                                 "ignore",
                                                 "values",
                                                 value_kind::any,
                                                 std::vector<std::string>(),
                                                 "fields that make no difference, such as the time",
                                                 validated_by(validate_columns)};
  setting<nanoseconds, live> window{
      this, "window", 60s,
      "a repeat that comes later than this after the first is none; 0: however late it comes",
      between<nanoseconds>(0s, 8760h)};
  setting<bool, live> renew{this, "renew", false, "a repeat begins the window anew"};
  setting<std::int64_t> remember{this, "remember", 65536, "most records that are remembered",
                                 between(1, 10'000'000)};
  setting<byte_size> memory{this, "memory", byte_size{16 << 20}, "most bytes for what is remembered of them",
                            between(byte_size{1 << 10}, byte_size{std::uint64_t{1} << 40})};
  settings_validator together{this, validate_compared};
  errors told{this,
              {{"more records within `window` than `remember` or `memory` allows",
                "the first of them is forgotten, logged once, and its repeat passes"},
               {"a record without one of `fields`", "differs from one that has it, and from no other"},
               {"a failure", "what was remembered is forgotten: a repeat may pass"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  static std::vector<field_path> paths(const std::vector<std::string>& texts) {
    std::vector<field_path> all;
    all.reserve(texts.size());
    for (const std::string& t : texts) all.push_back(field_path::named(t));
    return all;
  }

  // Fields of a record in any order.
  static std::string all_fields(const record& r) {
    std::vector<const record::field*> chosen;
    for (const record::field& f : r) chosen.push_back(&f);
    std::sort(chosen.begin(), chosen.end(), [](auto* a, auto* b) { return a->name < b->name; });
    std::string text;
    for (const record::field* f : chosen) {
      shapes::write_json(field_value(f->name), text);
      text += ':';
      add_compared(text, f->value);
      text += ',';
    }
    return text;
  }
  std::string compared(const record& r) const {
    std::string text;
    for (const field_path& p : fields_) {
      if (const field_value* const v = p.find(r)) add_compared(text, *v);
      text += ',';
    }
    if (!fields_.empty()) return text;
    if (ignored_.empty()) return all_fields(r);
    record rest = r;
    for (const field_path& p : ignored_) p.erase(rest);
    return all_fields(rest);
  }

  const std::vector<field_path> fields_ = paths(*fields), ignored_ = paths(*ignore);

  void run() override {
    passes pass(this, &values);
    recent_texts seen(static_cast<std::size_t>(*remember), static_cast<std::size_t>(memory->bytes));
    bool told_full = false;
    for (record& r : taken(this, values)) {
      const nanoseconds length = *window;
      if (seen.came(compared(r), leat::now(), length > 0ns ? length : nanoseconds::max(), *renew)) continue;
      if (length > 0ns && seen.forgot_early() && !std::exchange(told_full, true))
        log_warning("stock",
                    "{}: more records within `window` than it may remember ({}, {} bytes); repeats may pass",
                    name(), *remember, memory->bytes);
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(dedup, "drops records that came before");

}  // namespace
}  // namespace leat::stock
