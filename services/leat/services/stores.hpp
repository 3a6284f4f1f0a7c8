// SPDX-License-Identifier: BSL-1.0
//
// The stores of a plan's channels: their folders, files and keepers (store/stored_channel.hpp). A program
// without SQLite knows the key and refuses to run a plan that has it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/services/folder_lock.hpp>

namespace leat::services {

// Of a channel with a store, for the ledger and those who look.
struct store_account {
  std::uint64_t kept = 0, bytes = 0;  // what the next start would find
  std::uint64_t restored = 0;         // found at the start; among `sent`
  std::uint64_t written = 0, unreadable = 0, failures = 0;
  bool failing = false;
  bool finish_failed = false;  // at the end: what is kept may not be in the file
};

class stores {
 public:
  stores() = default;
  ~stores();
  stores(const stores&) = delete;
  stores& operator=(const stores&) = delete;

  // The channel c.store is of. Locks its folder, opens its file. Throws wiring_error.
  any_channel make(const config::plan& plan, const config::channel_plan& c, const port_type& type,
                   const channel_options& o);
  // An end of it for one user that is delivered at least once.
  static any_channel careful_end(const any_channel& stored);
  // What was received at such an end has been dealt with. Of any other: nothing.
  static void acknowledge(const any_channel& end);
  // Of such an end: what was received there is in the store. Of any other: false.
  static bool keeps(const any_channel& end);
  static std::optional<store_account> account(const any_channel& whole);

  // On a G.
  void start();
  // On a G, when nobody sends or receives any more. False: something could not be written.
  bool finish();

 private:
  std::map<std::string, std::shared_ptr<folder_lock>>
      locks_;  // by real path; a file that is open holds it, too
  std::vector<any_channel> all_;
};

}  // namespace leat::services
