// SPDX-License-Identifier: BSL-1.0
#include <leat/process/incarnation.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/m.hpp>

namespace leat {
namespace {

std::string text_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return *x.what() ? x.what() : "an exception without a text";
  } catch (...) {
    return "an exception that is not a std::exception";
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
  const sched::M* const m = sched::current_m();
  sched::G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  auto insisted = sched::stop_level::insisted;
  if (g) (void)g->stop.compare_exchange_strong(insisted, sched::stop_level::asked, std::memory_order_relaxed);
}

}  // namespace

class incarnation::runner {
 public:
  runner(std::size_t child, unsigned number, std::unique_ptr<process> object, channel<incarnation_news> to)
      : child_(child), number_(number), object_(std::move(object)), to_(std::move(to)) {}
  runner(runner&&) noexcept = default;
  runner& operator=(runner&&) = delete;
  // A G that cannot be given its thread or its stack drops what it was to run.
  ~runner() {
    if (object_) tell(incarnation_news::kind::failed, "it could not be started");
  }

  void operator()() {
    auto how = incarnation_news::kind::returned;
    std::string why;
    try {
      object_->run();
    } catch (const stopped&) {
    } catch (...) {
      how = incarnation_news::kind::failed;
      why = text_of(std::current_exception());
    }
    let_it_clean_up();
    object_.reset();
    tell(how, std::move(why));
  }

 private:
  void tell(incarnation_news::kind how, std::string why) {
    incarnation_news n;
    n.child = child_;
    n.number = number_;
    n.what = how;
    n.why = std::move(why);
    (void)to_.try_send(std::move(n));
  }

  std::size_t child_;
  unsigned number_;
  std::unique_ptr<process> object_;
  channel<incarnation_news> to_;
};

incarnation::incarnation(const options& o, channel<incarnation_news> to)
    : overrun_guard(o.hang, o.grace), child_(o.child), number_(o.number), to_(std::move(to)) {}

std::shared_ptr<incarnation> incarnation::start(const options& o, std::unique_ptr<process> object,
                                                const channel<incarnation_news>& to) {
  auto made = std::make_shared<incarnation>(o, to);
  launch(made, o, std::move(object));
  return made;
}

void incarnation::launch(const std::shared_ptr<incarnation>& made, const options& o,
                         std::unique_ptr<process> object) {
  spawn_options s = o.spawn;
  s.stop = made->stop_;
  s.guard = made;
  try {
    go(s, runner(o.child, o.number, std::move(object), made->to_));
  } catch (const std::exception& e) {
    // The runner has told.
    log_error("process", "'{}': {}", s.name, e.what());
  }
}

std::span<void* const> incarnation::trace(overrun_step s) const noexcept {
  const frames& f = traces_[slot(s)];
  return {f.pc.data(), f.count};
}

// Allocates nothing: the G may have been left in the middle of an allocation.
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
  (void)to_.try_send(std::move(n));
}

}  // namespace leat
