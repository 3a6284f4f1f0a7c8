// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/compile.hpp>

#include <algorithm>
#include <utility>

#include <leat/expression/compiler.hpp>

namespace leat::expression {

compiler::compiler(std::string_view source, const compile_options& how)
    : source_(source), how_(how), words_(source) {}

compiled compiler::run() {
  out_.source = source_;
  out_.most_keys = std::max<std::size_t>(how_.most_keys, 1);
  out_.longest_text = how_.longest_text;
  out_.most_remembered = how_.most_remembered;
  try {
    if (source_.size() > longest_source)
      fail({0, 0}, "an expression has at most " + std::to_string(longest_source) + " bytes");
    take();
    if (next_.kind == token_kind::end) fail({0, 0}, "the expression is empty");
    const part all = expression();
    if (next_.kind != token_kind::end) unexpected("an operator or the end");
    if ((all.type & how_.wanted).empty())
      wrong(all.at,
            "this must be " +
                (how_.wanted == truth ? std::string("a condition, true or false") : in_words(how_.wanted)) +
                ", not " + in_words(all.type));
    out_.gives = all.type;
  } catch (const stop&) {
  }
  compiled done;
  done.found = std::move(found_);
  if (done.found.empty()) done.result = std::make_shared<const program>(std::move(out_));
  return done;
}

token compiler::take() {
  token was = std::exchange(next_, words_.next());
  if (next_.kind == token_kind::wrong) fail(next_.at, next_.text);
  return was;
}

span compiler::skip() {
  const span at = next_.at;
  take();
  return at;
}
void compiler::refuse(const char* why) { fail(next_.at, why); }
void compiler::otherwise() { expect(":", "and what it is otherwise"); }
void compiler::separator(const char* context) { expect(",", context); }

bool compiler::accept(std::string_view what) {
  if (!next_.is(what)) return false;
  take();
  return true;
}

token compiler::expect(std::string_view what, std::string_view context) {
  if (next_.is(what)) return take();
  unexpected("'" + std::string(what) + "' " + std::string(context));
}

void compiler::wrong(span at, std::string why) {
  constexpr std::size_t enough = 20;
  if (found_.size() < enough) found_.push_back({std::move(why), at.offset, at.length});
}

void compiler::fail(span at, std::string why) {
  wrong(at, std::move(why));
  throw stop();
}

void compiler::unexpected(std::string_view wanted) {
  if (next_.is("and") || next_.is("or") || next_.is("not")) {
    const char* const symbol = next_.is("and") ? "&&" : next_.is("or") ? "||" : "!";
    fail(next_.at, "write " + std::string(symbol) + " for '" + std::string(next_.source) + "'");
  }
  const std::string got = next_.kind == token_kind::end
                              ? "the expression ends here"
                              : "'" + std::string(source_.substr(next_.at.offset, next_.at.length)) + "'";
  fail(next_.at,
       "expected " + std::string(wanted) + (next_.kind == token_kind::end ? ", but " : ", not ") + got);
}

std::size_t compiler::emit(instruction i, span at, int change) {
  constexpr std::size_t most = 20'000;
  if (code_->steps.size() >= most) fail(at, "this expression is too long");
  code_->steps.push_back(i);
  code_->places.push_back(at);
  depth_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(depth_) + change);
  out_.depth = std::max(out_.depth, depth_);
  return code_->steps.size() - 1;
}

compiled compile(std::string_view source, const compile_options& how) { return compiler(source, how).run(); }

std::vector<std::string> paths_of(const program& p) {
  std::vector<std::string> all;
  for (const path& one : p.paths) all.push_back(one.text);
  return all;
}

kinds result_of(const program& p) noexcept { return p.gives; }

value_kind kind_of_result(const program& p) noexcept {
  const kinds k = p.gives.without(kind::null);
  if (k == truth) return value_kind::boolean;
  if (k == kind::integer) return value_kind::integer;
  if (k == kind::real || k == numeric) return value_kind::real;
  if (k == kind::text) return value_kind::text;
  if (k == kind::duration) return value_kind::duration;
  if (k == kind::moment) return value_kind::moment;
  return value_kind::any;
}

std::string render(std::string_view source, const wrong_part& w) {
  const std::size_t at = std::min(w.offset, source.size());
  const std::size_t begin = at == 0 ? 0 : source.rfind('\n', at - 1) + 1;  // npos + 1: the first line
  const std::string_view line = source.substr(begin, source.find('\n', begin) - begin);
  const auto number =
      1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  const auto characters = [](std::string_view t) {
    return static_cast<std::size_t>(std::count_if(
        t.begin(), t.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
  };
  const std::size_t column = characters(line.substr(0, at - begin));
  const std::size_t width =
      std::max<std::size_t>(1, characters(line.substr(std::min(at - begin, line.size()), w.length)));
  return "expression:" + std::to_string(number) + ':' + std::to_string(column + 1) + ": error: " + w.why +
         "\n  " + std::string(line) + "\n  " + std::string(column, ' ') + std::string(width, '^') + '\n';
}

}  // namespace leat::expression
