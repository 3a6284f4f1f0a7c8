#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
source "$(dirname "$0")/support.sh"
comments() { bash "$root/cmake/check_comments.sh" "$tree"; }

fresh
put framework/leat/base/a.hpp '// See a.hpp, base/a.hpp and `count`; 1.cpp files are none.
int count = 0;  // `count` is counted in `leat::count`'
put framework/leat/base/b.cpp 'namespace leat {}'
put framework/leat/base/1.cpp ''
expect 0 '' comments

names_nothing() {  # COMMENT TEXT: the comment fails in its line, and that says TEXT
  fresh
  put framework/leat/base/a.hpp "int count;
// $1"
  put framework/leat/sched/c.hpp 'int other;'
  expect 1 "framework/leat/base/a.hpp:2: $2" comments
}
names_nothing 'as in gone.hpp' 'no such file: gone.hpp'
names_nothing 'as in c.hpp' 'no such file: c.hpp'
names_nothing 'as in fiber/c.hpp' 'no such file: fiber/c.hpp'
names_nothing 'until `counted` is 0' 'no such name: counted in `counted`'
names_nothing 'by `other::counted()`' 'no such name: counted in `other::counted()`'

says_no() {  # FILE LINE TEXT: LINE in FILE fails, and that says TEXT
  fresh
  put "$1" "int other;
$2"
  expect 1 "$1:2: $3" comments
}
says_no framework/leat/base/a.hpp '// the party waits' 'a word of our own (part(y|ies)): write wait'
says_no framework/leat/base/a.hpp 'void on_summons();' 'a word of our own (summons): write probe'
says_no tests/README.md 'Findings are shown.' 'a word of our own (findings): write diagnostics'
# A table as a formatter leaves it that reflows comments: two rows have become one.
row='//   what a row of a table says in its first column      and what it says in the second, which is longer by far'
says_no framework/leat/base/a.hpp "$row ${row#//}" 'a comment of 221 columns: break it, by hand'
fresh
put framework/leat/base/a.hpp "$row
$row
int partial = 0;  // departed, judgement"
put examples/rule-book/a.hpp '// who judges'
expect 0 '' comments
finish
