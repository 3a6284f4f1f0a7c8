// SPDX-License-Identifier: BSL-1.0
//
// Plug-ins that are not as they should be, one by one; and, with none of the words, a second good one.
#include <leat/process/plugin.hpp>

#if defined(OLD_VERSION)
#undef LEAT_VERSION
#define LEAT_VERSION "0.0.9"
#elif defined(OTHER_ABI)
#undef LEAT_PLUGIN_ABI
#define LEAT_PLUGIN_ABI "another standard library"
#endif
#if !defined(NO_DESCRIPTION)
LEAT_PLUGIN("other");
#endif

#if !defined(OLD_VERSION) && !defined(OTHER_ABI) && !defined(NO_DESCRIPTION)  // which are not even loaded
#include <leat/plugin.hpp>

#include "reading.hpp"

#if defined(UNDEFINED)
namespace climate {
int nowhere(const reading&);
}
#endif

namespace {

class attic : public leat::process {
  leat::out<climate::reading> readings{this, "readings"};

  void run() override {
#if defined(UNDEFINED)
    (void)climate::nowhere({});
#endif
    readings.send({30, "attic"});
  }
};
#if defined(CLASS_OF_PLUGIN)
LEAT_PROCESS_AS("room", attic, "the same name again");
#elif defined(CLASS_OF_PROGRAM)
LEAT_PROCESS_AS("log", attic, "the same name again");
#else
LEAT_PROCESS(attic, "how warm it is under the roof");
#endif

}  // namespace
#endif
