// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "report.hpp"
#include "runner.hpp"

namespace {

using namespace leat::bench;

constexpr const char* help_text =
    R"(Usage: leat-bench [options] [NAME...]

Measures Leat's workloads: a warm-up, then the median over the repetitions.

  --list         what there is: name, unit, procs, what it measures
  --only NAME    run this workload (repeatable; a plain NAME means the same)
  --procs N      with N Ps (repeatable; default: the workload's own list, see --list)
  --reps N       repetitions per figure (default 5)
  --warmup N     repetitions before that, not counted (default 1)
  --json FILE    append one JSON object a line: name, procs, unit, median, min, max, ...
  --quick        a tenth of the work: a first look, not a result
  --alone        without what some workloads measure beside themselves to be compared with
  --check        exit 1 if a bound is missed
  --help         this text

Exit codes: 0 done, 1 a workload failed or (with --check) a bound was missed, 2 wrong usage.
)";

struct command_line {
  std::vector<std::string> names;
  std::vector<int> procs;
  run_options run;
  std::string json;
  bool list = false;
  bool check = false;
  bool help = false;
};

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int number_in(const std::string& option, std::string_view text, int low, int high) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < low || n > high) {
    throw usage_error(option + ": '" + std::string(text) + "' is not a number from " + std::to_string(low) +
                      " to " + std::to_string(high));
  }
  return n;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string unknown_workload(const std::string& name) {
  std::string close;
  for (const workload& w : all_workloads()) {
    const bool contained = name.size() >= 3 && w.name.find(name) != std::string::npos;
    if (!contained && edit_distance(name, w.name) > std::max<std::size_t>(2, name.size() / 3)) continue;
    close += (close.empty() ? "" : ", ") + w.name;
  }
  return "no workload '" + name + "'" +
         (close.empty() ? "; see leat-bench --list" : "; did you mean: " + close);
}

command_line parse(const std::vector<std::string>& args) {
  command_line cl;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string option = args[i];
    std::string attached;
    const bool has_attached = option.starts_with("--") && option.find('=') != std::string::npos;
    if (has_attached) {
      attached = option.substr(option.find('=') + 1);
      option.resize(option.find('='));
    }
    auto value = [&]() -> std::string {
      if (has_attached) return attached;
      if (i + 1 == args.size()) throw usage_error(option + " needs a value");
      return args[++i];
    };
    auto plain = [&] {
      if (has_attached) throw usage_error(option + " takes no value");
      return true;
    };
    if (option == "--only") {
      cl.names.push_back(value());
    } else if (option == "--procs") {
      cl.procs.push_back(number_in(option, value(), 1, 1024));
    } else if (option == "--reps") {
      cl.run.reps = number_in(option, value(), 1, 100000);
    } else if (option == "--warmup") {
      cl.run.warm_ups = number_in(option, value(), 0, 1000);
    } else if (option == "--json") {
      cl.json = value();
      if (cl.json.empty()) throw usage_error("--json needs a file name");
    } else if (option == "--quick") {
      cl.run.how.quick = plain();
    } else if (option == "--alone") {
      cl.run.how.alone = plain();
    } else if (option == "--list") {
      cl.list = plain();
    } else if (option == "--check") {
      cl.check = plain();
    } else if (option == "--help" || option == "-h") {
      cl.help = plain();
    } else if (option.starts_with("-")) {
      throw usage_error("unknown option '" + option + "'");
    } else {
      cl.names.push_back(option);
    }
  }
  for (const std::string& name : cl.names) {
    if (find_workload(name) == nullptr) throw usage_error(unknown_workload(name));
  }
  return cl;
}

void print_list() {
  std::size_t width = 0;
  for (const workload& w : all_workloads()) width = std::max(width, w.name.size());
  for (const workload& w : all_workloads()) {
    std::string procs;
    for (const int n : w.procs) procs += (procs.empty() ? "" : ",") + std::to_string(n);
    std::printf("%-*s  %-5s  %-5s  %s%s\n", static_cast<int>(width), w.name.c_str(), w.unit.c_str(),
                procs.c_str(), w.what.c_str(), w.on_demand ? " (only when named)" : "");
  }
}

