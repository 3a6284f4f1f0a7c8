// SPDX-License-Identifier: BSL-1.0
//
// leat::main: each verb, from parsed words to an exit status.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include <leat/base/format.hpp>
#include <leat/base/safety.hpp>
#include <leat/base/version.hpp>
#include <leat/config/config.hpp>
#include <leat/config/json_schema.hpp>
#include <leat/config/render.hpp>
#include <leat/main.hpp>
#include <leat/net/child.hpp>
#include <leat/process/registry.hpp>
#include <leat/remote/verbs.hpp>
#include <leat/services/about_verbs.hpp>
#include <leat/services/command_line.hpp>
#include <leat/services/doctor.hpp>
#include <leat/services/picture.hpp>
#include <leat/services/plugins.hpp>
#include <leat/services/run_verb.hpp>
#include <leat/services/simulate_verb.hpp>
#include <leat/services/tls_files.hpp>
#include <leat/services/verb_output.hpp>

namespace leat::services {

namespace {

std::string version_text() {
  std::string text = LEAT_VERSION "\n";
  if (!safety::left_out.empty())
    text += "BENCH BUILD, not to be used: without " + std::string(safety::left_out) + "\n";
  return text;
}

std::string counted(std::size_t n, const char* what, const char* plural_end) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : plural_end);
}

config::checked check_files(const command& c) {
  config::options how = with_plugins();
  how.set = c.set;
  how.expand = c.expanded;
  how.simulation = c.verb == verb::simulate ? config::options::stand_ins::used
                   : c.verb == verb::check  ? config::options::stand_ins::checked
                                            : config::options::stand_ins::unused;
  return config::check(c.words, program_catalog(), how);
}

// Diagnostics go to stderr; without errors the plan is there.
config::checked read(const command& c) {
  config::checked r = check_files(c);
  if (!r.found.all().empty()) complain(config::render(r.found, r.sources, colour_on(STDERR_FILENO)));
  return r;
}

// The only file, or all of them with their names above. Into a folder: none that is there is written over.
int write_expanded(const command& c, const std::vector<config::expanded_file>& files) {
  if (c.into.empty()) {
    for (const config::expanded_file& f : files) {
      if (files.size() > 1) print((&f == files.data() ? "# ---- " : "\n# ---- ") + f.name + "\n");
      print(f.text);
    }
    return all_is_well;
  }
  const std::filesystem::path folder = c.into;
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  for (const config::expanded_file& f : files) {
    const std::string path = (folder / f.name).string();
    const int fd = ec ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good = fd >= 0 && ::write(fd, f.text.data(), f.text.size()) == static_cast<ssize_t>(f.text.size());
    const int why = ec ? ec.value() : errno;
    good = (fd < 0 || ::close(fd) == 0) && good;
    if (good) continue;
    complain("leat: cannot write " + path + ": " + std::strerror(why) + "\n");
    return failed;
  }
  return all_is_well;
}

int do_check(const command& c) {
  config::checked r = check_files(c);
  if (r.plan) check_tls_files(*r.plan, r.found);
  if (r.found.errors() > 0) r.plan.reset();
  if (c.json) {
    print(config::render_json(r.found, r.sources, c.verbose) + "\n");
  } else {
    if (!r.found.all().empty()) complain(config::render(r.found, r.sources, colour_on(STDERR_FILENO)));
    if (c.verbose) complain(config::render_remarks(r.found, r.sources, colour_on(STDERR_FILENO)));
    if (c.expanded) {
      const int written = write_expanded(c, r.expanded);
      if (written != all_is_well) return written;
    } else if (!c.quiet) {
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

int do_doctor(const command& c) {
  std::vector<remedy> found;
  if (c.words.empty()) {
    found = examine(look_at_machine(), nullptr);
  } else {
    const config::checked r = read(c);
    if (!r.plan) return bad_configuration;
    found = examine(look_at_machine(), &*r.plan);
    for (remedy& x : examine_files(*r.plan)) found.push_back(std::move(x));
    for (remedy& x : examine_folders(*r.plan)) found.push_back(std::move(x));
    for (remedy& x : examine_ports(*r.plan)) found.push_back(std::move(x));
    for (remedy& x : examine_tls(*r.plan)) found.push_back(std::move(x));
  }
  print(c.json ? to_json(found) + "\n" : to_text(found, colour_on(STDOUT_FILENO)));
  return anything_lacking(found) ? failed : all_is_well;
}

// A verb for a deployment that runs.
int do_remote(int (*verb)(const remote::request&), const command& c, const std::string& program) {
  return remote::run_verb(verb, {.program = program,
                                 .deployment = c.deployment,
                                 .token_file = c.token_file,
                                 .words = c.words,
                                 .json = c.json,
                                 .names = c.names,
                                 .processes = c.processes,
                                 .channels = c.channels,
                                 .now = c.now,
                                 .restart = c.restart,
                                 .count = c.count,
                                 .rate = c.rate,
                                 .out = c.out,
                                 .where = c.where,
                                 .interval = c.interval});
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
    case verb::run: return run_services(c, read(c));
    case verb::simulate: return simulate_services(c, read(c));
    case verb::check: return do_check(c);
    case verb::graph: return do_graph(c);
    case verb::list: return list_classes(c);
    case verb::describe: return describe_class(c, program);
    case verb::make_new: return new_project(c, program);
    case verb::schema: print(config::json_schema(&program_catalog()) + "\n"); return all_is_well;
    case verb::doctor: return do_doctor(c);
    case verb::ps: return do_remote(remote::ps, c, program);
    case verb::top: return do_remote(remote::top, c, program);
    case verb::tap: return do_remote(remote::tap, c, program);
    case verb::inject: return do_remote(remote::inject, c, program);
    case verb::set: return do_remote(remote::set, c, program);
    case verb::restart: return do_remote(remote::restart, c, program);
    case verb::log: return do_remote(remote::log, c, program);
    case verb::dump: return do_remote(remote::dump, c, program);
    case verb::stop: return do_remote(remote::stop, c, program);
    case verb::metrics: return do_remote(remote::metrics, c, program);
    case verb::completion: return print_completion(c, program);
    case verb::version: print(program + " " + version_text()); return all_is_well;
    case verb::help: return print_help(c, program);
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
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    complain(program + ": " + e.what() + "\n");
    return failed;
  }
}

}  // namespace leat
