// SPDX-License-Identifier: BSL-1.0
//
// Texts that are JSON, texts that are not, and texts of which RFC 8259 leaves it open, as the well-known
// suite of parsing tests (nst/JSONTestSuite) sorts them, each with the type that it is read as: data for a
// test, and where the fuzzers begin.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/message.hpp>
#include <leat/process/record.hpp>

namespace leat::test {

using namespace std::string_view_literals;

struct inner {
  std::string id;
};
LEAT_MESSAGE(inner, id);
struct outer {
  std::optional<std::vector<inner>> x;
  std::optional<std::vector<int>> a;
  std::optional<std::string> id;
};
LEAT_MESSAGE(outer, x, a, id);

enum class as_type : std::uint8_t {
  record,
  ints,
  reals,
  texts,
  truths,
  maybes,
  lists,
  structure,
  integer,
  real,
  text,
  truth,
  maybe
};

// f.template operator()<T>() with the type that is meant.
template <class F>
decltype(auto) with_type(as_type t, F&& f) {
  switch (t) {
    case as_type::ints: return f.template operator()<std::vector<std::int64_t>>();
    case as_type::reals: return f.template operator()<std::vector<double>>();
    case as_type::texts: return f.template operator()<std::vector<std::string>>();
    case as_type::truths: return f.template operator()<std::vector<std::optional<bool>>>();
    case as_type::maybes: return f.template operator()<std::vector<std::optional<int>>>();
    case as_type::lists: return f.template operator()<std::vector<std::vector<int>>>();
    case as_type::structure: return f.template operator()<outer>();
    case as_type::integer: return f.template operator()<std::int64_t>();
    case as_type::real: return f.template operator()<double>();
    case as_type::text: return f.template operator()<std::string>();
    case as_type::truth: return f.template operator()<bool>();
    case as_type::maybe: return f.template operator()<std::optional<int>>();
    case as_type::record: break;
  }
  return f.template operator()<record>();
}
inline constexpr as_type last_type = as_type::maybe;

struct json_case {
  as_type type;
  std::string_view text;
  std::string_view written;  // by us, when it has been read
};

// clang-format off
inline constexpr json_case accepted_json[] = {
    {as_type::lists, "[[]   ]", "[[]]"},
    {as_type::texts, "[\"\"]", "[\"\"]"},
    {as_type::ints, "[]", "[]"},
    {as_type::texts, "[\"a\"]\n", "[\"a\"]"},
    {as_type::truths, "[false]", "[false]"},
    {as_type::truths, "[true]", "[true]"},
    {as_type::maybes, "[null]", "[null]"},
    {as_type::maybes, "[1,null,null,null,2]", "[1,null,null,null,2]"},
    {as_type::ints, "[1\n]", "[1]"},
    {as_type::ints, " [1]", "[1]"},
    {as_type::ints, "[2] ", "[2]"},
    {as_type::ints, "[ 4]", "[4]"},
    {as_type::ints, " [] ", "[]"},
    {as_type::reals, "[123e65]", "[1.23e+67]"},
    {as_type::reals, "[0e+1]", "[0.0]"},
    {as_type::reals, "[0e1]", "[0.0]"},
    {as_type::reals, "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]\n", "[-1e-78]"},
    {as_type::reals, "[20e1]", "[200.0]"},
    {as_type::ints, "[-0]", "[0]"},
    {as_type::reals, "[-0]", "[-0.0]"},
    {as_type::ints, "[-123]", "[-123]"},
    {as_type::ints, "[-1]", "[-1]"},
    {as_type::ints, "[123]", "[123]"},
    {as_type::reals, "[1E22]", "[1e+22]"},
    {as_type::reals, "[1E-2]", "[0.01]"},
    {as_type::reals, "[1E+2]", "[100.0]"},
    {as_type::reals, "[123e45]", "[1.23e+47]"},
    {as_type::reals, "[123.456e78]", "[1.23456e+80]"},
    {as_type::reals, "[1e-2]", "[0.01]"},
    {as_type::reals, "[1e+2]", "[100.0]"},
    {as_type::reals, "[123.456789]", "[123.456789]"},
    {as_type::record, "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"asd\":\"sdf\",\"dfg\":\"fgh\"}"},
    {as_type::record, "{\"asd\":\"sdf\"}", "{\"asd\":\"sdf\"}"},
    {as_type::record, "{}", "{}"},
    {as_type::structure, "{}", "{\"x\":null,\"a\":null,\"id\":null}"},
    {as_type::record, "{\"\":0}", "{\"\":0}"},
    {as_type::record, "{\"foo\\u0000bar\": 42}", "{\"foo\\u0000bar\":42}"},
    {as_type::record, "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }", "{\"min\":-1e+28,\"max\":1e+28}"},
    {as_type::structure, "{\"x\":[{\"id\": \"long\"}], \"id\": \"long\"}", "{\"x\":[{\"id\":\"long\"}],\"a\":null,\"id\":\"long\"}"},
    {as_type::structure, "{\"a\":[]}", "{\"x\":null,\"a\":[],\"id\":null}"},
    {as_type::record, "{\"title\":\"\\u041f\\u043e\\u043b\"}", "{\"title\":\"\xd0\x9f\xd0\xbe\xd0\xbb\"}"},
    {as_type::record, "{\n\"a\": \"b\"\n}", "{\"a\":\"b\"}"},
    {as_type::texts, "[\"\\u0060\\u012a\\u12AB\"]", "[\"`\xc4\xaa\xe1\x8a\xab\"]"},
    {as_type::texts, "[\"\\uD801\\udc37\"]", "[\"\xf0\x90\x90\xb7\"]"},
    {as_type::texts, "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]", "[\"\xf0\x9f\x98\xb9\xf0\x9f\x92\x8d\"]"},
    {as_type::texts, "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\"\\\\/\\u0008\\u000c\\n\\r\\t\"]"},
    {as_type::texts, "[\"\\\\u0000\"]", "[\"\\\\u0000\"]"},
    {as_type::texts, "[\"\\\"\"]", "[\"\\\"\"]"},
    {as_type::texts, "[\"a/*b*/c/*d//e\"]", "[\"a/*b*/c/*d//e\"]"},
    {as_type::texts, "[\"\\\\a\"]", "[\"\\\\a\"]"},
    {as_type::texts, "[\"\\\\n\"]", "[\"\\\\n\"]"},
    {as_type::texts, "[\"\\u0012\"]", "[\"\\u0012\"]"},
    {as_type::texts, "[\"\\uFFFF\"]", "[\"\xef\xbf\xbf\"]"},
    {as_type::texts, "[ \"asd\"]", "[\"asd\"]"},
    {as_type::texts, "[\"\\uDBFF\\uDFFF\"]", "[\"\xf4\x8f\xbf\xbf\"]"},
    {as_type::texts, "[\"new\\u00A0line\"]", "[\"new\xc2\xa0line\"]"},
    {as_type::texts, "[\"\xf4\x8f\xbf\xbf\"]", "[\"\xf4\x8f\xbf\xbf\"]"},
    {as_type::texts, "[\"\xef\xbf\xbf\"]", "[\"\xef\xbf\xbf\"]"},
    {as_type::texts, "[\"\\u0000\"]", "[\"\\u0000\"]"},
    {as_type::texts, "[\"\\u002c\"]", "[\",\"]"},
    {as_type::texts, "[\"\xcf\x80\"]", "[\"\xcf\x80\"]"},
    {as_type::texts, "[\"\xf0\x9b\xbf\xbf\"]", "[\"\xf0\x9b\xbf\xbf\"]"},
    {as_type::texts, "[\"asd \"]", "[\"asd \"]"},
    {as_type::text, "\" \"", "\" \""},
    {as_type::texts, "[\"\\uD834\\uDd1e\"]", "[\"\xf0\x9d\x84\x9e\"]"},
    {as_type::texts, "[\"\\u0821\"]", "[\"\xe0\xa0\xa1\"]"},
    {as_type::texts, "[\"\\u0123\"]", "[\"\xc4\xa3\"]"},
    {as_type::texts, "[\"\xe2\x80\xa8\xe2\x80\xa9\"]", "[\"\xe2\x80\xa8\xe2\x80\xa9\"]"},
    {as_type::texts, "[\"\\u0061\\u30af\\u30EA\\u30b9\"]", "[\"a\xe3\x82\xaf\xe3\x83\xaa\xe3\x82\xb9\"]"},
    {as_type::texts, "[\"new\\u000Aline\"]", "[\"new\\nline\"]"},
    {as_type::texts, "[\"\x7f\"]", "[\"\\u007f\"]"},
    {as_type::texts, "[\"a\x7f" "a\"]", "[\"a\\u007fa\"]"},
    {as_type::texts, "[\"\\uA66D\"]", "[\"\xea\x99\xad\"]"},
    {as_type::texts, "[\"\\u005C\"]", "[\"\\\\\"]"},
    {as_type::texts, "[\"\xe2\x8d\x82\xe3\x88\xb4\"]", "[\"\xe2\x8d\x82\xe3\x88\xb4\"]"},
    {as_type::texts, "[\"\\uDBFF\\uDFFE\"]", "[\"\xf4\x8f\xbf\xbe\"]"},
    {as_type::texts, "[\"\\uD83F\\uDFFE\"]", "[\"\xf0\x9f\xbf\xbe\"]"},
    {as_type::texts, "[\"\\u200B\\u2064\"]", "[\"\xe2\x80\x8b\xe2\x81\xa4\"]"},
    {as_type::texts, "[\"\\uFDD0\\uFFFE\"]", "[\"\xef\xb7\x90\xef\xbf\xbe\"]"},
    {as_type::texts, "[\"\\u0022\"]", "[\"\\\"\"]"},
    {as_type::texts, "[\"\xe2\x82\xac\xf0\x9d\x84\x9e\"]", "[\"\xe2\x82\xac\xf0\x9d\x84\x9e\"]"},
    {as_type::truth, "false", "false"},
    {as_type::truth, "true", "true"},
    {as_type::integer, "42", "42"},
    {as_type::real, "-0.1", "-0.1"},
    {as_type::maybe, "null", "null"},
    {as_type::text, "\"asd\"", "\"asd\""},
    {as_type::text, "\"\"", "\"\""},
    // Of which the RFC leaves it open. A number is told as nearly as a real can; what is too small is 0.
    {as_type::reals, "[123.456e-789]", "[0.0]"},
    {as_type::reals, "[-123.456e-789]", "[-0.0]"},
    {as_type::reals, "[123e-10000000]", "[0.0]"},
    {as_type::reals, "[-123123123123123123123123123123]", "[-1.2312312312312312e+29]"},
    {as_type::reals, "[100000000000000000000]", "[1e+20]"},
    {as_type::record, "{\"a\":100000000000000000000}", "{\"a\":1e+20}"},
};

// Also of any other type.
inline constexpr std::string_view refused_json[] = {
    "[1 true]", "[a\xe5]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
    "[3[4]]", "[\xff]", "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\x0b" "a\"\\f]",
    "[*]", "[\"\"", "[1,", "[1,\n1\n,1", "[{}", "[fals]", "[nul]", "[tru]", "123\0"sv, "[++1234]", "[+1]", "[+Inf]",
    "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]",
    "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]",
    "[Inf]", "[NaN]", "[\xef\xbc\x91]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[0e+-1]", "[-123.123foo]", "[123\xe5]",
    "[1e1\xe5]", "[0\xe5]\n", "[-Infinity]", "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1e\xe5]", "[1.]",
    "[.123]", "[1.2a-3]", "[1.8011670033376514H-308]", "[012]", "[\"x\", truth]", "{[: \"x\"}\n", "{\"x\", null}",
    "{\"x\"::\"b\"}", "{\xf0\x9f\x87\xa8\xf0\x9f\x87\xad}", "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"\xb9\":\"0\",}",
    "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}", "{null:null,null:null}",
    "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//",
    "{\"a\":\"b\"}/", "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }",
    "{\"a\":\"b\"}#", " ", "[\"\\uD800\\\"]", "[\"\\uD800\\u\"]", "[\"\\uD800\\u1\"]", "[\"\\uD800\\u1x\"]", "[\xc3\xa9]",
    "[\"\\\0\"]"sv, "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\\xf0\x9f\x8c\x80\"]", "[\"\\\"]", "[\"\\u00A\"]",
    "[\"\\uD834\\uDd\"]", "[\"\\uD800\\uD800\\x\"]", "[\"\\u\xe5\"]", "[\"\\a\"]", "[\"\\uqqqq\"]", "[\"\\\xe5\"]",
    "[\\u0020\"asd\"]", "[\\n]", "\"", "['single quote']", "abc", "[\"\\", "[\"a\0a\"]"sv, "[\"new\nline\"]", "[\"\t\"]",
    "\"\\UA66D\"", "\"\"x", "[\xe2\x81\xa0]", "\xef\xbb\xbf", "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "a\xc3\xa5",
    "[True]", "1]", "{\"x\": true,", "[][]", "]", "\xef\xbb{}", "\xe5", "[", "", "[\0]"sv, "2@", "{}}", "{\"\":",
    "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "['", "[,", "[{", "[\"a", "[\"a\"", "{", "{]", "{,", "{[", "{\"a",
    "{'a'", "[\"\\{[\"\\{[\"\\{[\"\\{", "\xe9", "*", "{\"a\":\"b\"}#{}", "[\\u000A\"\"]", "[1", "[ false, nul",
    "[ true, fals", "[ false, tru", "{\"asd\":\"asd\"", "\xc3\xa5", "[\x0c]",
    // Of which the RFC leaves it open: numbers beyond any real, halves of pairs, what is not UTF-8, a mark before it.
    "[0.4e00669999999999999999999999999999999999999999999999999999999]", "[-1e+9999]", "[1.5e+9999]", "[-123123e100000]",
    "[123123e100000]", "{\"\\uDFAA\":0}", "[\"\\uDADA\"]", "[\"\\uD888\\u1234\"]", "\xff\xfe[\0\"\0\xe9\0\"\0]\0"sv,
    "[\"\xe6\x97\xa5\xd1\x88\xfa\"]", "[\"\xed\xa0\x80\"]", "[\"\\uD800\\n\"]", "[\"\\uDd1ea\"]", "[\"\\uD800\\uD800\\n\"]",
    "[\"\\ud800\"]", "[\"\\ud800abc\"]", "[\"\xff\"]", "[\"\\uDd1e\\uD834\"]", "[\"\xe9\"]", "[\"\\uDFAA\"]", "[\"\x81\"]",
    "[\"\xf4\xbf\xbf\xbf\"]", "[\"\xc0\xaf\"]", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]", "[\"\xfc\x80\x80\x80\x80\x80\"]",
    "[\"\xe0\xff\"]", "\0[\0\"\0\xe9\0\"\0]"sv, "[\0\"\0\xe9\0\"\0]\0"sv, "\xef\xbb\xbf{}",
    // Which a reader may take and ours does not: a name that comes twice, elements of several types.
    "{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"b\",\"a\":\"b\"}", "[null, 1, \"1\", {}]",
};
// clang-format on

}  // namespace leat::test
