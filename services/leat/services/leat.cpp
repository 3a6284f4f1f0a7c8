// SPDX-License-Identifier: BSL-1.0
#include <leat/main.hpp>
#include <leat/stock.hpp>

int main(int argc, char** argv) {
  leat::stock::use();
  return leat::main(argc, argv);
}
