// SPDX-License-Identifier: BSL-1.0
#include <cstdio>

#include <leat/leat.hpp>
#include <leat/plugin.hpp>

LEAT_PLUGIN("consumer");

class guest : public leat::process {
  leat::setting<std::string> words{this, "words", leat::required};

  void run() override { std::printf("%s\n", words->c_str()); }
};
LEAT_PROCESS(guest, "says something");
