// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>
#include <leat/main.hpp>

#include "heartbeat.hpp"

LEAT_PROCESS(heartbeat, "counts at a steady pace");

int main(int argc, char** argv) { return leat::main(argc, argv); }
