// SPDX-License-Identifier: BSL-1.0
//
// A small typed language over records: conditions for filters and rules, values for new fields.
//
//   const auto made = leat::expression::compile("value > 80", {.wanted = leat::expression::truth});
//   for (const leat::expression::wrong_part& w : made.found) ...  // what is wrong, and where in the text
//   leat::expression::evaluator e(made.result);                   // null if anything was
//   const leat::record r{{"value", 81.5}};
//   if (e.is_true(r, {.now = leat::moment_now()})) ...
//
// Grammar; blanks and line ends separate words:
//
//   expression  either [ "?" expression ":" expression ]
//   either      both { "||" both }
//   both        comparison { "&&" comparison }
//   comparison  sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum
//                   | [ "not" ] "in" ( list | path )
//                   | "is" [ "not" ] ( "missing" | "null" ) ]
//   sum         product { ("+" | "-") product }
//   product     unary { ("*" | "/" | "%") unary }
//   unary       { "-" | "!" } primary
//   primary     number | duration | text | "true" | "false" | "null" | path | call | "(" expression ")"
//   list        "[" [ expression { "," expression } ] "]"
//   path        ( name | "field" "(" text ")" ) { "." name | "[" whole number "]" | "[" text "]" }
//   call        name "(" [ expression { "," expression } ] ")"
//             | window "(" expression "," ( duration | whole number ) [ "by" path ] ")"
//             | ( "previous" | "rate" ) "(" expression [ "by" path ] ")"
//
// Kinds: null, boolean, integer (64 bits), real, text, duration, moment, list, table. Integers and reals mix in
// arithmetic and comparisons, nothing else does: the rules are in rules.hpp. An integer divided by an integer is a
// real; durations and moments have the arithmetic of the calendar.
//
// An expression is total: it has no loops, and every operation has a result. What cannot be computed is *missing*,
// and is counted as an error of one of these kinds:
//
//   missing            a field that is not there (not counted right before `is`, nor in default(x, y))
//   wrong_kind         a value of another kind than the operation takes, null included
//   division_by_zero   of numbers and durations, and a rate between two records of one moment
//   range              an integer, duration or moment that overflows, a real that is not finite, a text that is no
//                      number, a moment that goes back in a rate, a text of more than 1 MiB or 4 MiB of texts in one run
//
// An operation on a missing value is missing. && and || settle it where the other side alone decides: `false &&
// missing` is false, `true || missing` is true. A condition that is missing in the end is not true.
//
// previous, rate and windows see every record that the evaluator is given, wherever they stand: they are computed
// first, in the order of the text. Time is what the caller says it is. A record with its own time that is late goes
// where it belongs in a window.
//
// An evaluation allocates nothing unless it makes a text that is longer than any that its place has made before, or
// meets a new key. One evaluator is for one G; a program may be shared.
#pragma once
#include <leat/expression/compile.hpp>
#include <leat/expression/evaluator.hpp>
