// SPDX-License-Identifier: BSL-1.0
//
// leat::main: each verb, from parsed words to an exit status.
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>

#include <leat/base/format.hpp>
#include <leat/base/log.hpp>
#include <leat/base/safety.hpp>
#include <leat/base/version.hpp>
#include <leat/config/config.hpp>
#include <leat/config/json_schema.hpp>
#include <leat/config/render.hpp>
#include <leat/config/suggest.hpp>
#include <leat/main.hpp>
#include <leat/net/child.hpp>
#include <leat/net/signals.hpp>
#include <leat/process/registry.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/stack_use.hpp>
#include <leat/services/command_line.hpp>
#include <leat/services/describe.hpp>
#include <leat/services/host.hpp>
#include <leat/services/new_project.hpp>
#include <leat/services/picture.hpp>
#include <leat/services/plugins.hpp>
#include <leat/services/status_line.hpp>

namespace leat::services {
namespace {

constexpr int all_is_well = 0, failed = 1, bad_usage = 2, bad_configuration = 78;

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
std::string version_text() {
  std::string text = LEAT_VERSION "\n";
  if (!safety::left_out.empty())
    text += "BENCH BUILD, not to be used: without " + std::string(safety::left_out) + "\n";
  return text;
}
void complain(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

bool colour_on(int fd) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return ::isatty(fd) == 1 && (!no || !*no) && (!term || std::strcmp(term, "dumb") != 0);
}

std::string counted(std::size_t n, const char* what, const char* plural_end) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : plural_end);
}

// The findings go to stderr; without errors the plan is there.
config::checked read(const command& c) {
  config::checked r = config::check(c.words, program_catalog(), with_plugins());
  if (!r.found.all().empty()) complain(config::render(r.found, r.sources, colour_on(STDERR_FILENO)));
  return r;
}

int do_check(const command& c) {
  const config::checked r = config::check(c.words, program_catalog(), with_plugins());
  if (c.json) {
    print(config::render_json(r.found, r.sources) + "\n");
  } else {
    if (!r.found.all().empty()) complain(config::render(r.found, r.sources, colour_on(STDERR_FILENO)));
    if (!c.quiet) {
      std::string text = config::summary(r.found);
      if (r.plan) {
        const config::memory_sum& m = r.plan->memory;
        text += ": " + counted(r.plan->services.size(), "service", "s") + ", " +
                counted(r.plan->processes.size(), "process", "es") + ", " +
                counted(r.plan->channels.size(), "channel", "s") + ", " + std::to_string(m.total() / 1024) +
                " KiB (stacks " + std::to_string(m.stacks / 1024) + ", rings " +
                std::to_string(m.rings / 1024) + ", pools " + std::to_string(m.pools / 1024) + ")";
      }
      print(text + "\n");
    }
  }
  return r.plan ? all_is_well : bad_configuration;
}

int do_graph(const command& c) {
  const config::checked r = read(c);
  if (!r.plan) return bad_configuration;
  if (c.picture == "dot") {
    print(dot_picture(*r.plan));
  } else if (c.picture == "mermaid") {
    print(mermaid_picture(*r.plan));
  } else if (c.picture == "svg") {
    std::fflush(stdout);
    std::signal(SIGPIPE, SIG_IGN);  // a `dot` that is not there reads nothing
    std::FILE* const dot = ::popen("dot -Tsvg", "w");
    const std::string text = dot_picture(*r.plan);
    if (dot) std::fwrite(text.data(), 1, text.size(), dot);
    if (!dot || ::pclose(dot) != 0) {
      complain(
          "graph --svg needs graphviz's `dot` (Debian, Ubuntu: apt install graphviz); --dot writes its "
          "input\n");
      return failed;
    }
  } else {
    print(text_picture(*r.plan));
  }
  return all_is_well;
}

// What only the machine that runs it can tell.
bool machine_fits(const config::checked& r) {
  config::findings found;
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

int do_run(const command& c) {
  const config::checked r = read(c);
  if (!r.plan || !machine_fits(r)) return bad_configuration;
  const bool talks = !c.quiet;
  try {
    return leat::run(runtime_options_of(*r.plan), [&] {
      host h(*r.plan);
      const in<int> stop = signals(SIGINT, SIGTERM);
      const bool shows = talks && colour_on(STDERR_FILENO);
      status_line line(shows);
      std::function<void(const host&)> tick;
      if (shows) tick = [&](const host& running) { line.show(running); };
      const ledger l = h.run(stop, tick);
      // It ends anyway: a signal that comes now must not take away its exit status.
      for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_IGN);
      line.clear();
      flush_stdout();  // what the processes printed comes before the summary
      if (talks) write_text(STDERR_FILENO, to_text(l, *r.plan) + stack_use());
      // A thread that stands still in the C library may hold its locks for good.
      if (stats().frozen > 0) std::_Exit(exit_code(l));
      return exit_code(l);
    });
  } catch (const std::exception& e) {
    complain(std::string("leat: ") + e.what() + "\n");
    return failed;
  }
}

