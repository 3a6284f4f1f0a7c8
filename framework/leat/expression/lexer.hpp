// SPDX-License-Identifier: BSL-1.0
//
// The words of an expression, one at a time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>

namespace leat::expression {

enum class token_kind : std::uint8_t { end, name, integer, real, duration, text, symbol, wrong };

// A part of the source.
struct span {
  std::size_t offset = 0, length = 0;

  std::size_t end() const noexcept { return offset + length; }
};
inline span operator+(span from, span to) noexcept { return {from.offset, to.end() - from.offset}; }

struct token {
  token_kind kind = token_kind::end;
  span at = {};
  std::string_view source = {};  // a name, or a symbol: "<="
  std::int64_t integer = 0;      // nanoseconds of a duration
  double real = 0;
  std::string text = {};   // what a text says; of a wrong one what is wrong
  bool too_large = false;  // the integer is 9223372036854775808, which is good behind a minus sign only

  bool is(std::string_view symbol_or_name) const noexcept {
    return (kind == token_kind::symbol || kind == token_kind::name) && source == symbol_or_name;
  }
};

class lexer {
 public:
  // The text must live as long.
  explicit lexer(std::string_view source) noexcept : source_(source) {}
  // After a wrong one, nothing is to be read.
  token next();

 private:
  token number(std::size_t from);
  token quoted(std::size_t from);
  token symbol(std::size_t from) const;
  token make(token_kind k, std::size_t from, std::size_t to) const {
    return {.kind = k, .at = {from, to - from}, .source = source_.substr(from, to - from)};
  }
  token wrong(std::size_t from, std::size_t to, std::string why) const {
    token t = make(token_kind::wrong, from, to);
    t.text = std::move(why);
    return t;
  }

  std::string_view source_;
  std::size_t at_ = 0;
};

bool is_name(std::string_view text) noexcept;

}  // namespace leat::expression
