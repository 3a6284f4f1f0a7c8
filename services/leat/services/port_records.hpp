// SPDX-License-Identifier: BSL-1.0
//
// What a replica's ports keep from one incarnation to the next: the values in hand at ports that are
// delivered at least once, and how much has passed, for its watchdog.
//
// The host settles what is in hand at an end, but runs no code of values for that, which could hang (aside.hpp):
// what is done with is destroyed by the next who receives, and what is given up is passed on by another G.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/csp/gate.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

// How an incarnation has left what it had in hand.
enum class left_as : std::uint8_t {
  done,         // it returned
  interrupted,  // it was asked to stop: nobody knows how far it came
  failed,
};

class port_records {
 public:
  // Throws wiring_error if values that cannot be copied are to be delivered at least once.
  port_records(const config::plan& plan, const wiring& wires, config::index process, unsigned replica);

  // Puts the records into the process's bindings (wiring::bindings).
  void put_into(std::vector<port_binding>& bindings) const noexcept;

  // Goes up with each value received or sent, if the process has a watchdog. A ring of one writer and one
  // reader counts by itself, so its port is bound to it as without a watchdog.
  std::uint64_t progress() const noexcept;

  struct outcome {
    unsigned redelivered = 0, given_up = 0;
  };
  // The incarnation is out. `name` is the replica's, for reports.
  outcome settle(left_as how, bool another_comes, const std::string& name);
  // The incarnation is out behind a fence, and may still look at its records: the next one gets `fresh` ones,
  // and what it had is in their place. Before settle.
  void leave_records(std::vector<std::shared_ptr<csp::gate_record>>& fresh) noexcept;
  // Values in hand that no store keeps. Of an incarnation that runs on, and may be done with them at any time: a count, as the
  // values themselves are its own.
  unsigned in_hand() const noexcept;
  // Of each port with a record the type of the values in hand; null if it keeps none.
  std::vector<const port_type*> held() const;
  static std::vector<std::shared_ptr<csp::gate_record>> fresh(const std::vector<const port_type*>& held);

 private:
  struct port {
    config::index index;
    const port_type* type;
    std::shared_ptr<csp::gate_record> record;
    std::vector<any_channel> ends = {};  // that it receives from, if they are of stores
  };
  void give_up(port& p, const std::string& name) const;

  const config::plan& plan_;
  const wiring& wires_;
  const config::index process_;
  std::vector<port> ports_;
  std::vector<any_channel> rings_read_, rings_written_;
};

}  // namespace leat::services
