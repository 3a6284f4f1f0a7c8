// SPDX-License-Identifier: BSL-1.0
//
// Looks at a running deployment from outside of it: takes the views that the control door tells, finds out
// who holds up whom, and says so in the log. It runs on a G of its own, beside the host, and asks nobody: the
// channels count by themselves, the host writes its board, the scheduler shows its Gs.
//
//   each 600 ms         counters, for rates; whether a queue is full or drops
//   ten times a second  while one does: what every replica does, for blame (control/blame.hpp)
//   while somebody      who uses the CPU; how late this G itself runs, ten times a second
//   looks
// So a deployment at rest pays for some hundred loads a second.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/control/blame.hpp>
#include <leat/control/deployment.hpp>
#include <leat/control/view.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/sched/sight.hpp>
#include <leat/services/board.hpp>
#include <leat/services/cpu_meter.hpp>
#include <leat/services/drop_report.hpp>
#include <leat/services/restart_watch.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

// For the sources of observer alone.
namespace observing {
// How long after a look the CPU is still watched.
inline constexpr std::int64_t second = 1'000'000'000;
inline constexpr nanoseconds cpu_watch = std::chrono::seconds(3);
inline double seconds(std::int64_t ns) { return static_cast<double>(ns > 0 ? ns : 0) / 1e9; }
// Of a counter. Figures that are read while others write may fall by a little.
inline double growth(std::uint64_t then, std::uint64_t now) {
  return now > then ? static_cast<double>(now - then) : 0;
}
// "10.0.0.7:443" of "10.0.0.2:5123 <- 10.0.0.7:443".
std::string peer_alone(std::string both);
}  // namespace observing

struct deployment_identity {
  std::string name;
  std::vector<control::file_view> files = {};
};

class observer {
 public:
  // `names`: of the replicas, "climate/filter/1", in the board's order. All references outlive it.
  observer(const config::plan& plan, const wiring& wires, const board& rows, deployment_identity who,
           std::vector<config::index> process_of, std::vector<std::string> names);

  // On a G of its own, until it is asked to stop.
  void run();
  // Any G. May wait for the observer's own look.
  control::deployment_view look();
  control::deployment::health_view health() const;
  // The frames of a replica that waits, innermost first.
  std::vector<std::string> trace(std::size_t replica) const;
  const std::vector<std::string>& names() const noexcept { return names_; }

  void count_injected(config::index channel) noexcept {
    injected_[channel].fetch_add(1, std::memory_order_relaxed);
  }
  // By channel.
  std::vector<std::uint64_t> injected() const { return {injected_.begin(), injected_.end()}; }

  // While one lives, the calling G sends for somebody at the door: that it waits is no process's doing.
  class sends_for_door {
   public:
    explicit sends_for_door(observer& o) noexcept;
    ~sends_for_door() {
      if (place_) place_->store(0, std::memory_order_relaxed);
    }
    sends_for_door(const sends_for_door&) = delete;
    sends_for_door& operator=(const sends_for_door&) = delete;

   private:
    std::atomic<std::uint64_t>* place_ = nullptr;
  };

 private:
  // A channel, or the share of a reader: as wiring::accounts has them.
  struct queue {
    config::index channel = 0;
    std::size_t share = 0;  // if it has shares
    bool is_share = false;
  };
  struct counters {
    std::int64_t at = 0;
    std::vector<channel_account> accounts;
  };
  // What was counted at the last looks, for rates.
  class looks {
   public:
    void add(counters now);
    const counters& last() const noexcept { return last_; }
    // The oldest that there is; null: none yet. Its accounts are as many as the last one's.
    const counters* before() const noexcept { return earlier_.empty() ? nullptr : &earlier_.front(); }

   private:
    std::deque<counters> earlier_;
    counters last_;
  };
  // Said to systemd when it changes.
  struct service_status {
    std::int64_t next_look = 0;
    std::string said = {};
  };
  struct program {
    deployment_identity who;
    std::int64_t begun;
    std::string begun_utc;
  };
  struct waits {
    std::vector<control::queue_index> receives = {}, sends = {};
    std::int64_t since = 0;
  };
  using waits_by_g = std::unordered_map<std::uint64_t, waits>;
  // All Gs, to be found by their ids: there may be thousands of replicas.
  class sights {
   public:
    sights() : all_(sched::look_at_gs()) {
      at_.reserve(all_.size());
      for (const sched::g_sight& g : all_) at_.emplace(g.g, &g);
    }
    sights(const sights&) = delete;
    sights& operator=(const sights&) = delete;
    // Null: there is no such G (any more).
    const sched::g_sight* find(std::uint64_t g) const noexcept {
      const auto at = at_.find(g);
      return at == at_.end() ? nullptr : at->second;
    }

   private:
    const std::vector<sched::g_sight> all_;
    std::unordered_map<std::uint64_t, const sched::g_sight*> at_;
  };

  static control::blame_graph graph_of(const config::plan& plan, const std::vector<queue>& queues,
                                       std::vector<config::index> process_of);
  static std::vector<queue> queues_of(const config::plan& plan, const wiring& wires);
  const any_channel& end_of(const queue& q) const;
  bool is_full(const queue& q) const;
  static bool has_senders(const any_channel& c);
  leat::full policy_of(const queue& q) const;

  void tick(std::int64_t now);
  bool worth_a_sample(const std::vector<channel_account>& now) const;
  void sample(std::int64_t now);
  void assess(std::int64_t now);
  void report_status(std::int64_t now);
  waits_by_g waits_now() const;
  // What Gs wait for that a process has started itself, by replica. They are known by their channel alone, if
  // one process writes to it, or reads it, and has no replicas.
  std::vector<waits> helpers_of(const std::vector<replica_row>& rows, const waits_by_g& at) const;
  control::activity activity_of(const replica_row& row, const sched::g_sight* g, const waits_by_g& at) const;
  control::blame_view describe(const control::verdict& v) const;
  void remember_cpu(std::int64_t now);

  void add_processes(control::deployment_view& v, const std::vector<replica_row>& rows);
  void add_channels(control::deployment_view& v, const waits_by_g& at, const std::vector<replica_row>& rows);
  void add_health(control::deployment_view& v, const std::vector<replica_row>& rows) const;

  const config::plan& plan_;
  const wiring& wires_;
  const board& board_;
  const std::vector<config::index> process_of_;
  const std::vector<std::string> names_;
  const std::vector<queue> queues_;
  const program program_;
  std::vector<std::atomic<std::uint64_t>> injected_;  // by channel
  // Ids of Gs, written by these; 0: free. Who finds no place is taken for the helper of a process, which does no harm.
  std::array<std::atomic<std::uint64_t>, 64> at_the_door_{};

  mutable leat::mutex lock_;  // what follows: the observer's G and those who look
  looks counted_;
  std::vector<std::int64_t> full_since_;  // by queue; 0: it is not
  control::blame_machine machine_;
  unsigned quiet_looks_ = 1000;  // in a row that found nothing to suspect
  std::vector<control::blame_view> blame_;
  struct told {
    std::string culprit, channel;
    bool said = false;
    std::int64_t seen = 0;
  };
  std::vector<told> told_;
  // For the log, whose sink may be user code and take its time: written when the lock has been dropped.
  struct log_line {
    log_level level;
    std::string text;
  };
  std::vector<log_line> to_say_;
  drop_report drops_, injections_;  // by queue; by channel
  restart_watch restarts_;
  std::int64_t looked_at_ = 0;  // when somebody looked last
  cpu_meter cpu_{observing::cpu_watch.count()};
  control::delay_histogram delay_;
  service_status status_;
};

}  // namespace leat::services
