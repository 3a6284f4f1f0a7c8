// SPDX-License-Identifier: BSL-1.0
//
//   handler (any thread, at any time)     the pump (one G, while there are channels)
//    1 ++caught[n]                         a waits for the bell, reads it empty
//    2 rings the bell                      b takes each caught[n] and sends it to the channels that want it
//
// Forbidden: caught, and nobody told. A handler whose 1 comes after b rings after a, so that a finds the bell
// again.
//
// The set knows channels without holding them: a channel leaves it in its destructor, and the pump makes a
// handle of one that has still some. The last channel to leave rings the bell, and the pump ends when it
// finds none; a pump that is stopped, because the runtime ends, closes those that are left.
#include <leat/net/signals.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/net/descriptor.hpp>
#include <leat/net/real_io.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::net {
namespace {

constexpr int signal_limit = 65;  // Linux numbers them 1 to 64
constexpr std::size_t held = 16;
using signal_mask = std::bitset<signal_limit>;

// What the handler touches: there before it is installed, and for ever.
std::array<std::atomic<std::uint32_t>, signal_limit> caught{};
std::atomic<int> bell{-1};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void ring() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(bell.load(std::memory_order_relaxed), &one, sizeof one);
}

extern "C" void leat_on_signal(int number) {
  const int kept = errno;
  // Release: pairs with the exchange in the pump.
  caught[static_cast<std::size_t>(number)].fetch_add(1, std::memory_order_release);
  ring();
  errno = kept;
}

class signal_channel;

class signal_set {
 public:
  static signal_set& get() {
    static constinit sched::made_once<signal_set> set;
    return set.get([]() -> signal_set& { return *new signal_set; });
  }

  void add(signal_channel& c);
  void remove(signal_channel& c) noexcept;

 private:
  bool join(signal_channel& c, bool as_the_first);
  descriptor open_bell();
  void install_locked(const signal_mask& wanted) LEAT_REQUIRES(lock_);
  void restore_unused_locked() noexcept LEAT_REQUIRES(lock_);
  signal_mask wanted_locked() const noexcept LEAT_REQUIRES(lock_);
  void pump(descriptor& rung) noexcept;
  bool deliver();
  void end_pump() noexcept;

  ranked_mutex lock_{lock_rank::net, "signals"};
  std::vector<signal_channel*> channels_ LEAT_GUARDED_BY(lock_);
  signal_mask installed_ LEAT_GUARDED_BY(lock_);
  std::array<struct sigaction, signal_limit> former_ LEAT_GUARDED_BY(lock_){};
  bool pumping_ LEAT_GUARDED_BY(lock_) = false;
};

class signal_channel final : public csp::many_channel<int> {
 public:
  explicit signal_channel(const signal_mask& wanted)
      : many_channel(held, {.full = leat::full::drop_oldest, .name = "signals"}), wanted_(wanted) {}
  ~signal_channel() override { signal_set::get().remove(*this); }

  const signal_mask& wanted() const noexcept { return wanted_; }

 private:
  const signal_mask wanted_;
};

struct sigaction our_action() noexcept {
  struct sigaction a = {};
  a.sa_handler = leat_on_signal;
  a.sa_flags = SA_RESTART | SA_ONSTACK;  // a G's stack may have little room
  sigfillset(&a.sa_mask);
  return a;
}

signal_mask signal_set::wanted_locked() const noexcept {
  signal_mask all;
  for (const signal_channel* const c : channels_) all |= c->wanted();
  return all;
}

void signal_set::install_locked(const signal_mask& wanted) {
  for (int n = 1; n < signal_limit; ++n) {
    const auto i = static_cast<std::size_t>(n);
    if (!wanted[i] || installed_[i]) continue;
    caught[i].store(0, std::memory_order_relaxed);
    const struct sigaction ours = our_action();
    if (::sigaction(n, &ours, &former_[i]) != 0)  // glibc keeps two for itself
      throw std::invalid_argument("leat::signals: signal " + std::to_string(n) + " cannot be caught");
    installed_.set(i);
  }
  sched::note_signals();
}

void signal_set::restore_unused_locked() noexcept {
  const signal_mask unused = installed_ & ~wanted_locked();
  for (int n = 1; n < signal_limit; ++n) {
    const auto i = static_cast<std::size_t>(n);
    if (!unused[i]) continue;
    struct sigaction now = {};
    if (::sigaction(n, nullptr, &now) == 0 && now.sa_handler == leat_on_signal)
      ::sigaction(n, &former_[i], nullptr);
    installed_.reset(i);
  }
  sched::note_signals();
}

