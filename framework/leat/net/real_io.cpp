// SPDX-License-Identifier: BSL-1.0
#include <leat/net/real_io.hpp>

#include <stdexcept>
#include <string>

#include <leat/sched/world.hpp>

namespace leat::net {

void require_real_io(const char* what) {
  const sched::world* const w = sched::world::here();
  if (!w || w->lets_real_io()) return;
  throw std::logic_error(std::string("leat::net: ") + what +
                         " cannot be used in a simulated world, where time and order are not the system's: "
                         "put a stand-in in its place "
                         "(dial, listen and datagrams of leat::net are simulated), or set .real_io = true, "
                         "which makes runs differ");
}

}  // namespace leat::net
