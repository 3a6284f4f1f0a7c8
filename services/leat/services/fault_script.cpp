// SPDX-License-Identifier: BSL-1.0
#include <leat/services/fault_script.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <leat/base/schema.hpp>
#include <leat/config/overrides.hpp>
#include <leat/config/toml.hpp>
#include <leat/config/values.hpp>

namespace leat::services {
namespace {

using namespace std::chrono_literals;

setting_schema time_schema(const char* name, nanoseconds least) {
  return {
      .name = name, .kind = value_kind::duration, .least = value(least), .most = value(nanoseconds(8760h))};
}

class fault_reader {
 public:
  fault_reader(const config::plan& plan, const config::source_set& sources, config::diagnostics& found)
      : plan_(plan), sources_(sources), found_(found) {}

  fault_script run(const value& root) {
    fault_script out;
    for (const value_member& m : root.get<value::table>()) {
      if (m.key != "fault") {
        (void)config::report_unknown("unknown-key", m.key_at,
                                     "unknown key '" + m.key + "' in a file of faults", m.key, {"fault"},
                                     found_);
        continue;
      }
      const auto* const all = m.value.get_if<value::list>();
      if (!all) {
        found_.error("type", m.key_at, "'fault' must be a list of tables: write [[fault]]");
        continue;
      }
      for (const value& v : *all) {
        if (v.kind() == value_kind::table)
          out.faults.push_back(one(v));
        else
          found_.error("type", v.at(), "a fault must be a table, not " + config::kind_with_article(v.kind()));
      }
    }
    if (out.faults.empty() && found_.errors() == 0)
      found_.error("empty", {0, 0, 0, 0}, "there is no fault here: write [[fault]]");
    return out;
  }

 private:
  scripted_fault one(const value& table) {
    scripted_fault f;
    f.where = sources_[table.at().file].name() + ':' + std::to_string(table.at().line);
    for (const value_member& m : table.get<value::table>())
      if (m.key != "process" && m.key != "what" && m.key != "at" && m.key != "every")
        (void)config::report_unknown("unknown-key", m.key_at, "unknown key '" + m.key + "' in [[fault]]",
                                     m.key, {"process", "what", "at", "every"}, found_);
    if (const value* const name = needed(table, "process")) find(*name, f);
    if (const value* const what = needed(table, "what")) {
      const setting_schema kinds{.name = "what", .kind = value_kind::enumeration, .names = {"throw", "hang"}};
      const value checked = config::check_value(kinds, *what, "'what'", found_);
      const auto* const text = checked.get_if<std::string>();
      if (text && *text == "hang") f.what = fault_kind::hangs;
    }
    const value* const at = table.find("at");
    const value* const every = table.find("every");
    if (at && every)
      found_.error("fault", every->at(), "a fault has 'at' or 'every', not both");
    else if (!at && !every)
      found_.error("missing", table.at(), "when? write at = \"1h\", or every = \"6h\"");
    if (every) {
      const value checked = config::check_value(time_schema("every", 1ms), *every, "'every'", found_);
      if (const auto* const time = checked.get_if<nanoseconds>()) f.every = *time;
    }
    if (at) read_times(*at, f);
    return f;
  }

  void read_times(const value& at, scripted_fault& f) {
    const auto* const several = at.get_if<value::list>();
    if (several && several->empty()) found_.error("range", at.at(), "'at' names no time");
    for (std::size_t i = 0; i < (several ? several->size() : 1); ++i) {
      const value checked =
          config::check_value(time_schema("at", 0ns), several ? (*several)[i] : at, "'at'", found_);
      if (const auto* const time = checked.get_if<nanoseconds>()) f.at.push_back(*time);
    }
    std::sort(f.at.begin(), f.at.end());
  }

  const value* needed(const value& table, std::string_view key) {
    const value* const v = table.find(key);
    if (!v) found_.error("missing", table.at(), "the key '" + std::string(key) + "' of [[fault]] is missing");
    return v;
  }

  void find(const value& name, scripted_fault& f) {
    const auto* const text = name.get_if<std::string>();
    if (!text) {
      found_.error("type", name.at(),
                   "'process' must be text, not " + config::kind_with_article(name.kind()));
      return;
    }
    f.process = *text;
    const bool whole = text->find('/') != std::string::npos;
    std::vector<std::string> names;
    names.reserve(plan_.processes.size());
    for (config::index i = 0; i < plan_.processes.size(); ++i) {
      const config::process_plan& p = plan_.processes[i];
      names.push_back(whole ? plan_.full_name(p) : p.name);
      if (config::name_fits(*text, names.back())) f.processes.push_back(i);
    }
    if (!f.processes.empty()) return;
    const std::vector<std::string_view> among(names.begin(), names.end());
    (void)config::report_unknown("unknown-process", name.at(), "there is no process '" + *text + "'", *text,
                                 among, found_);
  }

  const config::plan& plan_;
  const config::source_set& sources_;
  config::diagnostics& found_;
};

}  // namespace

const char* to_string(fault_kind k) noexcept { return k == fault_kind::hangs ? "hang" : "throw"; }

fault_script read_faults(std::string name, std::string text, const config::plan& plan,
                         config::source_set& sources, config::diagnostics& found) {
  const std::uint32_t file = sources.add(std::move(name), std::move(text));
  const std::optional<value> root = config::parse_toml(sources, file, found);
  if (!root || found.errors() > 0) return {};
  return fault_reader(plan, sources, found).run(*root);
}

}  // namespace leat::services
