// SPDX-License-Identifier: BSL-1.0
#include "rule_book.hpp"

#include <leat/main.hpp>

int main(int argc, char** argv) { return leat::main(argc, argv); }
