// SPDX-License-Identifier: BSL-1.0
#include <leat/process/incarnation.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/world.hpp>

namespace leat {
namespace {

// Who waits for news gets them also where memory is short: a text that needs none takes the place of one that does.
std::string text_or_less(const char* text) noexcept {
  try {
    return text;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

std::string text_of(const std::exception_ptr& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return text_or_less(*x.what() ? x.what() : "an exception without a text");
  } catch (...) {
    return text_or_less("an exception that is not a std::exception");
  }
}

class closure final : public process {
 public:
  explicit closure(std::function<void()> body) : body_(std::move(body)) {}
  void run() override { body_(); }

 private:
  std::function<void()> body_;
};

}  // namespace

std::unique_ptr<process> make_process(std::function<void()> body) {
  return std::make_unique<closure>(std::move(body));
}

namespace {

// Destructors of the object may call into the runtime: what throws there ends the program.
void let_it_clean_up() noexcept {
  sched::G* const g = sched::current_g();
  auto insisted = sched::stop_level::insisted;
  if (g) (void)g->stop.compare_exchange_strong(insisted, sched::stop_level::asked, std::memory_order_relaxed);
}

}  // namespace

class incarnation::runner {
 public:
  explicit runner(std::shared_ptr<incarnation> run) noexcept : run_(std::move(run)) {}
  runner(runner&&) noexcept = default;
  runner& operator=(runner&&) = delete;
  // A G that cannot be given its thread or its stack drops what it was to run.
  ~runner() {
    if (run_ && std::exchange(run_->make_, nullptr))
      tell(incarnation_news::kind::failed, text_or_less("it could not be started"));
  }

  void operator()() {
    auto how = incarnation_news::kind::returned;
    std::string why;
    std::unique_ptr<process> object;
    try {
      object = std::exchange(run_->make_, nullptr)->make();
      object->run();
    } catch (const stopped&) {
    } catch (...) {
      how = incarnation_news::kind::failed;
      why = text_of(std::current_exception());
    }
    // One that was quarantined meanwhile has a successor: nothing of it is destroyed any more.
    sched::pass_gate();
    let_it_clean_up();
    object.reset();
    tell(how, std::move(why));
  }

 private:
  void tell(incarnation_news::kind how, std::string why) noexcept {
    incarnation_news n;
    n.child = run_->child_;
    n.number = run_->number_;
    n.what = how;
    n.why = std::move(why);
    (void)run_->to_.try_send(std::move(n));
  }

  std::shared_ptr<incarnation> run_;
};

incarnation::incarnation(const options& o, channel<incarnation_news> to)
    : overrun_guard(o.hang, o.grace), child_(o.child), number_(o.number), to_(std::move(to)) {
  make_ready();
}

namespace {

class maker_by_function final : public incarnation::maker {
 public:
  explicit maker_by_function(incarnation::factory f) : make_(std::move(f)) {}
  std::unique_ptr<process> make() override { return make_(); }

 private:
  incarnation::factory make_;
};

}  // namespace

namespace {

const char* cause_of(sched::unsettled why) noexcept {
  switch (why) {
    case sched::unsettled::own_allocator:
      return "this program brings its own malloc, so nobody knows which threads are inside the allocator";
    case sched::unsettled::static_c_library:
      return "the C library is linked into this program, so nobody knows which threads are inside the "
             "allocator";
    case sched::unsettled::static_cxx_library:
      return "the C++ library is linked into this program, so nobody knows which threads hold its locks";
    case sched::unsettled::none: break;
  }
  return "";
}

// Once per program. Not in a simulated world: nobody is fenced there, and each run must log the same.
void tell_if_unsettled() noexcept {
  static std::atomic<bool> told{false};
  if (told.load(std::memory_order_relaxed) || sched::world::here()) return;
  const sched::unsettled why = sched::why_unsettled();
  if (told.exchange(true, std::memory_order_relaxed) || why == sched::unsettled::none) return;
  log_warning(
      "process",
      "{}: a process that hangs is replaced, but its thread is never stopped and runs on behind a fence",
      cause_of(why));
}

}  // namespace

std::shared_ptr<incarnation> incarnation::start(const options& o, factory make,
                                                const channel<incarnation_news>& to) {
  auto made = std::make_shared<incarnation>(o, to);
  launch(made, o.number, o.spawn, std::make_shared<maker_by_function>(std::move(make)));
  return made;
}

void incarnation::launch(const std::shared_ptr<incarnation>& made, unsigned number,
                         const spawn_options& spawn, std::shared_ptr<maker> make) noexcept {
  made->number_ = number;
  made->make_ = std::move(make);
  if (made->hang() > nanoseconds::zero()) tell_if_unsettled();
  spawn_options s = spawn;
  s.stop = made->stop_;
  s.guard = made;
  try {
    go(s, runner(made));
  } catch (const std::exception& e) {
    // The runner has told.
    log_error("process", "'{}': {}", s.name, e.what());
  }
}

std::span<void* const> incarnation::trace(overrun_step s) const noexcept {
  const frames& f = traces_[slot(s)];
  return {f.pc.data(), f.count};
}

// On sysmon's thread: allocates nothing.
void incarnation::overran(const overrun_news& news) noexcept {
  frames& f = traces_[slot(news.step)];
  f.count = std::min(news.trace.size(), most_frames);
  std::copy_n(news.trace.begin(), f.count, f.pc.begin());
  incarnation_news n;
  n.child = child_;
  n.number = number_;
  n.what = incarnation_news::kind::overran;
  n.step = news.step;
  n.ran = news.ran;
  n.call = news.call;
  n.behind = news.behind;
  n.last_thread = news.last_thread;
  (void)to_.try_send(std::move(n));
}

}  // namespace leat
