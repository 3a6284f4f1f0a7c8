// SPDX-License-Identifier: BSL-1.0
#include <leat/base/flavour.hpp>

namespace leat {

const char* to_string(flavour f) noexcept {
  switch (f) {
    case flavour::rendezvous: return "rendezvous";
    case flavour::many: return "many";
    case flavour::single: return "single";
    case flavour::latest: return "latest";
    case flavour::broadcast: return "broadcast";
    case flavour::broadcast_reader: return "broadcast reader";
    case flavour::ticker: return "ticker";
    case flavour::merged: return "merged";
    case flavour::fan: return "fan";
    case flavour::keyed: return "keyed";
    case flavour::latest_by_key: return "latest by key";
    case flavour::gated: return "gated";
    case flavour::stored: return "stored";
    case flavour::other: return "other";
  }
  return "?";
}

}  // namespace leat
