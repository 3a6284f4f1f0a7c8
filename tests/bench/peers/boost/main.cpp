// SPDX-License-Identifier: BSL-1.0

// Same flags and JSON lines as leat-bench. Each workload and thread count runs in a process of its own:
// Boost.Fiber's schedulers are static. Two Ps are two threads that steal work, which does better here than
// its shared ready queue.

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <boost/fiber/all.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "peer.hpp"

namespace peer {

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "leat-peer-boost: %s: wrong result\n", what);
  std::_Exit(1);
}

namespace {

namespace bf = boost::fibers;

struct options {
  std::vector<std::string> names;
  std::vector<int> procs;
  int reps = 5;
  int warm_ups = 1;
  std::string json;
  bool quick = false;
  bool list = false;
  unsigned time_limit = 90;
};

// The calling thread and procs - 1 others serve the same fibers while this lives.
class crew {
 public:
  crew(int procs) : installed_(procs) {
    for (int i = 1; i < procs; ++i) {
      threads_.emplace_back([this, procs] {
        install(procs);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return ended_; });
      });
    }
    if (procs > 1) install(procs);
  }
  ~crew() {
    {
      std::unique_lock lock(mutex_);
      ended_ = true;
    }
    done_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

 private:
  void install(int procs) {
    bf::use_scheduling_algorithm<bf::algo::work_stealing>(static_cast<std::uint32_t>(procs));
    installed_.arrive_and_wait();
  }

  std::barrier<> installed_;
  bf::mutex mutex_;
  bf::condition_variable done_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

void say(int fd, const run& r, double bare, const workload& w) {
  std::string text;
  auto add = [&](const std::string& sub, const std::string& unit, double value) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", value);
    text += sub + "\t" + unit + "\t" + number + "\n";
  };
  if (!std::isnan(bare)) add("", w.unit, bare);
  for (const sample& s : r.samples) add(s.sub, s.unit, s.value);
  check(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "pipe");
}

struct figure {
  std::string name;
  std::string unit;
  std::vector<double> values;
};

// Runs the repetitions in a child; false if it died or passed the time limit.
bool run_in_child(const workload& w, int procs, int warm_ups, int reps, const options& opt,
                  std::vector<figure>& figures) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return false;
  if (pid == 0) {
    close(ends[0]);
    alarm(opt.time_limit);
    // Stacks stay with malloc, so that a warm one costs no page fault.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 2000 << 20);
    crew helpers(w.shared ? procs : 1);
    for (int rep = -warm_ups; rep < reps; ++rep) {
      run r{procs, opt.quick, {}};
      const double bare = w.body(r);
      if (rep >= 0) say(ends[1], r, bare, w);
    }
    std::_Exit(0);
  }
  close(ends[1]);
  std::FILE* in = fdopen(ends[0], "r");
  char line[256];
  while (std::fgets(line, sizeof line, in) != nullptr) {
    const std::string text = line;
    const auto one = text.find('\t');
    const auto two = text.find('\t', one + 1);
    const std::string sub = text.substr(0, one);
    const std::string name = sub.empty() ? w.name : std::string(w.name) + "." + sub;
    auto at = std::find_if(figures.begin(), figures.end(), [&](const figure& f) { return f.name == name; });
    if (at == figures.end()) {
      at = figures.insert(figures.end(), {name, text.substr(one + 1, two - one - 1), {}});
    }
    at->values.push_back(std::strtod(text.c_str() + two + 1, nullptr));
  }
  std::fclose(in);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "leat-peer-boost: %s, %d threads: %s\n", w.name, procs, strsignal(WTERMSIG(status)));
  }
  return status == 0;
}

