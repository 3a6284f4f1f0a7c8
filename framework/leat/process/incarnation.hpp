// SPDX-License-Identifier: BSL-1.0
//
// One run of a process on a G of its own, and what its supervisor is told of it.
//
// It may outlive its supervisor: a G that never ends keeps its object, which is destroyed on that G or not at
// all, and the channel that it tells its end to. All that is told goes through one channel with room for all
// of it (incarnation::most_news for each child at a time), so that nobody who tells ever waits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <leat/csp/channel.hpp>
#include <leat/process/process.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

namespace leat {

struct incarnation_news {
  enum class kind : std::uint8_t {
    returned,  // also by leat::stopped
    failed,    // it threw, or could not be started
    overran,   // a step of the escalation
  };
  std::size_t child = 0;
  unsigned number = 0;  // which incarnation of it
  kind what = kind::returned;
  overrun_step step = overrun_step::asked;
  nanoseconds ran{0};
  std::string why = {};  // failed
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
  static constexpr std::size_t most_news = 4;  // asked, insisted, how that ended; its end
  static constexpr std::size_t most_frames = 24;

  // On a G. What goes wrong is told like any other end. `to` has room.
  static std::shared_ptr<incarnation> start(const options& o, std::unique_ptr<process> object,
                                            const channel<incarnation_news>& to);
  // The same in two steps, for who must know it before it runs.
  static void launch(const std::shared_ptr<incarnation>& made, const options& o,
                     std::unique_ptr<process> object);

  incarnation(const options& o, channel<incarnation_news> to);

  void request_stop() noexcept { stop_.request_stop(); }
  void insist() noexcept { stop_.insist(); }
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
  const unsigned number_;
  stop_source stop_;
  const channel<incarnation_news> to_;
  std::array<frames, 3> traces_;
};

// A process that is a function.
std::unique_ptr<process> make_process(std::function<void()> body);

}  // namespace leat
