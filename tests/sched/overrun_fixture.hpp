// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/overrun.hpp>

namespace leat::sched::test {

// Notes what it is told.
class noting_guard : public overrun_guard {
 public:
  struct entry {
    overrun_step step;
    std::uint64_t g;
    nanoseconds ran;
    std::int64_t at;
    std::vector<void*> trace;
    const char* call;
    bool last_thread;
  };

  using overrun_guard::overrun_guard;

  void overran(const overrun_news& news) noexcept override {
    std::lock_guard hold(lock_);
    entries_.push_back({news.step, news.g, news.ran, now_ns(),
                        std::vector<void*>(news.trace.begin(), news.trace.end()), news.call ? news.call : "",
                        news.last_thread});
  }

  std::vector<entry> entries() const {
    std::lock_guard hold(lock_);
    return entries_;
  }
  std::vector<overrun_step> steps() const {
    std::vector<overrun_step> all;
    for (const entry& e : entries()) all.push_back(e.step);
    return all;
  }
  bool was(overrun_step step) const {
    for (const entry& e : entries())
      if (e.step == step) return true;
    return false;
  }
  bool is_over() const { return was(overrun_step::quarantined); }

 private:
  mutable std::mutex lock_;
  std::vector<entry> entries_;
};

inline std::shared_ptr<noting_guard> guard_of(nanoseconds hang, nanoseconds grace) {
  return std::make_shared<noting_guard>(hang, grace);
}

}  // namespace leat::sched::test