bool measure(const workload& w, int procs, const options& opt, std::FILE* json) {
  const int warm_ups = w.warm_up ? opt.warm_ups : 0;
  std::vector<figure> figures;
  bool ok = true;
  if (w.fresh) {
    for (int rep = 0; ok && rep < opt.reps; ++rep) ok = run_in_child(w, procs, warm_ups, 1, opt, figures);
  } else {
    ok = run_in_child(w, procs, warm_ups, opt.reps, opt, figures);
  }
  if (!ok) return false;
  for (const figure& f : figures) {
    std::vector<double> v = f.values;
    std::sort(v.begin(), v.end());
    const std::size_t half = v.size() / 2;
    const double median = v.size() % 2 != 0 ? v[half] : (v[half - 1] + v[half]) / 2;
    std::printf("%-14s %5d %12.2f %12.2f %12.2f  %s\n", f.name.c_str(), procs, median, v.front(), v.back(),
                f.unit.c_str());
    if (json == nullptr) continue;
    std::fprintf(json,
                 "{\"name\":\"%s\",\"procs\":%d,\"unit\":\"%s\",\"median\":%.9g,\"min\":%.9g,\"max\":%.9g,"
                 "\"reps\":%zu,\"values\":[",
                 f.name.c_str(), procs, f.unit.c_str(), median, v.front(), v.back(), v.size());
    for (std::size_t i = 0; i < v.size(); ++i) std::fprintf(json, "%s%.9g", i != 0 ? "," : "", f.values[i]);
    std::fprintf(json, "],\"quick\":%s,\"peer\":\"boost\"}\n", opt.quick ? "true" : "false");
  }
  std::fflush(stdout);
  return true;
}

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr,
               "leat-peer-boost: %s\nUsage: leat-peer-boost [--list] [--only NAME] [--procs N] [--reps N] "
               "[--warmup N] [--json FILE] [--quick] [NAME...]\n",
               what.c_str());
  std::exit(2);
}

int number(const std::string& option, const std::string& text, int low) {
  char* end = nullptr;
  const long n = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || n < low || n > 1024) usage(option + ": bad number '" + text + "'");
  return static_cast<int>(n);
}

options parse(int argc, char** argv) {
  options opt;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 == argc) usage(arg + " needs a value");
      return argv[++i];
    };
    if (arg == "--only") {
      opt.names.push_back(value());
    } else if (arg == "--procs") {
      opt.procs.push_back(number(arg, value(), 1));
    } else if (arg == "--reps") {
      opt.reps = number(arg, value(), 1);
    } else if (arg == "--warmup") {
      opt.warm_ups = number(arg, value(), 0);
    } else if (arg == "--json") {
      opt.json = value();
    } else if (arg == "--quick") {
      opt.quick = true;
    } else if (arg == "--list") {
      opt.list = true;
    } else if (arg.starts_with("-")) {
      usage("unknown option '" + arg + "'");
    } else {
      opt.names.push_back(arg);
    }
  }
  for (const std::string& name : opt.names) {
    if (std::none_of(workloads.begin(), workloads.end(), [&](const workload& w) { return name == w.name; })) {
      usage("no workload '" + name + "'");
    }
  }
  return opt;
}

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
  using namespace peer;
  const options opt = parse(argc, argv);
  if (opt.list) {
    for (const workload& w : workloads) {
      std::string procs;
      for (const int n : w.procs) procs += (procs.empty() ? "" : ",") + std::to_string(n);
      std::printf("%-10s %-3s %s\n", w.name, w.unit, procs.c_str());
    }
    return 0;
  }
  std::FILE* json = nullptr;
  if (!opt.json.empty() && (json = std::fopen(opt.json.c_str(), "a")) == nullptr) {
    std::perror(opt.json.c_str());
    return 2;
  }
  bool ok = true;
  for (const workload& w : workloads) {
    if (!opt.names.empty() && std::find(opt.names.begin(), opt.names.end(), w.name) == opt.names.end())
      continue;
    for (const int procs : opt.procs.empty() ? w.procs : opt.procs) ok = measure(w, procs, opt, json) && ok;
  }
  if (json != nullptr) ok = std::fclose(json) == 0 && ok;
  return ok ? 0 : 1;
}
