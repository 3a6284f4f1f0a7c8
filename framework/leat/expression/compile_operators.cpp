// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/compiler.hpp>

namespace leat::expression {

// As deep as a stack of 64 KiB bears: a level takes some 2 KiB, 3 without optimisation, and counts twice.
class compiler::nested {
 public:
  explicit nested(compiler& c) : c_(c) {
    constexpr std::size_t deepest = 24;
    if (++c_.nesting_ > deepest)
      c_.fail(c_.next_.at, "this is nested too deeply: make a field of a part with `compute`");
  }
  ~nested() { --c_.nesting_; }

 private:
  compiler& c_;
};

// Something that decides.
compiler::part compiler::condition(const part& p) {
  if ((p.type & truth).empty())
    wrong(p.at, "expected a condition, true or false; this is " + in_words(p.type));
  return {truth, p.at};
}

compiler::part compiler::expression() {
  const nested deeper(*this);
  const part left = either();
  if (!next_.is("?")) return left;
  (void)condition(left);
  skip();
  const std::size_t choice = emit({opcode::choose}, left.at, -1);
  const part yes = expression();
  otherwise();
  const std::size_t end = emit({opcode::jump}, yes.at, -1);
  land(choice);
  const part no = expression();
  land(end);
  return {yes.type | no.type, left.at + no.at};
}

compiler::part compiler::logical(part (compiler::*side)(), std::string_view symbol, opcode first,
                                 opcode then) {
  part left = (this->*side)();
  std::vector<std::size_t> decided;
  while (next_.is(symbol)) {
    (void)condition(left);
    const span at = skip();
    decided.push_back(emit({first}, left.at, 0));
    const part right = condition((this->*side)());
    emit({then}, at, -1);
    left = {truth, left.at + right.at};
  }
  for (const std::size_t jump : decided) land(jump);
  return left;
}

compiler::part compiler::either() { return logical(&compiler::both, "||", opcode::or_, opcode::either); }
compiler::part compiler::both() { return logical(&compiler::comparison, "&&", opcode::and_, opcode::both); }

compiler::part compiler::operate(binary b, part left, part right) {
  const span at = left.at + right.at;
  kinds type = result_of(b, left.type, right.type);
  if (type.empty()) {
    const bool compares = b >= binary::eq;
    std::string why = std::string(compares ? "cannot compare " : "there is no ") +
                      (compares ? "" : "'" + std::string(to_string(b)) + "' of ") + in_words(left.type) +
                      " and " + in_words(right.type);
    if (left.type == kind::text || right.type == kind::text)
      why += compares ? "; number(x) makes a number of a text" : "; text(x) makes a text of the other";
    wrong(at, std::move(why));
    type = compares ? truth : anything;
  }
  if (b >= binary::eq && left.is_path && right.is_literal)
    fuse(b, at);
  else if (b >= binary::eq)
    emit({opcode::test, static_cast<std::uint8_t>(b)}, at, -1);
  else
    emit({opcode::operate, static_cast<std::uint8_t>(b), 0, b == binary::add ? text_place() : 0}, at, -1);
  return {type, at};
}

// The last two were a field and a constant.
void compiler::fuse(binary b, span at) {
  const std::uint32_t constant = code_->steps.back().index;
  if (constant > UINT16_MAX) return void(emit({opcode::test, static_cast<std::uint8_t>(b)}, at, -1));
  const std::uint32_t field = code_->steps[code_->steps.size() - 2].index;
  for (int i = 0; i < 2; ++i) code_->steps.pop_back(), code_->places.pop_back();
  emit({opcode::compare, static_cast<std::uint8_t>(b), static_cast<std::uint16_t>(constant), field}, at, -1);
}

compiler::part compiler::comparison() {
  const part left = sum();
  constexpr binary all[] = {binary::eq, binary::ne, binary::le, binary::ge, binary::lt, binary::gt};
  for (const binary b : all) {
    if (!next_.is(to_string(b))) continue;
    skip();
    const part right = sum();
    const part out = operate(b, left, right);
    for (const binary again : all)
      if (next_.is(to_string(again))) refuse("comparisons do not chain: join two of them with &&");
    return out;
  }
  if (next_.is("not")) {
    skip();
    if (!next_.is("in")) unexpected("'in' behind 'not'");
    skip();
    return among(left, false);
  }
  if (next_.is("in")) return skip(), among(left, true);
  return next_.is("is") ? skip(), is(left) : left;
}

compiler::part compiler::is(const part& left) {
  const bool wanted = !accept("not");
  const token what = next_;
  if (!what.is("missing") && !what.is("null")) unexpected("'missing' or 'null' behind 'is'");
  take();
  const span at = left.at + what.at;
  if (left.is_path) code_->steps.back().arg = 1;
  emit({opcode::is, static_cast<std::uint8_t>(what.is("null"))}, at, 0);
  if (!wanted) emit({opcode::not_}, at, 0);
  return {truth, at};
}

compiler::part compiler::among(const part& left, bool wanted) {
  const nested deeper(*this);
  part out{truth, left.at};
  if (next_.is("[")) {
    take();
    std::size_t n = 0;
    constexpr std::size_t most = 1000;
    while (!next_.is("]")) {
      if (n > 0) expect(",", "or ']' in this list");
      if (++n > most) fail(next_.at, "a list has at most 1000 elements");
      const part e = expression();
      if (result_of(binary::eq, left.type, e.type).empty())
        wrong(e.at, "this is " + in_words(e.type) + ", which " + in_words(left.type) + " never equals");
    }
    out.at = left.at + take().at;
    emit({opcode::among, 0, static_cast<std::uint16_t>(n)}, out.at, -static_cast<int>(n));
  } else {
    const part list = primary();
    out.at = left.at + list.at;
    if (!list.type.has(kind::list))
      wrong(list.at, "expected a list, such as [1, 2]; this is " + in_words(list.type) +
                         (list.type == kind::text ? "; contains(text, part) looks into a text" : ""));
    emit({opcode::in_list}, out.at, -1);
  }
  if (!wanted) emit({opcode::not_}, out.at, 0);
  return out;
}

compiler::part compiler::sum() {
  part left = product();
  while (next_.is("+") || next_.is("-")) {
    const binary b = next_.is("+") ? binary::add : binary::subtract;
    skip();
    left = operate(b, left, product());
  }
  return left;
}

compiler::part compiler::product() {
  part left = unary();
  while (next_.is("*") || next_.is("/") || next_.is("%")) {
    const binary b = next_.is("*") ? binary::multiply : next_.is("/") ? binary::divide : binary::remainder;
    skip();
    left = operate(b, left, unary());
  }
  return left;
}

compiler::part compiler::unary() {
  const nested deeper(*this);
  if (next_.is("!")) {
    const span at = skip();
    const part of = condition(unary());
    emit({opcode::not_}, at + of.at, 0);
    return {truth, at + of.at};
  }
  if (!next_.is("-")) return primary();
  const span at = skip();
  return next_.kind == token_kind::integer && next_.too_large ? least_integer(at) : negated(at, unary());
}

compiler::part compiler::least_integer(span minus) {
  const part least = literal(field_value(INT64_MIN), kind::integer);
  return {least.type, minus + least.at};
}

compiler::part compiler::negated(span minus, const part& of) {
  const kinds type = of.type & (numeric | kind::duration);
  if (type.empty()) wrong(minus + of.at, "there is no '-' of " + in_words(of.type));
  emit({opcode::negate}, minus + of.at, 0);
  return {type.empty() ? anything : type, minus + of.at};
}

compiler::part compiler::literal(field_value v, kinds type) {
  const span at = skip();
  out_.constants.push_back(std::move(v));
  emit({opcode::constant, 0, 0, static_cast<std::uint32_t>(out_.constants.size() - 1)}, at, 1);
  return {type, at, false, true};
}

compiler::part compiler::literal_word() {
  switch (next_.kind) {
    case token_kind::integer:
      if (next_.too_large) fail(next_.at, "this number is too large: an integer has 64 bits");
      return literal(field_value(next_.integer), kind::integer);
    case token_kind::real: return literal(field_value(next_.real), kind::real);
    case token_kind::duration: return literal(field_value(nanoseconds(next_.integer)), kind::duration);
    case token_kind::text: return literal(field_value(next_.text), kind::text);
    default: break;
  }
  if (next_.is("[")) fail(next_.at, "a list stands behind 'in' only");
  unexpected("a value");
}

compiler::part compiler::primary() {
  if (next_.kind == token_kind::name) return name();
  if (!next_.is("(")) return literal_word();
  const span open = skip();
  part inside = expression();
  inside.at = open + close(open);
  inside.is_path = inside.is_literal = false;
  return inside;
}

span compiler::close(span open) {
  if (next_.is(")")) return skip();
  if (next_.kind == token_kind::end) fail(open, "this '(' is not closed");
  unexpected("an operator or ')'");
}

}  // namespace leat::expression
