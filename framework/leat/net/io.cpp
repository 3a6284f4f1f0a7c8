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
#include <cstddef>
#include <exception>
#include <new>

#include <leat/base/log.hpp>
#include <leat/net/poller.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/interrupt.hpp>

namespace leat::net {
namespace {

// Memory for one operation at a time: Asio's own cache is not there outside of its run functions, and an M
// begins to wait for the set whenever it goes idle.
struct room {
  bool taken = false;
  alignas(std::max_align_t) std::byte bytes[256];
};
template <class T>
struct room_allocator {
  using value_type = T;
  explicit room_allocator(room& r) noexcept : in(&r) {}
  template <class U>
  room_allocator(const room_allocator<U>& other) noexcept : in(other.in) {}
  T* allocate(std::size_t n) {
    if (in->taken || n * sizeof(T) > sizeof in->bytes) return static_cast<T*>(::operator new(n * sizeof(T)));
    in->taken = true;
    return reinterpret_cast<T*>(in->bytes);
  }
  void deallocate(T* p, std::size_t) noexcept {
    if (static_cast<void*>(p) != in->bytes) return ::operator delete(p);
    in->taken = false;
  }
  template <class U>
  bool operator==(const room_allocator<U>& other) const noexcept {
    return in == other.in;
  }
  room* in;
};

class asio_loop final : public callback_loop {
 public:
  asio_loop() : work_(io.get_executor()), set_(io, poller::get().set()) { poller::get().use(*this); }

  void poll() noexcept override {
    if (inside_.exchange(true, std::memory_order_acquire)) return;
    run([this] { io.poll(); });
    inside_.store(false, std::memory_order_release);
  }

  bool wait() noexcept override {
    for (int turns = 0; inside_.exchange(true, std::memory_order_acquire); ++turns) {
      if (turns == most_turns) return false;
      sched::back_off(turns);
    }
    run([this] {
      if (!set_awaited_) {
        set_awaited_ = true;
        set_.async_wait(asio::posix::stream_descriptor::wait_read, set_ready(*this));
      }
      if (io.run_one() > 0) io.poll();
    });
    inside_.store(false, std::memory_order_release);
    return true;
  }

  asio::io_context io;

 private:
  // Called and destroyed by whoever is inside, as everything that it touches.
  struct set_ready {
    using allocator_type = room_allocator<char>;
    explicit set_ready(asio_loop& l) noexcept : loop(&l) {}
    allocator_type get_allocator() const noexcept { return allocator_type(loop->room_); }
    void operator()(const asio::error_code&) const noexcept { loop->set_awaited_ = false; }
    asio_loop* loop;
  };

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

  static constexpr int most_turns = 300;  // some milliseconds: who polls is soon out again

  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor set_;
  room room_;                        // this, too
  bool set_awaited_ = false;         // by whoever is inside
  std::atomic<bool> inside_{false};  // release of one pairs with acquire of the next
};

}  // namespace
}  // namespace leat::net

namespace leat {

asio::io_context& io() {
  static constinit sched::made_once<net::asio_loop> loop;
  return loop.get([]() -> net::asio_loop& { return *new net::asio_loop; }).io;
}

}  // namespace leat
