// SPDX-License-Identifier: BSL-1.0
//
// Who is to blame when a deployment is slow: a machine without threads, clocks or channels. It is given
// samples of what every replica does and how every queue stands, and says who holds up whom.
//
// When queues that block are full, everybody upstream waits, and the one at fault is the only one that does
// not look busy. So: from each queue at which senders are blocked nearly all the time, go to its readers. A
// reader that is itself blocked in a send is a victim: go on downstream. The first that is not is the culprit.
// A queue that drops holds up nobody but loses values: the same walk starts at its readers.
//
// A culprit that waits for a value of another queue (a join) is at fault only if nobody upstream of that queue
// is: one who waits for a culprit, or for its victims, is a victim like them.
//
// A burst is no fault: only what holds for most of a whole window counts. A reader that is being restarted for so
// long is at fault like any other; one that has ended for good is reported as its failure, and nothing is said here.
//
// A queue is a channel, or a reader's share of one that copies.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat::control {

using queue_index = std::uint32_t;
using process_index = std::uint32_t;
using replica_index = std::uint32_t;
inline constexpr queue_index no_queue = UINT32_MAX;

struct blame_graph {
  struct queue {
    std::vector<process_index> writers = {}, readers = {};
    bool blocks = true;  // else it drops
  };
  std::vector<queue> queues = {};
  std::vector<process_index> process_of = {};  // by replica
};

// What a replica does at the time of a sample.
struct activity {
  enum class kind : std::uint8_t {
    computes,
    waits_for_cpu,  // ready, and others run
    blocking_call,
    network,
    lock,
    timer,
    receives,  // waits for a value of one of `queues`
    sends,     // waits for room in all of `queues`
    restarts,  // failed, and waits for its next try; `detail`: why
    is_away,   // not started, or ended
  };
  kind what = kind::computes;
  std::vector<queue_index> queues = {};
  std::string detail = {};  // the peer, the system call, the failure
  std::int64_t age = 0;     // ns; for how long it has waited there; 0: not known, or it does not wait
};

struct blame_sample {
  std::int64_t at = 0;  // ns
  std::vector<activity> replicas = {};
  std::vector<std::uint64_t> dropped = {};  // by queue, so far
};

struct verdict {
  replica_index culprit = 0;
  bool one_of_several = false;  // this replica, more than the others of its process
  queue_index queue = 0;        // where it does not keep up
  bool drops = false;           // values are lost there; else senders wait
  double drop_rate = 0;         // a second
  nanoseconds held{0};          // for how long
  std::vector<process_index> victims = {};
  activity::kind does = activity::kind::computes;
  std::string detail = {};
  queue_index waits_at = no_queue;  // of `receives`: another queue; none: a channel of its own
  double share = 0;                 // of its time
};

class blame_machine {
 public:
  static constexpr nanoseconds window = std::chrono::milliseconds(1200);

  explicit blame_machine(blame_graph graph);

  void add(blame_sample s);
  // By how long they hold up others. Empty: all is well, or it is not known yet.
  std::vector<verdict> verdicts() const;

  // All is well: no sample is needed, and those before say nothing any more.
  void forget() noexcept;
  const blame_graph& graph() const noexcept { return graph_; }
  // Whether somebody is blocked in a send, or values are dropped, so that more samples are worth their while.
  bool suspects() const noexcept { return suspects_; }

 private:
  struct share_of_time {
    double all = 0, most = 0;
    activity::kind what = activity::kind::computes;
    std::string detail = {};
    queue_index at = no_queue;
  };
  // Whether a sender is blocked there in that sample, or values were dropped since the one before.
  bool is_suspect(queue_index q, std::size_t sample) const;
  bool covers_a_window() const;
  bool drops_all_the_time(queue_index q, double& rate) const;
  // The queue that a replica is blocked at for most of the time, or none.
  bool is_victim(replica_index r, std::vector<queue_index>& at) const;
  share_of_time does(replica_index r, queue_index instead_of) const;
  void walk(queue_index from, verdict v, std::vector<bool>& seen, std::vector<verdict>& to) const;
  replica_index slowest(const std::vector<replica_index>& among, queue_index q, bool& by_far) const;
  // How long it stays at one thing: how old that is in the middle, and at most.
  struct ages {
    double mean = 0;
    std::int64_t most = 0;
  };
  ages ages_of(replica_index r, queue_index instead_of) const;
  // Who waits for a culprit, or for one of its victims, goes to those.
  void spare_who_waits(std::vector<verdict>& all) const;
  std::size_t cause_of(const verdict& v, const std::vector<verdict>& all) const;
  static void add_once(std::vector<verdict>& to, verdict v);

  const blame_graph graph_;
  std::vector<std::vector<replica_index>> replicas_of_;  // by process
  std::deque<blame_sample> samples_;
  std::vector<std::int64_t> held_since_;  // by queue, when that may have begun; 0: it is not
  std::vector<bool> is_held_;             // by queue that blocks
  bool suspects_ = false;
};

}  // namespace leat::control
