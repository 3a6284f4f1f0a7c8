// SPDX-License-Identifier: BSL-1.0
//
// One pass over the text: it reads words, checks kinds and writes instructions as it goes. Not installed.
//
// Each part returns what it is: which kinds its value may have, and its place. After a type error it may be
// anything, so that one mistake is reported once. A syntax error throws `stop`, which compile() catches.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/expression/compile.hpp>
#include <leat/expression/functions.hpp>
#include <leat/expression/lexer.hpp>
#include <leat/expression/program.hpp>

namespace leat::expression {

class compiler {
 public:
  compiler(std::string_view source, const compile_options& how);
  compiled run();

 private:
  struct part {
    kinds type;
    span at;
    bool is_path = false, is_literal = false;
  };
  struct stop {};

  // compile.cpp
  part expression();
  part either();
  part both();
  part comparison();
  part sum();
  part product();
  part unary();
  part primary();
  // What follows is apart so that the functions that call one another have small frames.
  [[gnu::noinline]] part literal(field_value v, kinds type);
  [[gnu::noinline]] part literal_word();
  [[gnu::noinline]] part least_integer(span minus);
  [[gnu::noinline]] part negated(span minus, const part& of);
  [[gnu::noinline]] span close(span open);
  part among(const part& left, bool wanted);
  part is(const part& left);
  [[gnu::noinline]] part operate(binary b, part left, part right);
  void fuse(binary b, span at);
  part logical(part (compiler::*side)(), std::string_view symbol, opcode first, opcode then);
  [[gnu::noinline]] part condition(const part& p);

  // compile_calls.cpp
  part name();
  [[gnu::noinline]] std::optional<part> simple_name(std::string_view word, span at);
  part call(std::string_view name, span at);
  [[gnu::noinline]] const function_schema& function_named(std::string_view word, span at);
  [[gnu::noinline]] void argument(const function_schema& f, const part& a, std::vector<kinds>& types);
  [[gnu::noinline]] part finish_call(const function_schema& f, std::vector<kinds>& types, span at);
  part now(span at);
  part remember(std::string_view name, remembering what, span at);
  [[gnu::noinline]] void remember_one_more(span at);
  void window_length(memory_plan& plan, std::string_view name);
  bool key(std::string_view function);
  part field(std::string first, span at);
  path read_path(std::string first, span& at);
  static path path_of(std::string_view text);
  std::string quoted_name();
  kinds check_path(const path& p, span at);

  // Words.
  [[gnu::noinline]] token take();
  [[gnu::noinline]] span skip();
  [[gnu::noinline]] void otherwise();
  [[gnu::noinline]] void separator(const char* context);
  bool accept(std::string_view what);
  token expect(std::string_view what, std::string_view context);
  [[noreturn]] void fail(span at, std::string why);
  [[noreturn]] void refuse(const char* why);  // of the next word
  [[noreturn]] void unexpected(std::string_view wanted);
  void wrong(span at, std::string why);

  // Instructions. `change`: of the depth of the stack.
  std::size_t emit(instruction i, span at, int change);
  void land(std::size_t jump) { code_->steps[jump].index = static_cast<std::uint32_t>(code_->steps.size()); }
  // 0 is nobody's.
  std::uint32_t text_place() { return static_cast<std::uint32_t>(++out_.texts); }
  std::uint32_t add_path(path p);

  class nested;  // counts how deep it is

  std::string_view source_;
  const compile_options& how_;
  lexer words_;
  token next_;
  program out_;
  code* code_ = &out_.main;
  std::size_t depth_ = 0;    // of the stack now
  std::size_t nesting_ = 0;  // of parentheses and the like
  std::size_t remembering_ = 0;
  std::vector<wrong_part> found_;
};

}  // namespace leat::expression
