// SPDX-License-Identifier: BSL-1.0
#include <sys/ioctl.h>
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <unordered_map>

#include <leat/base/log.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/semaphore.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/listener.hpp>
#include <leat/net/transport.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>

namespace leat::net {
namespace {

using namespace std::chrono_literals;
constexpr nanoseconds shortest_pause = 5ms, longest_pause = 1s;
constexpr nanoseconds look = 20ms;  // from one to the next for somebody who is idle, while nobody is
// Who has just come, or has just been answered, may be about to ask: it keeps its place for so long.
constexpr std::int64_t shortest_idle = 500'000'000;

// It will pass: the process or the system is out of something.
bool is_shortage(const std::error_code& ec) noexcept {
  return ec == std::errc::too_many_files_open || ec == std::errc::too_many_files_open_in_system ||
         ec == std::errc::no_buffer_space || ec == std::errc::not_enough_memory ||
         ec == std::errc::no_space_on_device;  // epoll's limit of watches
}

// What it asks is here already, though its G has not run since. The system is asked, not the stream, whose buffer
// is its own G's: who has something there is not idle.
bool has_unread(const stream& s) noexcept {
  if (const transport* const t = s.handle().simulated()) return t->has_unread();
  int bytes = 0;
  return ::ioctl(s.handle().fd(), FIONREAD, &bytes) == 0 && bytes > 0;
}

using handler_type = std::function<void(stream&, guest&)>;

// False: it threw, and its peer must not take what it got for all that was meant.
bool handle(const handler_type& handler, stream& peer, guest& who) {
  try {
    handler(peer, who);
    return true;
  } catch (const std::system_error& e) {
    log_debug("net", "a connection ended: {}", e.what());  // peers that vanish are no news
  } catch (const std::exception& e) {
    log_warning("net", "the handler of a connection from {} threw: {}", peer.peer().text(), e.what());
  } catch (const stopped&) {
  } catch (...) {
    log_warning("net", "the handler of a connection from {} threw something that is not a std::exception",
                peer.peer().text());
  }
  return false;
}

}  // namespace

// Who is there, for those that limit or evict. All under its lock, but for what a guest says of itself.
class guest_book {
 public:
  explicit guest_book(std::size_t per_address) : per_address_(per_address) {}

  // Made when the connection is accepted; ends before its guest and its stream do.
  class entry {
   public:
    entry() = default;
    ~entry() {
      if (book_) book_->leave(*this);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

   private:
    friend class guest_book;
    guest_book* book_ = nullptr;
    std::string origin_;
    guest* who_ = nullptr;  // once it is served
    stream* peer_ = nullptr;
  };

  // False: there are enough from there.
  bool admit(entry& e, const stream& peer) {
    e.origin_ = peer.peer().origin();
    const std::lock_guard hold(lock_);
    if (per_address_ > 0 && !e.origin_.empty() && here_[e.origin_] >= per_address_) return false;
    ++here_[e.origin_];
    e.book_ = this;
    all_.push_back(&e);
    return true;
  }
  void begin(entry& e, guest& who, stream& peer) {
    const std::lock_guard hold(lock_);
    e.who_ = &who;
    e.peer_ = &peer;
  }
  // Its handler sees the end of the stream, and gives its place back. False: nobody has been idle for long enough.
  bool evict_longest_idle() {
    const std::lock_guard hold(lock_);
    entry* longest = nullptr;
    std::int64_t since = now_ns() - shortest_idle;
    for (entry* const e : all_) {
      const std::int64_t at = e->who_ ? e->who_->since_.load(std::memory_order_relaxed) : guest::is_busy;
      if (at >= since || has_unread(*e->peer_)) continue;
      since = at;
      longest = e;
    }
    if (!longest) return false;
    longest->who_->busy();  // no more to be chosen
    longest->peer_->shutdown();
    return true;
  }

 private:
  void leave(entry& e) {
    const std::lock_guard hold(lock_);
    if (--here_[e.origin_] == 0) here_.erase(e.origin_);
    all_.remove(&e);
  }

  const std::size_t per_address_;
  mutex lock_;
  std::list<entry*> all_;
  std::unordered_map<std::string, std::size_t> here_;
};

void serve(listener& at, const std::function<void(stream&)>& handler, const serve_options& options) {
  serve(at, handler_type([&handler](stream& peer, guest&) { handler(peer); }), options);
}

void serve(listener& at, const handler_type& handler, const serve_options& options) {
  semaphore free_places(std::max<std::size_t>(options.limit, 1));
  const bool looks = options.per_address > 0 || options.evict_idle;
  guest_book book(options.per_address);
  task_group group;  // after what its members use
  nanoseconds pause = shortest_pause;
  bool told = false;
  // Whoever looks at each connection accepts it first, and then finds a place for it.
  for (;;) {
    bool placed = !looks;
    if (!looks && free_places.acquire() != acquire_status::acquired) return;
    std::error_code ec;
    stream peer = at.accept(ec);
    if (!ec) {
      pause = shortest_pause;
      try {
        std::unique_ptr<guest_book::entry> in_book;
        if (looks) {
          in_book = std::make_unique<guest_book::entry>();
          if (!book.admit(*in_book, peer)) {
            log_debug("net", "too many connections from {}: closed", peer.peer().text());
            continue;
          }
          // Those that are busy now may be idle in a moment, and stay so for long.
          bool looks_again = options.evict_idle;
          while (!placed && !free_places.try_acquire()) {
            if (looks_again) looks_again = !book.evict_longest_idle();
            const acquire_status s =
                free_places.acquire_until(looks_again ? deadline(look) : deadline::never());
            if (s == acquire_status::stopped) return;
            placed = s == acquire_status::acquired;
          }
          placed = true;
        }
        group.go(spawn_options{.name = options.name, .stack = options.stack},
                 [&handler, &free_places, &book, p = std::move(peer), e = std::move(in_book)]() mutable {
                   struct place {
                     semaphore& s;
                     ~place() { s.release(); }
                   } mine{free_places};
                   guest who;
                   if (e) book.begin(*e, who, p);
                   const bool well = handle(handler, p, who);
                   e.reset();  // nobody shuts it down any more
                   // Before its place is free: there are never more descriptors than places.
                   if (well)
                     p.close();
                   else
                     p = {};
                 });
        continue;
      } catch (const spawn_error&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
      } catch (const std::bad_alloc&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
      }
    }
    if (placed) free_places.release();
    if (!is_shortage(ec)) {
      if (ec != std::errc::operation_canceled) throw_error(ec, "leat::net::serve: accept");
      return;  // stopped, or the listener was shut down
    }
    if (!told)
      log_warning("net", "{}: cannot accept: {}; trying again more slowly", at.local().text(), ec.message());
    told = true;
    if (sleep_for(pause) != sleep_result::elapsed) return;
    pause = std::min(pause * 2, longest_pause);
  }
}

}  // namespace leat::net
