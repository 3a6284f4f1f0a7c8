#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# header_examples_test.sh COMPILER: an example that does not compile fails, with the header and its line.
compiler=${1:?usage: header_examples_test.sh COMPILER}
source "$(dirname "$0")/../checks/support.sh"
put documents/given.hpp 'namespace given { inline int n = 1; }'
examples() {
  (cd "$tree" &&
    awk -v given=documents/given.hpp -f "$root/tests/documents/header_examples.awk" framework/leat/planted.hpp >examples.cpp &&
    "$compiler" -std=c++20 -w -I. -Iframework examples.cpp -o examples && ./examples)
}
planted() { # EXAMPLE
  put framework/leat/planted.hpp "// Numbers:
//
$1
//
// A table is no example:
//   leaf;    of a tree
#pragma once
namespace leat {
inline int twice(int n) { return 2 * n; }
struct process { virtual void run() = 0; };
struct port { port(process*, const char*) {} };
}
#define LEAT_NUMBER(name) inline int name = 1"
}

planted '//   if (leat::twice(n) == 2) ...'
expect 0 '1 examples' examples
planted '//   if (leat::thrice(n) == 3) ...'
expect 1 'framework/leat/planted.hpp:3' examples
planted '//   int m = leat::twice(n)'
expect 1 'framework/leat/planted.hpp' examples

# Each in its place.
planted '//   struct pair { int a, b; };
//   LEAT_NUMBER(one);   // leat::twice
//
//   static int of_class();
//   leat::port in{this, "in"};
//
//   int n = leat::twice(given::n);  // hides what is given'
expect 0 '3 examples' examples
planted '//   leat::port in{this, 1.5};'
expect 1 'framework/leat/planted.hpp:3' examples
finish
