// SPDX-License-Identifier: BSL-1.0
#include <leat/config/config.hpp>

#include <cstdlib>
#include <utility>

#include <leat/config/files.hpp>
#include <leat/config/reader.hpp>
#include <leat/config/resolve.hpp>

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

void finish(checked& out, const parsed_files& files, const catalog& classes, const options& how) {
  bool all_classes = true;
  if (how.load_plugin)
    for (const plugin_file& p : files.plugins) all_classes = how.load_plugin(p, out.found) && all_classes;
  builder b = build(files, out.sources, out.found);
  b.all_classes = b.all_classes && all_classes;
  if (b.complete && b.services.empty() && out.sources.size() > 0 && out.found.errors() == 0)
    out.found.error("empty", {0, 0, 0, 0}, "there is no service here: no [process.NAME] in any file");
  out.plan = resolve(b, classes, out.found);
  out.found.sort();
  if (!out.plan) return;
  for (std::uint32_t i = 0; i < out.sources.size(); ++i) out.plan->files.push_back(out.sources[i].name());
}

}  // namespace

checked check(const std::vector<std::string>& paths, const catalog& classes, const options& how) {
  checked out;
  const parsed_files files =
      read_files(paths, environment_of(how), {.file_size = how.max_file_size}, out.sources, out.found);
  finish(out, files, classes, how);
  return out;
}

checked check_text(std::string name, std::string text, const catalog& classes, const options& how) {
  checked out;
  const parsed_files files = read_text(std::move(name), std::move(text), environment_of(how),
                                       {.file_size = how.max_file_size}, out.sources, out.found);
  finish(out, files, classes, how);
  return out;
}

}  // namespace leat::config
