// SPDX-License-Identifier: BSL-1.0
//
// One thread at a time is inside the io_context: an M that blocks in it, or one that polls and found nobody
// there. Asio would allow more, but then a composed operation's step, on one thread, could race with its
// cancellation on another; operation.cpp relies on it that handlers exclude one another.
//
// The M that blocks does so in run_one, with the poller's set inside Asio's own epoll. Whoever posts
// something wakes it: Asio sees to that.
#include <leat/net/io.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <atomic>
#include <exception>

#include <leat/base/log.hpp>
#include <leat/net/poller.hpp>
#include <leat/sched/interrupt.hpp>

namespace leat::net {
namespace {

class asio_loop final : public callback_loop {
 public:
  asio_loop() : work_(io.get_executor()), set_(io, poller::get().set()) { poller::get().use(*this); }

  void poll() noexcept override {
    if (inside_.exchange(true, std::memory_order_acquire)) return;
    run([this] { io.poll(); });
    inside_.store(false, std::memory_order_release);
  }

  void wait() noexcept override {
    for (int turns = 0; inside_.exchange(true, std::memory_order_acquire); ++turns) sched::back_off(turns);
    run([this] {
      if (!set_awaited_) {
        set_awaited_ = true;
        set_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this](const asio::error_code&) { set_awaited_ = false; });
      }
      if (io.run_one() > 0) io.poll();
    });
    inside_.store(false, std::memory_order_release);
  }

  asio::io_context io;

 private:
  template <class F>
  void run(F f) noexcept {
    if (io.stopped()) io.restart();  // somebody called stop(), which would make every wait return at once
    try {
      f();
    } catch (const std::exception& e) {
      log_error("net", "a handler in leat::io() threw: {}", e.what());
    } catch (...) {
      log_error("net", "a handler in leat::io() threw something that is not a std::exception");
    }
  }

  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor set_;
  bool set_awaited_ = false;         // by whoever is inside
  std::atomic<bool> inside_{false};  // release of one pairs with acquire of the next
};

}  // namespace
}  // namespace leat::net

namespace leat {

asio::io_context& io() {
  static auto& loop = *new net::asio_loop;
  return loop.io;
}

}  // namespace leat
