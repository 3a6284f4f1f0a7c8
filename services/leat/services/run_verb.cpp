// SPDX-License-Identifier: BSL-1.0
#include <leat/services/run_verb.hpp>

#include <sched.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/base/log_output.hpp>
#include <leat/config/render.hpp>
#include <leat/control/door.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/signals.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/stack_use.hpp>
#include <leat/services/arena_share.hpp>
#include <leat/services/controls.hpp>
#include <leat/services/host.hpp>
#include <leat/services/status_line.hpp>
#include <leat/services/verb_output.hpp>

namespace leat::services {

using namespace std::chrono_literals;

namespace {

// What only the machine that runs it can tell.
bool machine_fits(const config::checked& r) {
  config::diagnostics found;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return true;
  const config::runtime_plan& runtime = r.plan->runtime;
  for (std::size_t i = 0; i < runtime.cpus.size(); ++i)
    if (const unsigned cpu = runtime.cpus[i]; cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed))
      found.error("cpus", runtime.cpus_at[i],
                  "'cpus' names CPU " + std::to_string(cpu) + ", on which this program may not run here");
  if (found.all().empty()) return true;
  complain(config::render(found, r.sources, colour_on(STDERR_FILENO)));
  return false;
}

std::string digest_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
  std::array<char, 17> hex{};
  (void)std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(h));
  return hex.data();
}

deployment_identity identity_of(const config::checked& r, const std::vector<std::string>& words) {
  deployment_identity who;
  who.name = r.plan->control.name;
  std::error_code ec;
  if (who.name.empty()) {
    std::filesystem::path first = std::filesystem::absolute(words.front(), ec).lexically_normal();
    if (!first.has_filename()) first = first.parent_path();
    who.name = first.extension() == ".toml" ? first.stem().string() : first.filename().string();
  }
  if (who.name.empty()) who.name = "leat";
  for (std::uint32_t i = 0; i < r.sources.size(); ++i) {
    if (!r.sources.is_file(i)) continue;
    const std::filesystem::path whole = std::filesystem::absolute(r.sources[i].name(), ec);
    who.files.push_back({ec ? r.sources[i].name() : whole.string(), digest_of(r.sources[i].text())});
  }
  return who;
}

// Without a terminal to be quiet for, the journal keeps the summary as it keeps everything else.
void log_lines(std::string_view text) {
  if (!log_goes_to_journal()) return;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    log_info("services", "{}", text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Beside the host, on Gs of their own: who looks, and who lets others look.
ledger run_with_door(host& h, const config::checked& r, const std::vector<std::string>& words,
                     const in<int>& stop, const std::function<void(const host&)>& tick, bool talks) {
  const config::control_plan& c = r.plan->control;
  deployment_identity who = identity_of(r, words);
  control::door_options o;
  o.name = who.name;
  o.socket = c.socket;
  o.listen = c.listen;
  o.hosts = c.hosts;
  o.clients = c.clients;
  if (!c.token_file.empty()) o.token = control::read_token(c.token_file);
  observer looks(*r.plan, h.wires(), h.seen(), std::move(who), h.processes_of_replicas(), h.replica_names());
  controls steers(h, looks);
  control::door door(steers, std::move(o));
  task_group beside;
  try {
    beside.go("observer", [&] { looks.run(); });
    door.serve(beside);
  } catch (const std::exception& e) {  // no memory or thread for it: the services come first
    log_warning("control", "nobody will be able to look at this deployment: {}", e.what());
  }
  ledger l = h.run(stop, tick);
  beside.stop();
  try {
    // What they refer to is on this stack. One that is stuck, in a heap that somebody who hangs has locked, must
    // not keep the program from its end.
    if (beside.wait_for(2s) != wait_status::done) {
      beside.insist();
      if (beside.wait_for(1s) != wait_status::done) {
        l.injected = looks.injected();
        write_last_words(talks ? to_text(l, *r.plan) : std::string(), 2000);
        std::_Exit(exit_code(l));
      }
    }
  } catch (const std::exception& e) {
    log_warning("control", "{}", e.what());
  }
  l.injected = looks.injected();  // nobody is at the door any more
  return l;
}

// By nohup, for one: it is to outlive its terminal.
bool hang_up_is_ignored() noexcept {
  struct sigaction now{};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

int run_services(const command& c, const config::checked& r) {
  if (!r.plan || !machine_fits(r)) return bad_configuration;
  const bool talks = !c.quiet;
  try {
    // A reader of our output that has gone, or a peer's closed pipe in somebody's library, ends nothing.
    std::signal(SIGPIPE, SIG_IGN);
    limit_arenas();
    return leat::run(runtime_options_of(*r.plan), [&] {
      host h(*r.plan);
      const in<int> stop = hang_up_is_ignored() ? signals(SIGINT, SIGTERM) : signals(SIGINT, SIGTERM, SIGHUP);
      const bool shows = talks && colour_on(STDERR_FILENO);
      status_line line(shows);
      std::function<void(const host&)> tick;
      if (shows) tick = [&](const host& running) { line.show(running); };
      const ledger l = run_with_door(h, r, c.words, stop, tick, talks);
      // It ends anyway: a signal that comes now must not take away its exit status.
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
      line.clear();
      flush_stdout();  // what the processes printed comes before the summary
      // Who reads may have gone to sleep: the end does not wait for him.
      const std::string summary = to_text(l, *r.plan) + stack_use();
      if (!talks) log_lines(summary);
      write_last_words(talks ? summary : std::string(), 2000);
      // What a quarantined process holds stays held: locks of the C library, and locks that exit() destroys.
      // And its thread may run on into those.
      if (stats().quarantined > 0) std::_Exit(exit_code(l));
      return exit_code(l);
    });
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    complain(std::string("leat: ") + e.what() + "\n");
    return failed;
  }
}

}  // namespace leat::services
