// SPDX-License-Identifier: BSL-1.0
#include <leat/services/tls_files.hpp>

#include <unistd.h>
#include <string>
#include <string_view>

#ifdef LEAT_SERVICES_TLS
#include <leat/tls/files.hpp>
#endif

namespace leat::services {

#ifdef LEAT_SERVICES_TLS
namespace {

std::string path_of(const config::process_plan& p, std::string_view setting) {
  const value* const v = p.settings.find(setting);
  const auto* const text = v ? v->get_if<std::string>() : nullptr;
  return text ? *text : std::string();
}

std::string_view setting_of(tls_diagnostic::file which) noexcept {
  switch (which) {
    case tls_diagnostic::file::ca: return "ca";
    case tls_diagnostic::file::certificate: return "cert";
    case tls_diagnostic::file::key: break;
  }
  return "key_file";
}

// tell(process, setting, path, diagnostic) for each.
template <class F>
void each_diagnostic(const config::plan& plan, F tell) {
  for (const config::process_plan& p : plan.processes) {
    if (!p.settings.find("cert") || !p.settings.find("key_file")) continue;
    const std::string ca = path_of(p, "ca"), cert = path_of(p, "cert"), key = path_of(p, "key_file");
    for (const tls_diagnostic& f : examine_tls_files(ca, cert, key)) {
      const std::string_view setting = setting_of(f.which);
      tell(p, setting, path_of(p, setting), f);
    }
  }
}

}  // namespace

void check_tls_files(const config::plan& plan, config::diagnostics& to) {
  each_diagnostic(plan, [&](const config::process_plan& p, std::string_view setting, const std::string& path,
                            const tls_diagnostic& f) {
    const value* const v = p.settings.find(setting);
    const std::string text = "'" + std::string(setting) + "': " + f.what;
    const bool can_tell = ::access(path.c_str(), R_OK) == 0;
    if (f.fatal && can_tell)
      to.error("bad-tls-file", v->at(), text);
    else
      to.warning("bad-tls-file", v->at(), text);
  });
  to.sort();
}

std::vector<remedy> examine_tls(const config::plan& plan) {
  std::vector<remedy> all;
  each_diagnostic(plan, [&](const config::process_plan& p, std::string_view setting, const std::string&,
                            const tls_diagnostic& f) {
    all.push_back(
        {f.fatal ? remedy::grade::lacking : remedy::grade::advice, f.what,
         "process '" + p.name + "', setting '" + std::string(setting) + "', " +
             plan.where(p.settings.find(setting)->at()),
         f.fatal ? "mend or replace the file, or correct the path; a running deployment takes it at once"
                 : "a new certificate in its place; a running deployment takes it at once"});
  });
  return all;
}

#else

void check_tls_files(const config::plan&, config::diagnostics&) {}
std::vector<remedy> examine_tls(const config::plan&) { return {}; }

#endif

}  // namespace leat::services