int do_describe(const command& c, const std::string& program) {
  const class_schema* const s = program_catalog().find_class(c.words[0]);
  if (!s) {
    std::vector<std::string_view> names;
    for (const class_schema* x : program_catalog().classes()) names.push_back(x->name);
    std::string text = program + ": there is no process class '" + c.words[0] + "'" +
                       config::did_you_mean(config::nearest(c.words[0], names));
    text += names.empty() ? "; this program has none, LEAT_PROCESS registers one"
                          : "\n`" + program + " list` shows those that there are";
    complain(text + "\n");
    return bad_usage;
  }
  print(c.json ? describe_json(*s) : describe_text(*s, program_catalog()));
  return all_is_well;
}

int do_list(const command& c) {
  const std::vector<const class_schema*> all = program_catalog().classes();
  if (c.json) {
    std::string text = "[";
    for (const class_schema* s : all) text += (text.size() > 1 ? ",\n " : "") + describe_json(*s, false);
    print(text + "]\n");
    return all_is_well;
  }
  std::size_t width = 0;
  for (const class_schema* s : all) width = std::max(width, s->name.size());
  for (const class_schema* s : all) {
    std::string name = s->name;
    if (!c.names) {
      name.resize(width + 2, ' ');
      name += s->help;
    }
    print(name + "\n");
  }
  if (all.empty() && !c.names) complain("this program has no process classes; LEAT_PROCESS registers one\n");
  return all_is_well;
}

int do_new(const command& c, const std::string& program) {
  const std::string& name = c.words[0];
  if (const std::string fault = project_name_fault(name); !fault.empty()) {
    complain(program + ": " + fault + "\n");
    return bad_usage;
  }
  const std::vector<project_file> files = project_files(name, LEAT_VERSION);
  make_project({}, name, files);
  std::string text = "made the folder " + name + ":\n";
  for (const project_file& f : files) text += "  " + name + '/' + f.path + '\n';
  print(text + "\nnext:\n" + next_steps(name, unusual_prefix()));
  return all_is_well;
}

int do_help(const command& c, const std::string& program) {
  if (c.words.empty()) {
    print(usage(program));
    return all_is_well;
  }
  const parsed_words p = parse_command_line({c.words[0], "--help"});
  if (!p.error.empty()) {
    complain(program + ": " + p.error + "\n");
    return bad_usage;
  }
  print(usage(program, p.command.verb));
  return all_is_well;
}

int do_completion(const command& c, const std::string& program) {
  const std::string script = completion(c.words[0], program);
  if (script.empty()) {
    complain(program + ": no completion for '" + c.words[0] + "'; there is one for bash and one for zsh\n");
    return bad_usage;
  }
  print(script);
  return all_is_well;
}

int perform(const command& c, const std::string& program) {
  if (c.wants_help) {
    print(usage(program, c.verb));
    return all_is_well;
  }
  bool all_loaded = true;
  for (const std::string& file : c.plugins)
    for (const std::string& fault : load_plugin(file)) {
      complain(std::string(program).append(": ").append(fault).append("\n"));
      all_loaded = false;
    }
  if (!all_loaded) return failed;
  switch (c.verb) {
    case verb::run: return do_run(c);
    case verb::check: return do_check(c);
    case verb::graph: return do_graph(c);
    case verb::list: return do_list(c);
    case verb::describe: return do_describe(c, program);
    case verb::make_new: return do_new(c, program);
    case verb::schema: print(config::json_schema(&program_catalog()) + "\n"); return all_is_well;
    case verb::completion: return do_completion(c, program);
    case verb::version: print(program + " " + version_text()); return all_is_well;
    case verb::help: return do_help(c, program);
  }
  return bad_usage;
}

}  // namespace
}  // namespace leat::services

namespace leat {

int main(int argc, char** argv) {
  using namespace services;
  std::string program = argc > 0 ? argv[0] : "leat";
  program.erase(0, program.rfind('/') + 1);
  const parsed_words p = parse_command_line(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (!p.error.empty()) {
    std::string text = program + ": " + p.error + '\n';
    // Who has given nothing to go by gets all there is.
    text += argc < 2 ? usage(program) : '`' + program + ' ' + p.verb + "--help` says what there is\n";
    complain(text);
    return bad_usage;
  }
  const std::vector<std::string> problems = catalog_problems();
  for (const std::string& problem : problems) {
    std::string line = program;
    line.append(": ").append(problem).append("\n");
    complain(line);
  }
  if (!problems.empty()) return failed;
  try {
    const int status = perform(p.command, program);
    // A full disk behind a redirection must not pass for success.
    if (std::fflush(stdout) != 0) {
      complain(program + ": cannot write to the standard output: " + std::strerror(errno) + "\n");
      return failed;
    }
    return status;
  } catch (const std::exception& e) {
    complain(program + ": " + e.what() + "\n");
    return failed;
  }
}

}  // namespace leat
