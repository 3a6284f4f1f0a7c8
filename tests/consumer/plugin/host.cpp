// SPDX-License-Identifier: BSL-1.0
#include <leat/main.hpp>

int main(int argc, char** argv) { return leat::main(argc, argv); }
