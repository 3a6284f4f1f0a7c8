// SPDX-License-Identifier: BSL-1.0
#include <leat/config/config.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <leat/config/files.hpp>
#include <leat/config/merge.hpp>
#include <leat/config/reader.hpp>
#include <leat/config/resolve.hpp>
#include <leat/config/set_argument.hpp>
#include <leat/config/text_location.hpp>

namespace leat::config {

namespace {

environment_fn environment_of(const options& how) {
  if (how.environment) return how.environment;
  return [](std::string_view name) -> std::optional<std::string> {
    const char* got = std::getenv(std::string(name).c_str());
    if (!got) return std::nullopt;
    return std::string(got);
  };
}

bool has_stand_ins(const parsed_files& files) {
  return std::any_of(files.files.begin(), files.files.end(),
                     [](const parsed_file& f) { return f.root.find("simulate") != nullptr; });
}

// The same files with their stand-ins. What is wrong then and not otherwise is added.
void check_simulated(checked& out, const parsed_files& files, const set_values& sets, const catalog& classes,
                     const options& how) {
  diagnostics found = out.found;  // expansions are kept there
  found.all().clear();
  const merged m = merge(files, sets, true, out.sources, classes, found);
  builder b = build(m, out.sources, found);
  b.complete = files.complete;
  b.where_is = how.where_is;
  (void)resolve(b, classes, found);
  bool good = true;
  for (const diagnostic& d : found.all()) {
    const bool known = std::any_of(out.found.all().begin(), out.found.all().end(), [&](const diagnostic& x) {
      return x.rule == d.rule && x.at == d.at && x.text == d.text;
    });
    if (known) continue;
    diagnostic& added = d.severity == severity::error
                            ? out.found.error(d.rule, d.at, "in a simulation: " + d.text)
                            : out.found.warning(d.rule, d.at, "in a simulation: " + d.text);
    added.label = d.label;
    added.notes = d.notes;
    added.suggestion = d.suggestion;
    added.part = d.part;
    good = good && d.severity != severity::error;
  }
  if (!good) out.plan.reset();
}

void finish(checked& out, const parsed_files& files, const environment_fn& environment,
            const catalog& classes, const options& how) {
  bool all_classes = true;
  if (how.load_plugin)
    for (const plugin_file& p : files.plugins) all_classes = how.load_plugin(p, out.found) && all_classes;
  const set_values sets = read_sets(how.set, environment, out.sources, out.found);
  const bool simulated = how.simulation == options::stand_ins::used;
  const merged m = merge(files, sets, simulated, out.sources, classes, out.found);
  builder b = build(m, out.sources, out.found);
  b.complete = files.complete;
  b.all_classes = b.all_classes && all_classes;
  b.where_is = how.where_is;
  if (b.complete && b.services.empty() && out.sources.size() > 0 && out.found.errors() == 0)
    out.found.error("empty", {0, 0, 0, 0}, "there is no service here: no [process.NAME] in any file");
  out.plan = resolve(b, classes, out.found);
  out.stand_ins = m.stand_ins;
  if (how.simulation == options::stand_ins::checked && out.plan && has_stand_ins(files))
    check_simulated(out, files, sets, classes, how);
  locate_parts(out.sources, out.found);
  if (how.expand && files.complete) out.expanded = expanded_files(m, files.plugins, out.found);
  out.found.tell_uses(out.sources);
  out.found.sort();
  if (!out.plan) return;
  for (std::uint32_t i = 0; i < out.sources.size(); ++i) out.plan->files.push_back(out.sources[i].name());
}

}  // namespace

checked check(const std::vector<std::string>& paths, const catalog& classes, const options& how) {
  checked out;
  const environment_fn environment = environment_of(how);
  const parsed_files files =
      read_files(paths, environment, {.file_size = how.max_file_size}, out.sources, out.found);
  finish(out, files, environment, classes, how);
  return out;
}

checked check_text(std::string name, std::string text, const catalog& classes, const options& how) {
  checked out;
  const environment_fn environment = environment_of(how);
  const parsed_files files = read_text(std::move(name), std::move(text), environment,
                                       {.file_size = how.max_file_size}, out.sources, out.found);
  finish(out, files, environment, classes, how);
  return out;
}

}  // namespace leat::config
