// SPDX-License-Identifier: BSL-1.0
//
// What a replica's next incarnation needs from the heap, made before it is needed: one that hangs may have
// locked the heap, and the host must replace it all the same.
//
// The first is made by the host. Each incarnation makes its successor's, on its own G before its object is
// made, and sends it to the host with the news; a hang in there is a hang like any other. The host fills in
// what only it knows (the records of ports, the number), and hands over what it wants to be rid of: to free
// it is the new G's work too. One that ends before it has made anything leaves it to the host.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <leat/process/incarnation.hpp>
#include <leat/process/process.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/board.hpp>
#include <leat/services/port_records.hpp>

namespace leat::services {

// What all incarnations of a replica are made by. Never changes.
struct recipe {
  const process_class* type = nullptr;  // null: there is none of that name, and each incarnation fails
  std::string_view type_name = {};      // the plan's
  std::size_t child = 0;
  nanoseconds hang{0}, grace{0};
  process_options options = {};             // without records
  std::vector<const port_type*> held = {};  // as port_records::held
  channel<incarnation_news> news = {};
  std::shared_ptr<board> seen = {};
};

class next_incarnation final : public successor, public incarnation::maker {
 public:
  explicit next_incarnation(std::shared_ptr<const recipe> by);

  // The host's part.
  std::shared_ptr<incarnation> run;                        // taken out at the start
  std::vector<std::shared_ptr<csp::gate_record>> records;  // for port_records::leave_records
  std::shared_ptr<incarnation> before = {};                // to be freed
  std::vector<port_binding>& ports() noexcept { return with_.ports; }

  std::unique_ptr<process> make() override;

 private:
  std::shared_ptr<const recipe> by_;
  process_options with_;
};

}  // namespace leat::services
