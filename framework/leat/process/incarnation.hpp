// SPDX-License-Identifier: BSL-1.0
//
// One run of a process on a G of its own, and what its supervisor is told of it.
//
// It may outlive its supervisor: a G that never ends keeps its object, which is destroyed on that G or not at
// all, and the channel that it tells its end to. All that is reported goes through one channel with room for all
// of it (incarnation::most_news for each child at a time), so that nobody who tells ever waits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <leat/csp/channel.hpp>
#include <leat/process/process.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

namespace leat {

class incarnation;

// What the next incarnation of a child will need, made by this one (incarnation::maker).
struct successor {
  virtual ~successor() = default;
};

struct incarnation_news {
  enum class kind : std::uint8_t {
    returned,  // also by leat::stopped
    failed,    // it threw, or could not be started
    overran,   // a step of the escalation
    prepared,  // its successor
  };
  std::size_t child = 0;
  unsigned number = 0;  // which incarnation of it
  kind what = kind::returned;
  overrun_step step = overrun_step::asked;
  nanoseconds ran{0};
  const char* call = nullptr;            // asked, insisted: the system call that it waits in
  const char* behind = nullptr;          // left_alone: who holds the mutex that it waits for
  bool last_thread = false;              // quarantined: no further thread can be had
  std::string why = {};                  // failed
  std::shared_ptr<successor> next = {};  // prepared
};

class incarnation final : public overrun_guard {
 public:
  struct options {
    std::size_t child = 0;
    unsigned number = 1;
    spawn_options spawn = {};  // its stop and guard are made here
    nanoseconds hang = std::chrono::seconds(2);
    nanoseconds grace = std::chrono::milliseconds(200);
  };
  // Prepared, asked, insisted, left alone, quarantined; its end.
  static constexpr std::size_t most_news = 6;
  static constexpr std::size_t most_frames = 24;

  // Makes the object. On the new G, so that a constructor that hangs is one more way to hang.
  using factory = std::function<std::unique_ptr<process>()>;
  class maker {
   public:
    virtual ~maker() = default;
    virtual std::unique_ptr<process> make() = 0;
  };

  // On a G. What goes wrong, the constructor included, is reported like any other end. `to` has room.
  static std::shared_ptr<incarnation> start(const options& o, factory make,
                                            const channel<incarnation_news>& to);
  // The same in two steps: all that needs the heap, and the start of it.
  incarnation(const options& o, channel<incarnation_news> to);
  static void launch(const std::shared_ptr<incarnation>& made, unsigned number, const spawn_options& spawn,
                     std::shared_ptr<maker> make) noexcept;

  void request_stop() noexcept { stop_.request_stop(); }
  void insist() noexcept { stop_.insist(); }
  // One that goes on all the same: overrun_guard::want_out puts it behind a fence, and `quarantined` is reported.

  // Tells its G from others (csp::waiting_g).
  const void* stop_state() const noexcept { return stop_.state().get(); }
  bool stop_requested() const noexcept { return stop_.stop_requested(); }

  // Where it stood; after the news of that step.
  std::span<void* const> trace(overrun_step s) const noexcept;

  void overran(const overrun_news& news) noexcept override;

 private:
  class runner;
  // A slot for each step, since the next step may be noted while somebody reads the last.
  struct frames {
    std::size_t count = 0;
    std::array<void*, most_frames> pc;
  };
  static std::size_t slot(overrun_step s) noexcept {
    return s == overrun_step::asked ? 0 : s == overrun_step::insisted ? 1 : 2;
  }

  const std::size_t child_;
  unsigned number_;              // until it is started nobody asks
  std::shared_ptr<maker> make_;  // from its start until it runs
  stop_source stop_;
  const channel<incarnation_news> to_;
  std::array<frames, 3> traces_;
};

// A process that is a function.
std::unique_ptr<process> make_process(std::function<void()> body);

}  // namespace leat
