// SPDX-License-Identifier: BSL-1.0
#include <leat/services/simulate_verb.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include <leat/base/log.hpp>
#include <leat/base/log_output.hpp>
#include <leat/base/units.hpp>
#include <leat/config/render.hpp>
#include <leat/expression/expression.hpp>
#include <leat/process/outside.hpp>
#include <leat/sched/world.hpp>
#include <leat/services/simulation.hpp>
#include <leat/services/verb_output.hpp>

namespace leat::services {
namespace {

using namespace std::chrono_literals;

// Set by the first signal. The second one ends the program, as the system does it.
constinit std::atomic<bool> was_interrupted{false};

void note_interrupt(int) noexcept { was_interrupted.store(true, std::memory_order_relaxed); }

void take_signals() {
  struct sigaction a{};
  a.sa_handler = note_interrupt;
  a.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    (void)::sigaction(number, &a, &before);
    if (number == SIGHUP && before.sa_handler == SIG_IGN)
      (void)::sigaction(number, &before, nullptr);  // nohup
  }
}

// "13:31:41"
std::string hours_text(nanoseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).count();
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%lld:%02d:%02d", static_cast<long long>(seconds / 3600),
                      static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text.data();
}

// Says every second of real time, on a terminal, how far the world is. A plain thread: the world does not know of it.
class progress {
 public:
  progress(bool shown, nanoseconds of) : of_(of) {
    if (shown) thread_ = std::thread([this] { run(); });
  }
  ~progress() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard held(lock_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    (void)!::write(STDERR_FILENO, "\r\033[K", 4);
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void begin(std::uint64_t seed) noexcept { seed_.store(seed, std::memory_order_relaxed); }

 private:
  void run() {
    const std::int64_t real_start = real_now_ns();
    std::unique_lock held(lock_);
    while (!changed_.wait_for(held, 1s, [this] { return over_; })) {
      const std::int64_t t = leat::detail::world_time.load(std::memory_order_relaxed);
      const nanoseconds in_world(t == 0 ? 0 : t - sched::world::start);
      const double speed =
          static_cast<double>(in_world.count()) / static_cast<double>(real_now_ns() - real_start);
      const std::string line =
          "\r\033[Kseed " + std::to_string(seed_.load(std::memory_order_relaxed)) + ": " +
          hours_text(in_world) + " of " + hours_text(of_) +
          (speed > 0 ? ", " + std::to_string(static_cast<std::int64_t>(speed)) + " times as fast" : "") +
          '\r';
      (void)!::write(STDERR_FILENO, line.data(), line.size());
    }
  }

  const nanoseconds of_;
  std::atomic<std::uint64_t> seed_{0};
  std::mutex lock_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

// No line of the log while many seeds are tried.
class silence {
 public:
  explicit silence(bool on) noexcept : on_(on) {
    if (on_) set_log_sink([](void*, log_level, std::string_view, std::string_view) {}, nullptr);
  }
  ~silence() {
    if (on_) set_log_sink(nullptr, nullptr);
  }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;

 private:
  const bool on_;
};

// Before anything starts: who cannot be simulated.
void find_outsiders(const config::checked& r, config::diagnostics& found) {
  for (const config::process_plan& p : r.plan->processes) {
    const outside_use* const use = outside_use::of(p.type->name);
    if (!use) continue;
    const std::string name = r.plan->full_name(p);
    const bool said = std::find(r.stand_ins.begin(), r.stand_ins.end(), name) != r.stand_ins.end();
    if (use->what() == outside::files && said) continue;
    const std::string heading = "[simulate." + p.name + "]";
    std::string text = "process '" + p.name + "' cannot be simulated as it is: '" + p.type->name + "', " +
                       std::string(use->why()) + "; write " + heading + " with ";
    if (use->what() == outside::files)
      text += "use = \"" + p.type->name + "\" and a config for files of the simulation, or enabled = false";
    else
      text += "use = \"CLASS\", a class that stands in for it, or enabled = false";
    found.error("simulate", p.at, std::move(text));
  }
}

std::string read_whole_file(const std::string& path, std::string& error) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) error = "cannot read " + path;
  return text;
}

// What is compared with the state of the deployment; throws std::invalid_argument with what is wrong.
class condition {
 public:
  explicit condition(const std::string& text) : text_(text) {
    if (text.empty()) return;
    const auto made = expression::compile(text, {.wanted = expression::truth});
    if (!made.found.empty()) {
      const expression::wrong_part& w = made.found.front();
      throw std::invalid_argument("--until: " + w.why + "\n  " + text + "\n  " + std::string(w.offset, ' ') +
                                  std::string(std::max<std::size_t>(w.length, 1), '^'));
    }
    evaluator_ = std::make_unique<expression::evaluator>(made.result);
  }

  explicit operator bool() const noexcept { return evaluator_ != nullptr; }
  // A name that is not there would never be true.
  bool is_true(const record& state) {
    const bool yes = evaluator_->is_true(state, {.now = moment_now()});
    if (evaluator_->errors(expression::evaluation_error::missing) > 0)
      throw std::invalid_argument(
          "--until '" + text_ + "': " + evaluator_->first_of(expression::evaluation_error::missing) +
          "; there are elapsed, failures, restarts, overruns, process[\"SERVICE/NAME\"] and "
          "channel[\"SERVICE/NAME\"]");
    return yes;
  }

