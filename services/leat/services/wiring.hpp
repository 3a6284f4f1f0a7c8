// SPDX-License-Identifier: BSL-1.0
//
// The channels of a plan, made and named, and which of them each port of a process is bound to.
//
// A channel closes when its last writer has ended for good, or its last reader; the wiring counts. A channel
// that copies to several processes has a share for each of them, with its own policy; its replicas compete
// for the share. A share whose reader has ended takes no more values, and holds up nobody.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/process/process.hpp>

namespace leat::services {

// How much of a channel's promise was kept, for the ledger. sent = received + dropped + left.
struct channel_account {
  config::index channel = 0;
  std::string reader = {};  // of a share; empty: the channel as a whole
  channel_stats stats = {};
  config::overflow full = config::overflow::block;
};

class wiring {
 public:
  // Throws wiring_error and channel_error; the text names the channel and its place in the file.
  explicit wiring(const config::plan& plan);

  // For an object of the process; the same for each of its replicas and incarnations.
  std::vector<port_binding> bindings(config::index process) const;

  // An incarnation of the process is out, and another comes.
  void change_user(config::index process) const noexcept;

  // A process has ended for good: closes the channels of which it was the last writer, or the last that could
  // give up values to. Once per process.
  void writer_ended(config::index process);
  // The same for readers: whoever sends to a channel that nobody will read is told `closed`. What the channel
  // holds stays and counts as left; of requests, whoever asked is told that it failed.
  void reader_ended(config::index process);

  // It reads from channels, and all of them are closed and empty.
  bool inputs_over(config::index process) const;

  const any_channel& whole(config::index channel) const { return channels_[channel].whole; }
  // By reader of the plan, if it copies; else none.
  const std::vector<any_channel>& shares(config::index channel) const { return channels_[channel].shares; }
  std::vector<channel_account> accounts() const;

 private:
  struct joined {
    any_channel whole;
    std::vector<any_channel> shares;  // by reader, if it copies
    std::size_t writers = 0;          // processes that have not ended
    std::size_t readers = 0;
    std::size_t refused = 0;  // requests that were thrown away
  };
  void make(config::index channel);

  const config::plan& plan_;
  std::vector<joined> channels_;
};

}  // namespace leat::services
