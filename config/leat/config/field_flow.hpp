// SPDX-License-Identifier: BSL-1.0
//
// Which fields records have at each port and in each channel of a plan, as far as that is known before anything runs.
//
// A message says which fields it has. So does an out port of a class, or a function of its settings; one that
// passes on what comes in has the fields of that. What nobody says is not known, and nothing is checked
// against it; so it is in a circle.
#pragma once
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/known_fields.hpp>
#include <leat/config/resolve.hpp>

namespace leat::config {

// What a channel of records carries: messages without a shape of their own.
inline constexpr std::string_view message_of_records = "record";

class field_flow {
 public:
  explicit field_flow(const draft& d)
      : d_(d), channels_(d.out.channels.size()), asked_(d.out.channels.size()) {}

  // In the words of the channel's messages.
  known_fields of_channel(index channel);
  // In the words of the process.
  known_fields of_out_port(index process, index port);
  known_fields of_in_port(index process, index port);

 private:
  known_fields made_by(const port_schema& s, index process, const known_fields& in) const;

  const draft& d_;
  unsigned depth_ = 0;
  std::vector<known_fields> channels_;
  std::vector<bool> asked_;
};

}  // namespace leat::config
