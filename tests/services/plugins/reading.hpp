// SPDX-License-Identifier: BSL-1.0
//
// A message that two plug-ins know.
#pragma once
#include <string>

#include <leat/process/message.hpp>

namespace climate {

struct reading {
  double celsius = 0;
  std::string where = {};
};
LEAT_MESSAGE(reading, celsius, where);

}  // namespace climate
