// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>
#include <leat/stock/windows.hpp>

LEAT_STOCK_ANCHOR(moving_average)

namespace leat::stock {
namespace {

std::optional<std::vector<record_field>> with_a_mean(const value& settings,
                                                     const std::vector<record_field>* came_in) {
  const value* const field = settings.find("field");
  const auto* const name = field ? field->get_if<std::string>() : nullptr;
  if (!name || !came_in) return std::nullopt;
  std::vector<record_field> all = *came_in;
  for (record_field& f : all)
    if (f.name == *name) f.kind = value_kind::real;
  return all;
}

class moving_average : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), sends_by(with_a_mean),
                 "the same records with the mean in place of the number"};
  field_setting<> field{this,
                        "field",
                        "values",
                        value_kind::real,
                        "value",
                        "the number that is averaged",
                        validated_by(validate_field_name)};
  setting<std::int64_t, live> window{this, "window", 8, "over so many, or as many as there were",
                                     between(1, 1'000'000)};
  key_settings keys{this};
  rejects bad{this};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  void run() override {
    passes pass(this, &values);
    const field_path at = field_path::named(*field), key_at = keys.path();
    keyed<moving_mean> means(keys.limit());
    for (record& r : taken(this, values)) {
      const std::optional<double> v = number_in(r, at, bad);
      const std::optional<std::string> key = v ? key_in(r, key_at, bad) : std::nullopt;
      if (!key) continue;
      const auto size = static_cast<std::size_t>(*window);
      moving_mean& mean = means.get(*key, [size] { return moving_mean(size); });
      mean.resize(size);
      *at.find(r) = mean.add(*v);
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS_AS("moving-average", moving_average, "puts the mean of the last few numbers in place of each");

}  // namespace
}  // namespace leat::stock
