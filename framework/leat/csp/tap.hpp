// SPDX-License-Identifier: BSL-1.0
//
// A tap: shows what is sent through a channel to whoever looks, while it runs.
//
// A channel that nobody looks into pays nothing: its senders read, as ever, which kind they may inline
// (channel_base::inlined_as). While somebody looks, that says `no`, and every sender takes the way through
// the interface, where it passes here. A tap is made at the first look and stays with its channel.
//
//   who looks                                     a sender
//    1 sets the channel's tap, if it has none      a inlined_as names its kind: the quick way, nobody looks
//    2 adds its view                               b else it takes a reference to the tap, writes the value
//    3 inlined_as = no                               down as text, if any view has room for it
//    4 receives from its view                      c sends
//    5 removes its view; the last one:             d it was sent: gives the text to each view that has room,
//      inlined_as = the kind                         and counts it at the others
//
// - The value is gone after c, so b comes before it; what was not sent is not shown.
// - The channel may be gone after c (whoever it was sent to may have dropped it), and the tap with it: hence
//   the reference.
// - A view never makes a sender wait. It has room for so many values and so many bytes; what finds none is
//   counted there, so that shown + not shown = passed, exactly.
// - Under the tap's lock nobody enters the runtime: a G that is fenced would end there and leave it locked, one
//   that gives way would unlock it on another thread. So a view keeps its values itself, and its bell, by which
//   who looks is woken, is rung when the lock has been dropped.
// - Who was inside the quick way at 3 is not seen: its value counts as sent before the look. So are sends by
//   a select case that was made before, and by a select through an end that is itself looked at (gate.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/csp/channel.hpp>

namespace leat::csp {

struct tapped {
  std::uint64_t sequence = 0;  // of the values sent while anybody looked at this channel
  std::string text = {};
};

// What one who looks gets. Removes itself.
class tap_view {
 public:
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;      // of all texts that wait
  static constexpr std::size_t longest_text = std::size_t{256} << 10;  // longer ones are not shown
  struct counts {
    std::uint64_t passed = 0, shown = 0;  // shown: there, or taken
    std::uint64_t not_shown() const noexcept { return passed - shown; }
  };

  ~tap_view();
  tap_view(const tap_view&) = delete;
  tap_view& operator=(const tap_view&) = delete;

  // Receives when there may be values.
  const channel<char>& bell() const noexcept { return its_->bell; }
  // The next value, if there is one.
  bool take(tapped& to);
  counts count() const;

 private:
  friend class tap;
  // Also held by a sender that is about to ring.
  struct state {
    state(std::size_t room, double most_per_second);
    const channel<char> bell{1};
    const double per_ns;  // 0: no limit
    // Under the tap's lock.
    std::vector<tapped> ring;  // of fixed size
    std::size_t first = 0, held = 0, bytes = 0;
    double allowance = 1;     // values that it may get now
    std::int64_t filled = 0;  // when that was true
    counts counted;
  };
  tap_view(ref<channel_base> of, csp::tap& t, std::shared_ptr<state> its)
      : of_(std::move(of)), tap_(t), its_(std::move(its)) {}

  const ref<channel_base> of_;
  csp::tap& tap_;
  const std::shared_ptr<state> its_;
};

class tap {
 public:
  // Writes a value of the channel's type as text.
  using writer = void (*)(const void* value, std::string& to);
  static constexpr std::size_t most_views = 16;  // of a channel

  // A view of a channel that has a name; null: it has none, or too many views. Room for at least one value.
  static std::unique_ptr<tap_view> look(const ref<channel_base>& c, writer write, std::size_t room,
                                        double most_per_second = 0);

  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void drop_ref() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  bool is_used() const noexcept { return used_.load(std::memory_order_relaxed); }
  // Step b. False: nobody has room for it.
  bool write(const void* value, std::string& to) noexcept;
  // Step d. Empty: there is no text of it.
  void passed(std::string text) noexcept;

 private:
  friend class tap_view;
  explicit tap(writer w) noexcept : write_(w) { views_.reserve(most_views); }
  static tap& of(channel_base& c, writer write);
  static bool has_room(tap_view::state& v, std::int64_t now) noexcept;

  std::atomic<std::uint32_t> refs_{1};  // the channel's
  std::atomic<bool> used_{false};
  const writer write_;
  mutable ranked_mutex lock_{lock_rank::user, "tap"};
  std::vector<std::shared_ptr<tap_view::state>> views_ LEAT_GUARDED_BY(lock_);  // never grows
  std::uint64_t sequence_ LEAT_GUARDED_BY(lock_) = 0;
};

}  // namespace leat::csp