std::vector<const workload*> selected(const command_line& cl) {
  std::vector<const workload*> list;
  for (const std::string& name : cl.names) {
    const workload* w = find_workload(name);
    if (std::find(list.begin(), list.end(), w) == list.end()) list.push_back(w);
  }
  if (!cl.names.empty()) return list;
  for (const workload& w : all_workloads()) {
    if (!w.on_demand) list.push_back(&w);
  }
  return list;
}

void print_machine() {
#ifndef __OPTIMIZE__
  std::fprintf(stderr, "leat-bench: built without optimization; the figures mean little\n");
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::fprintf(stderr, "leat-bench: built with a sanitizer; the figures mean little\n");
#endif
}

int measure(const command_line& cl) {
  const std::vector<const workload*> chosen = selected(cl);
  if (chosen.empty()) {
    std::fprintf(stderr, "leat-bench: nothing to run; see leat-bench --list\n");
    return 0;
  }
  // Opened before the work, so that a wrong path does not cost the figures.
  std::FILE* json = nullptr;
  if (!cl.json.empty() && (json = std::fopen(cl.json.c_str(), "a")) == nullptr) {
    throw usage_error("--json: cannot write '" + cl.json + "': " + std::strerror(errno));
  }
  print_machine();

  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  std::size_t total = 0;
  for (const workload* w : chosen) total += (cl.procs.empty() ? w->procs : cl.procs).size();
  std::size_t done = 0;
  const progress tell = [&](const workload& w, int procs, int rep, int reps) {
    if (!terminal) return;
    const std::string step = rep == 0 ? "warm-up" : std::to_string(rep) + "/" + std::to_string(reps);
    std::fprintf(stderr, "\r\033[K[%zu/%zu] %s procs %d: %s", done + 1, total, w.name.c_str(), procs,
                 step.c_str());
  };

  std::vector<figure> figures;
  for (const workload* w : chosen) {
    for (const int procs : cl.procs.empty() ? w->procs : cl.procs) {
      for (figure& f : run(*w, procs, cl.run, tell)) figures.push_back(std::move(f));
      ++done;
    }
  }
  if (terminal) std::fprintf(stderr, "\r\033[K");
  print_table(stdout, figures);

  int missed = 0;
  int failed = 0;
  bool written = true;
  for (const figure& f : figures) {
    failed += f.result == figure::outcome::failed ? 1 : 0;
    for (const verdict& v : judge(f, figures)) missed += v.met ? 0 : 1;
    if (json != nullptr && !f.values.empty()) {
      written = std::fprintf(json, "%s\n", to_json(f, figures, cl.run.how.quick).c_str()) > 0 && written;
    }
  }
  if (json != nullptr && (std::fclose(json) != 0 || !written)) {
    std::fprintf(stderr, "leat-bench: writing '%s' failed: %s\n", cl.json.c_str(), std::strerror(errno));
    ++failed;
  }
  if (missed > 0) std::fprintf(stderr, "leat-bench: %d bound%s missed\n", missed, missed > 1 ? "s" : "");
  return failed > 0 || (cl.check && missed > 0) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  try {
    // Written by the runner only: --child NAME PROCS quick|full alone|beside DESCRIPTOR.
    if (args.size() == 6 && args[0] == "--child") {
      const workload* w = find_workload(args[1]);
      if (w == nullptr) return 2;
      const int code =
          run_as_child(*w, number_in("procs", args[2], 1, 1024), {args[3] == "quick", args[4] == "alone"},
                       number_in("descriptor", args[5], 0, 1 << 20));
      // A body may leave threads that never end; static destructors must not run beside them.
      ::_exit(code);
    }
    const command_line cl = parse(args);
    if (cl.help) {
      std::fputs(help_text, stdout);
    } else if (cl.list) {
      print_list();
    } else {
      return measure(cl);
    }
  } catch (const usage_error& e) {
    std::fprintf(stderr, "leat-bench: %s\n", e.what());
    return 2;
  }
  return 0;
}
