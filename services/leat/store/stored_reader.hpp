// SPDX-License-Identifier: BSL-1.0
//
// An end of one user that is delivered at least once. What it got last stays in the store until it receives again, or
// somebody says that it has been dealt with. Used by one G at a time, and by its supervisor when that is out.
#pragma once
#include <leat/store/stored_channel.hpp>

namespace leat::store {

class stored_reader final : public csp::channel_base {
 public:
  explicit stored_reader(csp::ref<csp::channel_base> stored);
  ~stored_reader() override;

  // Gives the last round that removes something of it (stored_channel::settle).
  std::uint64_t acknowledge() noexcept;
  bool has_in_hand() const noexcept { return hub_.holds(in_hand_); }

  leat::flavour flavour() const noexcept override { return hub_.flavour(); }
  std::size_t size() const noexcept override { return hub_.size(); }
  bool is_closed() const noexcept override { return hub_.is_closed(); }
  channel_stats stats() const noexcept override { return hub_.stats(); }
  void close() noexcept override { hub_.close(); }

  // With `each` it waits until the file no longer has what it got last: that does not come again then. A try does not
  // wait, nor does a select.
  recv_status recv(void* value, std::int64_t until) override;
  // Sends are the channel's.
  send_status send(void* value, std::int64_t until) override { return hub_.send(value, until); }
  void stage(csp::op_case& c, void* value) override;
  csp::ending try_case(csp::entered& in, csp::op_case& c) noexcept override { return hub_.try_case(in, c); }
  csp::ending enroll(csp::entered& in, csp::op_case& c, csp::wait& me) noexcept override {
    return hub_.enroll(in, c, me);
  }
  void withdraw(csp::op_case& c) noexcept override { hub_.withdraw(c); }
  void finish(csp::op_case& c, void* value) override;
  void unstage(csp::op_case& c, void* value) noexcept override { hub_.unstage(c, value); }

 private:
  const csp::ref<csp::channel_base> keeps_;
  stored_channel& hub_;
  read_list in_hand_;  // under the channel's lock
};

}  // namespace leat::store
