// SPDX-License-Identifier: BSL-1.0
//
// Where the states (state.hpp) of a process are between two incarnations.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/state.hpp>

namespace leat {

// The states of one process, or of one replica of it. A list to which is only added, at its front and inside
// the runtime: a constructor that hangs is fenced as well, and must not come back to what its successor uses.
class state_store {
 public:
  // Who keeps them beyond the program: what was read for them, by name, and where saves are reported.
  struct keeping {
    struct kept {
      std::string name;
      std::vector<std::uint8_t> cbor;
    };
    std::string who = {};  // for the log: "process 'meter' (adds, t.toml:3)"
    std::vector<kept> read = {};
    channel<char> wake{1};
  };
  // Before the first use.
  void keep(keeping how) { keeping_ = std::move(how); }

  // By name; made at the first use, with what was read for it. Throws wiring_error if it is there with another
  // type, or if it is to be kept and cannot be.
  std::shared_ptr<states::box_base> find(std::string_view name, const void* type,
                                         std::shared_ptr<states::box_base> (*make)());

  struct entry {
    std::string name;
    std::shared_ptr<states::box_base> box;
  };
  std::vector<entry> all() const;  // any G

 private:
  struct named {
    std::string name;
    std::shared_ptr<states::box_base> box;
    std::unique_ptr<named> next = {};  // never changes once it is in the list
  };
  const named* first() const;
  void take_over(const std::string& name, states::box_base& box) const;

  mutable ranked_spinlock lock_{lock_rank::channel, "states"};
  std::unique_ptr<named> first_;  // few; under the lock
  std::optional<keeping> keeping_;
};

}  // namespace leat
