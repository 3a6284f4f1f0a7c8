#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
source "$(dirname "$0")/support.sh"
includes() { bash "$root/cmake/check_includes.sh" "$tree"; }

lacks() {  # FILE TEXT WHAT: FILE, with TEXT in its second line, fails there
  fresh
  put "$1" "// first line
$2"
  expect 1 "$1:2: " includes
  expect 1 "$3" includes
}
lacks framework/leat/base/a.hpp 'std::vector<int> all;' 'std::vector needs <vector>'
lacks framework/leat/base/a.hpp 'int n = ::std::max(1, 2);' 'std::max needs <algorithm>'
lacks framework/leat/base/a.cpp 'using namespace std::chrono_literals;' 'std::chrono_literals needs <chrono>'
lacks tests/base/a_test.cpp 'auto x = std::frobnicate(1);' 'std_names.txt does not say which header has std::frobnicate'

# By a file of ours, however far; not by one that is included by somebody else.
fresh
put framework/leat/base/a.hpp '#include <vector>'
put framework/leat/base/b.hpp '#include "a.hpp"'
put framework/leat/sched/c.cpp '#include <leat/base/b.hpp>
std::vector<std::size_t> all;'
expect 0 'all names of std have their header' includes
put framework/leat/sched/d.cpp '#include "c.hpp"
std::vector<int> all;'
expect 1 'framework/leat/sched/d.cpp:2: std::vector needs <vector>' includes

# Neither comments nor texts, of one line or of many, are code.
fresh
put framework/leat/base/a.cpp '// std::vector is not used
const char* one = "std::vector";
const char* many = R"cpp(
std::vector<int> all;
)cpp";
int of_another(mystd::vector);'
expect 0 'all names of std have their header' includes
finish
