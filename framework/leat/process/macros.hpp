// SPDX-License-Identifier: BSL-1.0
//
// LEAT_FOR_EACH(m, c, a, b, ...) is m(c, a) m(c, b) ..., for up to 85 arguments.
//
// A system header, because GCC shows no expansions of macros from such: an error in an argument would be followed by
// five hundred lines about LEAT_EXPAND. Nothing but macros may stand here.
#pragma once
#pragma GCC system_header

#define LEAT_PARENTHESES ()
#define LEAT_EXPAND(...) LEAT_EXPAND_3(LEAT_EXPAND_3(LEAT_EXPAND_3(LEAT_EXPAND_3(__VA_ARGS__))))
#define LEAT_EXPAND_3(...) LEAT_EXPAND_2(LEAT_EXPAND_2(LEAT_EXPAND_2(LEAT_EXPAND_2(__VA_ARGS__))))
#define LEAT_EXPAND_2(...) LEAT_EXPAND_1(LEAT_EXPAND_1(LEAT_EXPAND_1(LEAT_EXPAND_1(__VA_ARGS__))))
#define LEAT_EXPAND_1(...) __VA_ARGS__

#define LEAT_FOR_EACH(macro, context, ...) \
  __VA_OPT__(LEAT_EXPAND(LEAT_FOR_EACH_STEP(macro, context, __VA_ARGS__)))
#define LEAT_FOR_EACH_STEP(macro, context, first, ...) \
  macro(context, first) __VA_OPT__(LEAT_FOR_EACH_AGAIN LEAT_PARENTHESES(macro, context, __VA_ARGS__))
#define LEAT_FOR_EACH_AGAIN() LEAT_FOR_EACH_STEP

// A name of its own in this file of the program.
#define LEAT_UNIQUE(prefix) LEAT_UNIQUE_1(prefix, __COUNTER__)
#define LEAT_UNIQUE_1(prefix, number) LEAT_UNIQUE_2(prefix, number)
#define LEAT_UNIQUE_2(prefix, number) prefix##number

// plain or in_parentheses, whichever its argument is.
#define LEAT_FORM_OF(argument) LEAT_SECOND(LEAT_FORM_PROBE argument, plain, )
#define LEAT_FORM_PROBE(...) , in_parentheses
#define LEAT_SECOND(...) LEAT_SECOND_1(__VA_ARGS__)
#define LEAT_SECOND_1(first, second, ...) second
#define LEAT_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define LEAT_PICK(prefix, form) LEAT_PICK_1(prefix, form)
#define LEAT_PICK_1(prefix, form) prefix##form
