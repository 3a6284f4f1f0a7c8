// SPDX-License-Identifier: BSL-1.0
#include "raw_fcontext.hpp"

#include <boost/context/detail/fcontext.hpp>

namespace leat::bench {
namespace {

using namespace boost::context::detail;

void bounce(transfer_t t) {
  for (;;) t = jump_fcontext(t.fctx, t.data);
}

}  // namespace

void raw_switches(std::int64_t switches, char* stack_top, std::size_t stack_size) {
  transfer_t t{make_fcontext(stack_top, stack_size, bounce), nullptr};
  for (std::int64_t i = 0; i < switches; i += 2) t = jump_fcontext(t.fctx, nullptr);
}

}  // namespace leat::bench
