// SPDX-License-Identifier: BSL-1.0
#include "runner.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

namespace leat::bench {

double figure::median() const {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> v = values;
  std::sort(v.begin(), v.end());
  const std::size_t half = v.size() / 2;
  return v.size() % 2 != 0 ? v[half] : (v[half - 1] + v[half]) / 2;
}
double figure::min() const { return *std::min_element(values.begin(), values.end()); }
double figure::max() const { return *std::max_element(values.begin(), values.end()); }

namespace {

std::vector<sample> run_once(const workload& w, int procs, manner how) {
  context ctx(procs, how);
  const double bare = w.run(ctx);
  std::vector<sample> samples = ctx.take();
  if (!std::isnan(bare)) samples.insert(samples.begin(), {"", "", bare});
  if (samples.empty()) throw std::runtime_error("the workload reported no figure");
  for (sample& s : samples) {
    if (s.unit.empty()) s.unit = w.unit;
    if (!std::isfinite(s.value)) throw std::runtime_error("figure '" + s.sub + "' is not a number");
  }
  return samples;
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The child says one line per figure, "=sub<tab>unit<tab>value", or "skip<tab>why", or "fail<tab>why".
std::vector<sample> parse_child(const std::string& text) {
  std::vector<sample> samples;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("skip\t")) throw skipped(line.substr(5));
    if (line.starts_with("fail\t")) throw std::runtime_error(line.substr(5));
    const std::size_t one = line.find('\t');
    const std::size_t two = line.find('\t', one + 1);
    if (!line.starts_with("=") || two == std::string::npos) throw std::runtime_error("garbled child output");
    samples.push_back({line.substr(1, one - 1), line.substr(one + 1, two - one - 1),
                       std::strtod(line.c_str() + two + 1, nullptr)});
  }
  return samples;
}

// By exec, not by fork alone: threads of an earlier workload would be missing in a forked copy.
std::vector<sample> run_in_child(const workload& w, int procs, manner how) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("pipe2");
  const std::string procs_text = std::to_string(procs);
  const std::string fd_text = std::to_string(ends[1]);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    errno = error;
    throw_errno("fork");
  }
  if (pid == 0) {
    ::fcntl(ends[1], F_SETFD, 0);
    ::execl("/proc/self/exe", "leat-bench", "--child", w.name.c_str(), procs_text.c_str(),
            how.quick ? "quick" : "full", how.alone ? "alone" : "beside", fd_text.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  const std::string text = read_to_end(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error(std::string("its process died of ") + strsignal(WTERMSIG(status)));
  }
  std::vector<sample> samples = parse_child(text);
  if (WEXITSTATUS(status) != 0 || samples.empty()) {
    throw std::runtime_error("its process ended with code " + std::to_string(WEXITSTATUS(status)));
  }
  return samples;
}

}  // namespace

int run_as_child(const workload& w, int procs, manner how, int fd) {
  std::string text;
  try {
    for (const sample& s : run_once(w, procs, how)) {
      std::array<char, 40> value;
      std::snprintf(value.data(), value.size(), "%.17g", s.value);
      text += "=" + s.sub + "\t" + s.unit + "\t" + value.data() + "\n";
    }
  } catch (const skipped& e) {
    text = std::string("skip\t") + e.what() + "\n";
  } catch (const std::exception& e) {
    text = std::string("fail\t") + e.what() + "\n";
  }
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    at += static_cast<std::size_t>(n);
  }
  return 0;
}

