// SPDX-License-Identifier: BSL-1.0
//
// Linked in ways in which the program's own code has the locks of libraries in it: says which it knows of.
#include <cstdio>

#include <leat/leat.hpp>
#include <leat/sched/quarantine.hpp>

int main() {
  return leat::run([] {
    using leat::sched::unsettled;
    const unsettled why = leat::sched::why_unsettled();
    std::puts(why == unsettled::none                 ? "none"
              : why == unsettled::own_allocator      ? "own allocator"
              : why == unsettled::static_c_library   ? "static C library"
              : why == unsettled::static_cxx_library ? "static C++ library"
                                                     : "?");
  });
}
