// SPDX-License-Identifier: BSL-1.0
//
// The channels of a plan, made and named, and which of them each port of a process is bound to.
//
// A channel closes when its last writer has ended for good, or its last reader; the wiring counts. A channel
// that copies to several processes has a share for each of them, with its own policy; its replicas compete
// for the share. With a key, replicas do not compete: each has a queue of its own (csp/keyed.hpp), and what copies is
// a fan of such groups. A share whose reader has ended takes no more values, and holds up nobody.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/csp/keyed.hpp>
#include <leat/process/process.hpp>
#include <leat/services/stores.hpp>

namespace leat::services {

// How much of a channel's promise was kept, for the ledger. sent = received + dropped + left.
struct channel_account {
  config::index channel = 0;
  std::string reader = {};  // of a share; empty: the channel as a whole
  channel_stats stats = {};
  leat::full full = leat::full::block;
  // What processes have thrown away of what they received here. One that reads several channels is told at
  // its first, one that only writes at the first that it writes to.
  struct loss {
    std::string process;
    std::uint64_t lost = 0, rejected = 0, fields = 0;
  };
  std::vector<loss> losses = {};
  std::optional<store_account> store = {};  // of a channel with one
};

class wiring {
 public:
  // Throws wiring_error and channel_error; the text names the channel and its place in the file.
  explicit wiring(const config::plan& plan);

  // For an object of the process; the same for each incarnation of a replica.
  std::vector<port_binding> bindings(config::index process, unsigned replica) const;

  // An incarnation of the process is out, and another comes.
  void change_user(config::index process) const noexcept;

  // A process has ended for good: closes the channels of which it was the last writer, or the last that could
  // give up values to. Once per process.
  void writer_ended(config::index process);
  // A replica has ended for good: where it has a queue of its own, its keys go to others. Once per replica, before
  // reader_ended.
  void replica_ended(config::index process, unsigned replica);
  // The same for readers: whoever sends to a channel that nobody will read is told `closed`. What the channel
  // holds stays and counts as left; of requests, whoever asked is told that it failed.
  void reader_ended(config::index process);

  // It reads from channels, and all of them are closed and empty.
  bool inputs_over(config::index process, unsigned replica) const;

  const any_channel& whole(config::index channel) const { return channels_[channel].whole; }
  // By reader of the plan, if it copies; else none.
  const std::vector<any_channel>& shares(config::index channel) const { return channels_[channel].shares; }
  std::vector<channel_account> accounts() const;

  // Those of its channels; from start to finish the host's.
  services::stores& stores() noexcept { return stores_; }

 private:
  // Of a channel with a key: the queue of a replica.
  struct queue {
    config::index process = 0;
    unsigned replica = 0;
    any_channel end = {};
    csp::keyed* group = nullptr;  // that sends to it, and lives as long as the channel
    std::size_t number = 0;       // among those
  };
  // Of a channel with a store: the end of a replica's port that is delivered at least once.
  struct careful {
    config::endpoint at = {};
    unsigned replica = 0;
    any_channel end = {};
  };
  struct joined {
    any_channel whole;
    std::vector<any_channel> shares;  // by reader, if it copies
    std::vector<queue> queues = {};
    std::vector<careful> careful_ends = {};
    std::size_t writers = 0;  // processes that have not ended
    std::size_t readers = 0;
    // Requests that were thrown away: by a G that may outlive this.
    std::shared_ptr<std::atomic<std::size_t>> refused = std::make_shared<std::atomic<std::size_t>>(0);
  };
  void make(config::index channel);
  // One queue, or a group of them by key, for the replicas of some processes.
  any_channel make_queues(joined& j, const config::channel_plan& c, const port_type& type,
                          const std::vector<config::index>& readers, const channel_options& o);
  void add_losses(std::vector<channel_account>& to) const;

  void make_stored(joined& j, const config::channel_plan& c, const port_type& type, const channel_options& o);

  const config::plan& plan_;
  services::stores stores_;
  std::deque<joined> channels_;
  std::vector<std::shared_ptr<loss_counts>> losses_;  // by process
};

}  // namespace leat::services