std::vector<figure> run(const workload& w, int procs, const run_options& options, const progress& tell) {
  std::vector<figure> figures;
  auto without_figure = [&](figure::outcome result, const char* why) {
    figure f{w.name, {}, w.unit, procs, {}, why};
    f.result = result;
    return std::vector<figure>{std::move(f)};
  };
  auto once = [&] {
    return w.fresh_process ? run_in_child(w, procs, options.how) : run_once(w, procs, options.how);
  };
  try {
    // A fresh process finds nothing that an earlier one has warmed.
    const int warm_ups = w.warm_up && !w.fresh_process ? options.warm_ups : 0;
    for (int i = 0; i < warm_ups; ++i) {
      tell(w, procs, 0, options.reps);
      once();
    }
    for (int rep = 1; rep <= options.reps; ++rep) {
      tell(w, procs, rep, options.reps);
      for (sample& s : once()) {
        auto at =
            std::find_if(figures.begin(), figures.end(), [&](const figure& f) { return f.sub == s.sub; });
        if (at == figures.end()) {
          at = figures.insert(figures.end(), figure{w.name, s.sub, s.unit, procs, {}, {}});
        }
        at->values.push_back(s.value);
      }
    }
  } catch (const skipped& e) {
    return without_figure(figure::outcome::skipped, e.what());
  } catch (const std::exception& e) {
    return without_figure(figure::outcome::failed, e.what());
  }
  return figures;
}

namespace {

struct scale {
  const char* unit;
  char kind;
  double factor;
};
constexpr std::array scales{
    scale{"ns", 't', 1},        scale{"us", 't', 1e3},
    scale{"ms", 't', 1e6},      scale{"s", 't', 1e9},
    scale{"B", 'm', 1},         scale{"KiB", 'm', 1024},
    scale{"MiB", 'm', 1 << 20}, scale{"GiB", 'm', 1024. * (1 << 20)},
};

std::optional<double> convert(double value, const std::string& from, const std::string& to) {
  if (from == to) return value;
  const scale* a = nullptr;
  const scale* b = nullptr;
  for (const scale& s : scales) {
    if (from == s.unit) a = &s;
    if (to == s.unit) b = &s;
  }
  if (a == nullptr || b == nullptr || a->kind != b->kind) return std::nullopt;
  return value * a->factor / b->factor;
}

const figure* find_figure(const std::vector<figure>& all, const std::string& name, int procs) {
  for (const figure& f : all) {
    if (f.procs == procs && !f.values.empty() && f.name() == name) return &f;
  }
  return nullptr;
}

// Figures taken in the same repetitions are compared repetition by repetition, so that drift cancels out.
std::optional<double> ratio(const figure& f, const figure& other) {
  const std::optional<double> factor = convert(1, f.unit, other.unit);
  if (!factor) return std::nullopt;
  if (f.workload != other.workload || f.values.size() != other.values.size()) {
    return f.median() * *factor / other.median();
  }
  figure pairwise = f;
  for (std::size_t i = 0; i < f.values.size(); ++i) {
    pairwise.values[i] = f.values[i] * *factor / other.values[i];
  }
  return pairwise.median();
}

}  // namespace

std::vector<verdict> judge(const figure& f, const std::vector<figure>& all) {
  std::vector<verdict> verdicts;
  const workload* w = find_workload(f.workload);
  if (w == nullptr || f.values.empty()) return verdicts;
  for (const bound& b : w->bounds) {
    if (b.sub != f.sub || (b.procs != 0 && b.procs != f.procs)) continue;
    std::array<char, 40> value;
    std::snprintf(value.data(), value.size(), "%s %g ", b.which == bound::side::most ? "<=" : ">=", b.value);
    verdict v{value.data(), 0, !b.other.empty(), false, {}};
    std::optional<double> measured;
    if (b.other.empty()) {
      v.bound += b.unit;
      measured = convert(f.median(), f.unit, b.unit);
    } else {
      v.bound += "x " + b.other;
      const figure* other = find_figure(all, f.workload + "." + b.other, f.procs);
      if (other == nullptr) other = find_figure(all, b.other, f.procs);
      if (other == nullptr) {
        v.problem = b.other + " was not measured";
        verdicts.push_back(std::move(v));
        continue;
      }
      measured = ratio(f, *other);
    }
    if (measured) {
      v.value = *measured;
      v.met = b.which == bound::side::most ? v.value <= b.value : v.value >= b.value;
    } else {
      v.problem = "units do not match";
    }
    verdicts.push_back(std::move(v));
  }
  return verdicts;
}

}  // namespace leat::bench
