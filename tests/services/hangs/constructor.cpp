// SPDX-License-Identifier: BSL-1.0
//
// A library whose constructor never returns: whoever loads it holds the loader's lock for good.
#include <unistd.h>

namespace {
struct never_made {
  never_made() {
    for (;;) ::pause();
  }
} instance;
}  // namespace
