// SPDX-License-Identifier: BSL-1.0
//
// A stand-in for a vendor's library: it loops, and allocates while it does.
#include <cstdlib>
#include <cstring>

extern "C" void vendor_polls_for_ever() {
  void* kept[64] = {};
  for (unsigned i = 1;; i = i * 1664525u + 1013904223u) {
    void*& at = kept[i >> 26];
    std::free(at);
    const std::size_t size = (i >> 8) % 40'000 + 1;  // also beyond what a thread keeps for itself
    at = std::malloc(size);
    if (at) std::memset(at, 1, size < 64 ? size : 64);
  }
}