// The bell, and what it takes to wait for it, are had here: whoever asks for signals learns at once that
// there are too few descriptors.
void signal_set::add(signal_channel& c) {
  if (join(c, false)) return;
  descriptor rung = open_bell();
  if (join(c, true)) return;  // another one has started a pump meanwhile
  try {
    leat::go("signals", [this, d = std::move(rung)]() mutable { pump(d); });
  } catch (...) {
    lock_guard hold(lock_);
    pumping_ = false;
    throw;
  }
}

// True: there is a pump, and the channel is among those that it serves. False: there is none; with
// `as_the_first` the caller is to start one for the channel.
bool signal_set::join(signal_channel& c, bool as_the_first) {
  lock_guard hold(lock_);
  const bool pumped = pumping_;
  if (!pumped && !as_the_first) return false;
  channels_.push_back(&c);
  install_locked(c.wanted());
  pumping_ = true;
  return pumped;
}

// A copy of the bell, which outlives all pumps, since handlers may be about to ring it.
descriptor signal_set::open_bell() {
  const auto refused = [](int e) {
    return std::system_error(
        e, std::system_category(),
        "leat::signals cannot wait for signals; raise the limit on open files (LimitNOFILE= "
        "of systemd, `ulimit -n`) to 16 or more");
  };
  int copy = -1;
  {
    lock_guard hold(lock_);
    if (bell.load(std::memory_order_relaxed) < 0) {
      const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      if (fd < 0) throw refused(errno);
      bell.store(fd, std::memory_order_relaxed);
    }
    copy = ::fcntl(bell.load(std::memory_order_relaxed), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw refused(errno);
  }
  try {
    return descriptor(copy);  // with the poller, if it is the first
  } catch (const std::system_error& e) {
    throw refused(e.code().value());
  }
}

void signal_set::remove(signal_channel& c) noexcept {
  lock_guard hold(lock_);
  std::erase(channels_, &c);
  restore_unused_locked();
  if (channels_.empty() && pumping_) ring();
}

// False: nobody is left who listens, and the pump has ended.
bool signal_set::deliver() {
  std::array<std::uint32_t, signal_limit> came{};
  struct listener {
    csp::ref<csp::channel_base> channel;
    signal_mask wanted;
  };
  std::vector<listener> listeners;
  {
    lock_guard hold(lock_);
    if (channels_.empty()) {
      pumping_ = false;
      return false;
    }
    for (std::size_t i = 1; i < signal_limit; ++i) came[i] = caught[i].exchange(0, std::memory_order_acquire);
    listeners.reserve(channels_.size());
    for (signal_channel* const c : channels_)
      if (c->add_ref_unless_gone()) listeners.push_back({csp::ref<csp::channel_base>(c), c->wanted()});
  }
  for (const listener& l : listeners) {
    for (std::size_t i = 1; i < signal_limit; ++i) {
      if (!l.wanted[i]) continue;
      for (std::uint32_t k = 0; k < came[i] && k < held; ++k) {
        int number = static_cast<int>(i);
        (void)csp::send_value(l.channel.get(), number, csp::at_once);
      }
    }
  }
  return true;
}

void signal_set::end_pump() noexcept {
  std::vector<csp::ref<csp::channel_base>> left;
  {
    lock_guard hold(lock_);
    pumping_ = false;
    for (signal_channel* const c : channels_)
      if (c->add_ref_unless_gone()) left.emplace_back(c);
    channels_.clear();
    restore_unused_locked();
  }
  for (const auto& c : left) c->close();
}

void signal_set::pump(descriptor& rung) noexcept {
  try {
    while (deliver()) {
      std::uint64_t rings = 0;
      (void)rung.read_some({&rings, sizeof rings});
    }
  } catch (...) {
    end_pump();  // stopped; or out of memory, which whoever waits is told by the close
  }
}

signal_mask checked(std::initializer_list<int> numbers) {
  signal_mask m;
  for (const int n : numbers) {
    const char* why = nullptr;
    if (n < 1 || n >= signal_limit || n > SIGRTMAX) {
      why = "is not a signal";
    } else if (n == SIGKILL || n == SIGSTOP) {
      why = "cannot be caught";
    } else if (n == SIGSEGV || n == SIGBUS || n == SIGFPE || n == SIGILL) {
      why = "is a fault of the thread that gets it, which cannot go on after it";
    }
    if (why) throw std::invalid_argument("leat::signals: " + std::to_string(n) + " " + why);
    m.set(static_cast<std::size_t>(n));
  }
  return m;
}

}  // namespace
}  // namespace leat::net

leat::in<int> leat::signals(std::initializer_list<int> numbers) {
  net::require_real_io("leat::signals");
  auto* const c = new net::signal_channel(net::checked(numbers));
  leat::in<int> end{csp::ref<csp::channel_base>(c)};
  net::signal_set::get().add(*c);
  return end;
}
