// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <leat/base/json_scalar.hpp>

namespace leat::remote {
namespace {

// Throws json_error, with `at` only; read_json makes line and column of it.
class json_parser {
 public:
  json_parser(std::string_view text, const json_bounds& bounds) : text_(text), bounds_(bounds) {}

  json whole() {
    if (text_.size() > json_size) fail("it has more than 64 MiB");
    json v;
    value(v, 0);
    if (at_ < text_.size()) fail("there is more behind the value");
    return v;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw json_error{what, at_}; }
  bool ended() const { return at_ >= text_.size(); }
  char peek() const { return ended() ? '\0' : text_[at_]; }
  void blanks() {
    while (!ended() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char c) {
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void word(std::string_view w) {
    if (!text_.substr(at_).starts_with(w)) fail("a value is missing");
    at_ += w.size();
  }

  void value(json& v, std::size_t depth) {
    if (depth > json_depth) fail("it is nested more than 64 deep");
    if (&v != &passed_ && ++values_ > bounds_.most_values) fail("it has more values than are read at a time");
    blanks();
    if (ended()) fail("it ends too early");
    v.begin = at_;
    switch (peek()) {
      case '{': table(v, depth); break;
      case '[': list(v, depth); break;
      case '"':
        v.what = json::kind::text;
        v.text = quoted();
        break;
      case 't':
      case 'f':
        v.what = json::kind::boolean;
        v.flag = peek() == 't';
        word(v.flag ? "true" : "false");
        break;
      case 'n': word("null"); break;
      default: number(v);
    }
    v.end = at_;
    blanks();
  }

  void table(json& v, std::size_t depth) {
    v.what = json::kind::table;
    ++at_;
    blanks();
    if (take('}')) return;
    for (;;) {
      blanks();
      if (peek() != '"') fail(ended() ? "it ends too early" : "a key in quotes is missing");
      json& member = keeps_below(depth) ? v.members.emplace_back() : passed_;
      member.key = quoted();
      blanks();
      if (!take(':')) fail(ended() ? "it ends too early" : "a ':' is missing");
      value(member, depth + 1);
      if (take('}')) return;
      if (!take(',')) fail(ended() ? "it ends too early" : "a comma or '}' is missing");
    }
  }

  void list(json& v, std::size_t depth) {
    v.what = json::kind::list;
    ++at_;
    blanks();
    if (take(']')) return;
    for (;;) {
      value(keeps_below(depth) ? v.elements.emplace_back() : passed_, depth + 1);
      if (take(']')) return;
      if (!take(',')) fail(ended() ? "it ends too early" : "a comma or ']' is missing");
    }
  }

  void number(json& v) {
    const std::size_t begin = at_;
    if (peek() != '-' && (peek() < '0' || peek() > '9')) fail("a value is missing");
    at_ = good(scan_json_number(text_, at_)).end;
    v.what = json::kind::number;
    v.text = text_.substr(begin, at_ - begin);
    const auto r = std::from_chars(v.text.data(), v.text.data() + v.text.size(), v.number);
    if (r.ec == std::errc::result_out_of_range) {
      // Too small is nothing, too large is the largest; the text says what it was.
      const std::size_t e = v.text.find_first_of("eE");
      const bool small = v.text.find_first_of("123456789") >= std::min(v.text.find('.'), e) ||
                         (e != std::string::npos && v.text.find('-', e) != std::string::npos);
      v.number = small ? 0.0 : std::numeric_limits<double>::max();
      if (v.text[0] == '-') v.number = -v.number;
    }
  }

  std::string quoted() {
    std::string out;
    at_ = good(scan_json_text(text_, at_ + 1, out, json_texts::lenient)).end;
    return out;
  }
  json_scalar good(const json_scalar& s) {
    if (s.flaw == json_flaw::none) return s;
    at_ = s.at;
    fail(to_string(s.flaw));
  }

  bool keeps_below(std::size_t depth) const { return depth < bounds_.kept_depth; }

  std::string_view text_;
  const json_bounds bounds_;
  std::size_t at_ = 0, values_ = 0;
  json passed_ = {};  // stands for each value that is not kept
};

}  // namespace

json_result read_json(std::string_view text, const json_bounds& bounds) {
  json_result r;
  try {
    r.value = json_parser(text, bounds).whole();
  } catch (json_error& f) {
    for (const char c : text.substr(0, f.at)) {
      if (c == '\n') {
        ++f.line;
        f.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
        ++f.column;
      }
    }
    r.error = std::move(f);
  }
  return r;
}

const json* json::find(std::string_view name) const noexcept {
  for (const json& m : members)
    if (m.key == name) return &m;
  return nullptr;
}

std::string_view json::text_of(std::string_view name) const noexcept {
  const json* const v = find(name);
  return v && v->what == kind::text ? std::string_view(v->text) : std::string_view();
}

double json::number_of(std::string_view name, double otherwise) const noexcept {
  const json* const v = find(name);
  return v && v->what == kind::number ? v->number : otherwise;
}

std::uint64_t json::count_of(std::string_view name) const noexcept {
  const double v = number_of(name);
  if (!(v > 0)) return 0;
  return v >= 0x1p64 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(v);
}

bool json::flag_of(std::string_view name, bool otherwise) const noexcept {
  const json* const v = find(name);
  return v && v->what == kind::boolean ? v->flag : otherwise;
}

std::vector<std::string> json::texts_of(std::string_view name) const {
  std::vector<std::string> all;
  for (const json& e : list_of(name))
    if (e.what == kind::text) all.push_back(e.text);
  return all;
}

const std::vector<json>& json::list_of(std::string_view name) const noexcept {
  static const std::vector<json> none;
  const json* const v = find(name);
  return v && v->what == kind::list ? v->elements : none;
}

}  // namespace leat::remote