 private:
  const std::string text_;
  std::unique_ptr<expression::evaluator> evaluator_;
};

// What the end of one seed means.
struct verdict {
  bool bad = false;
  std::string why = {};
};

verdict verdict_of(const simulation_outcome& o, const fault_script& script) {
  verdict v;
  const auto also = [&v](const std::string& text) {
    v.bad = true;
    v.why.append(v.why.empty() ? "" : "; ").append(text);
  };
  if (exit_code(o.ledger) != 0)
    also(o.ledger.failed ? "a process failed for good" : "values were lost that were to be kept");
  if (o.interrupted || o.true_at) return v;  // it did not come to all faults
  for (std::size_t i = 0; i < o.faults.size(); ++i)
    if (o.faults[i].made == 0)
      also("fault " + std::to_string(i + 1) + " (" + script.faults[i].where + ", " +
           to_string(script.faults[i].what) + " in '" + script.faults[i].process + "') was never made");
  return v;
}

class simulate_command {
 public:
  simulate_command(const command& c, const config::plan& plan, const fault_script& script)
      : command_(c), plan_(plan), script_(script), until_(c.until) {}

  int run() {
    const bool several = command_.last_seed > command_.seed;
    progress shown(!command_.quiet && colour_on(STDERR_FILENO), command_.time);
    for (std::uint64_t seed = command_.seed;; ++seed) {
      shown.begin(seed);
      const simulation_outcome o = one(seed, several);
      const verdict v = verdict_of(o, script_);
      if (o.interrupted && several) {
        complain("leat: interrupted at seed " + std::to_string(seed) + "\n");
        return failed;
      }
      const bool wanted = until_ ? o.true_at.has_value() : v.bad;
      if (several && !wanted && seed < command_.last_seed) continue;
      if (several && !wanted) {
        print("none of the seeds " + std::to_string(command_.seed) + ".." +
              std::to_string(command_.last_seed) +
              (until_ ? ": the condition was never true\n" : " fails\n"));
        return until_ ? failed : all_is_well;
      }
      return tell(several ? one(seed, false) : o, seed, several);
    }
  }

 private:
  simulation_outcome one(std::uint64_t seed, bool silent) {
    const silence quiet(silent);
    simulation_options o;
    o.seed = seed;
    o.time = command_.time;
    o.faults = script_.faults.empty() ? nullptr : &script_;
    o.interrupted = &was_interrupted;
    if (until_) o.until = [this](const record& state) { return until_.is_true(state); };
    return simulate(plan_, o);
  }

  int tell(const simulation_outcome& o, std::uint64_t seed, bool found) {
    flush_stdout();
    const verdict v = verdict_of(o, script_);
    std::string text = command_.quiet ? "" : to_text(o.ledger, plan_) + to_text(o, plan_);
    text += "simulated " + format_duration(o.elapsed) + " with seed " + std::to_string(seed) + ", " +
            std::to_string(o.switches) + " switches";
    if (o.true_at) text += "; the condition is true after " + format_duration(*o.true_at);
    if (until_ && !o.true_at && !o.interrupted) text += "; the condition was never true";
    if (o.interrupted) text += "; interrupted";
    if (v.bad) text += "; " + v.why;
    text += '\n';
    if (found) text += "this seed again: --seed " + std::to_string(seed) + '\n';
    print(text);
    return v.bad || (until_ && !o.true_at) ? failed : all_is_well;
  }

  const command& command_;
  const config::plan& plan_;
  const fault_script& script_;
  condition until_;
};

}  // namespace

int simulate_services(const command& c, config::checked r) {
  if (!r.plan) return bad_configuration;
  config::diagnostics found;
  find_outsiders(r, found);
  fault_script script;
  if (!c.faults.empty()) {
    std::string error;
    std::string text = read_whole_file(c.faults, error);
    if (!error.empty()) {
      complain("leat: " + error + "\n");
      return bad_usage;
    }
    script = read_faults(c.faults, std::move(text), *r.plan, r.sources, found);
  }
  if (!found.all().empty()) {
    found.tell_uses(r.sources);
    found.sort();
    complain(config::render(found, r.sources, colour_on(STDERR_FILENO)));
    return bad_configuration;
  }
  // Neither is of the world.
  (void)::unsetenv("NOTIFY_SOCKET");
  (void)::unsetenv("WATCHDOG_USEC");
  std::signal(SIGPIPE, SIG_IGN);
  take_signals();
  try {
    const config::plan plan = simulated_plan(*r.plan);
    return simulate_command(c, plan, script).run();
  } catch (const std::invalid_argument& e) {
    complain(std::string("leat: ") + e.what() + "\n");
    return bad_usage;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    complain(std::string("leat: ") + e.what() + "\n");
    return failed;
  }
}

}  // namespace leat::services
