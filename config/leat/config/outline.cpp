// SPDX-License-Identifier: BSL-1.0
#include <leat/config/outline.hpp>

#include <utility>

namespace leat::config {

namespace {

class scanner {
 public:
  scanner(std::string_view text, std::uint32_t file) : text_(text), file_(file) {}

  outline run() {
    while (!done()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        advance();
      else if (c == '#')
        skip_line();
      else if (c == '[')
        header();
      else if (!foreign())
        pair();
    }
    return std::move(out_);
  }

 private:
  bool done() const noexcept { return at_ >= text_.size() || out_.refused; }
  char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void advance() noexcept {
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    if (byte == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(peek()) & 0xc0) != 0x80) {
      ++column_;
    }
  }
  void skip_line() noexcept {
    while (!done() && peek() != '\n') advance();
  }
  void skip_blanks() noexcept {
    while (!done() && (peek() == ' ' || peek() == '\t')) advance();
  }
  static bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }
  // At a character that may stand in quotes and comments only.
  bool foreign() {
    if (done() || is_ascii(peek())) return false;
    refuse("bad TOML: a character outside of ASCII; names with such characters need quotes");
    return true;
  }
  // The parser stops here too, so nothing behind it matters.
  void malformed() {
    if (!foreign()) at_ = text_.size();
  }
  source_location here() const noexcept { return {file_, line_, column_, 1}; }

  static bool is_bare(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  }

  // Behind a backslash in a text of several lines: a line end and all blanks, or one character.
  void skip_line_ending() {
    const auto blank = [&] {
      return !done() && (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n');
    };
    if (done() || foreign()) return;
    if (!blank()) return advance();
    while (blank()) advance();
    if (!done() && !is_ascii(peek())) out_.to_escape.push_back(at_);
  }

  // Behind the closing quote, or at the end of the line of a string that has none.
  void skip_string() {
    const char quote = peek();
    const bool many_lines = peek(1) == quote && peek(2) == quote;
    const source_location begin = here();
    for (int i = 0; i < (many_lines ? 3 : 1); ++i) advance();
    while (!done()) {
      const char c = peek();
      if (c == '\\' && quote == '"') {
        advance();
        if (many_lines)
          skip_line_ending();
        else if (!done() && peek() != '\n')
          advance();
        continue;
      }
      if (!many_lines && c == '\n') break;
      if (c == quote && (!many_lines || (peek(1) == quote && peek(2) == quote))) {
        // """" and """"" end with quotes that belong to the text.
        for (int i = 0; i < (many_lines ? 5 : 1) && peek() == quote; ++i) advance();
        return;
      }
      advance();
    }
    source_location at = begin;
    if (many_lines) at.length = 3;
    mistaken(at, std::string("the string that begins here has no closing quote") +
                     (many_lines ? "s: three of them, as at its begin" : " on its line"));
  }

  void mistaken(source_location at, const std::string& text) {
    if (!out_.mistake) out_.mistake = outline::error{at, "bad TOML: " + text};
  }

  // a . "b" . c, into path; stops in front of what follows.
  bool key(std::string& path) {
    for (unsigned segments = 1;; ++segments) {
      if (segments > max_segments) {
        refuse("a key of more than " + std::to_string(max_segments) + " parts: too deep");
        return false;
      }
      const std::size_t begin = at_;
      if (peek() == '"' || peek() == '\'') {
        skip_string();
        const std::size_t length = at_ - begin;
        path.append(text_.substr(begin + 1, length < 2 ? 0 : length - 2));
      } else {
        while (!done() && is_bare(peek())) advance();
        if (at_ == begin) return false;
        path.append(text_.substr(begin, at_ - begin));
      }
      key_end_ = at_;
      key_end_column_ = column_;
      skip_blanks();
      if (done() || peek() != '.') return true;
      advance();
      skip_blanks();
      path += '\x01';
    }
  }

  void header() {
    outline::statement s;
    s.header = true;
    s.at = here();
    s.offset = at_;
    advance();
    if (peek() == '[') {
      s.array = true;
      advance();
    }
    skip_blanks();
    if (!key(s.path) || peek() != ']') return malformed();
    advance();
    if (s.array && peek() == ']') advance();
    s.length = at_ - s.offset;
    s.at.length = column_ - s.at.column;
    s.last_line = line_;
    skip_blanks();
    if (foreign()) return;
    skip_line();
    header_ = s.path;
    out_.statements.push_back(std::move(s));
  }

  void pair() {
    outline::statement s;
    s.at = here();
    s.offset = at_;
    if (!header_.empty()) s.path = header_ + '\x01';
    if (!key(s.path) || peek() != '=') return malformed();
    s.length = key_end_ - s.offset;
    s.at.length = key_end_column_ - s.at.column;
    advance();
    skip_value();
    s.last_line = line_;
    skip_line();
    out_.statements.push_back(std::move(s));
  }

  // To the end of its last line. Never stops before the parser does.
  void skip_value() {
    enum class wants : std::uint8_t { value, key, end };
    wants next = wants::value;
    std::string open;  // brackets and braces
    std::vector<source_location> opened;
    std::optional<source_location> comma;  // if nothing stands behind it
    const auto close = [&](char bracket) {
      if (open.empty() || open.back() != bracket) return malformed();
      if (bracket == '{' && comma) mistaken(*comma, "an inline table has no comma before its }");
      open.pop_back();
      opened.pop_back();
      advance();
      next = wants::end;
    };
    while (!done()) {
      const char c = peek();
      if (c == '\n' && open.empty()) return;
      if (c == '\n' && open.back() == '{')
        mistaken(opened.back(),
                 "an inline table { } ends on the line where it begins; one of several lines has a header of "
                 "its own, as "
                 "[process.NAME.config]");
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        advance();
      } else if (c == '#') {
        skip_line();
      } else if (next == wants::value && (c == '"' || c == '\'')) {
        skip_string();
        next = wants::end;
      } else if (next == wants::value && (c == '[' || c == '{')) {
        if (open.size() == max_depth)
          return refuse("brackets in more than " + std::to_string(max_depth) + " levels: too deep");
        open += c;
        opened.push_back(here());
        next = c == '[' ? wants::value : wants::key;
        advance();
      } else if (c == ']') {
        close('[');
      } else if (c == '}') {
        close('{');
      } else if (next == wants::value) {
        skip_token();
        next = wants::end;
      } else if (next == wants::key) {
        std::string path;
        comma.reset();
        if (!key(path) || peek() != '=') return malformed();
        advance();
        next = wants::value;
      } else if (c == ',' && !open.empty()) {
        next = open.back() == '[' ? wants::value : wants::key;
        if (next == wants::key) comma = here();
        advance();
      } else {
        return malformed();
      }
    }
  }

  // A number, a date, true or false. The parser looks at all of it, quotes or not, before it decides.
  void skip_token() {
    const std::size_t begin = at_;
    source_location at = here();
    while (!done() && std::string_view(" \t\r\n,]}#").find(peek()) == std::string_view::npos) {
      if (foreign()) return;
      advance();
    }
    if (at_ == begin) return malformed();
    at.length = column_ - at.column;
    bare_text(text_.substr(begin, at_ - begin), at);
  }

  // A word, a path: what begins like neither a number nor anything else that stands without quotes.
  void bare_text(std::string_view word, source_location at) {
    const char first = word.front();
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!letter && std::string_view("/~_$@%*:").find(first) == std::string_view::npos) return;
    for (const std::string_view known : {"true", "false", "inf", "nan"})
      if (word == known) return;
    for (const std::string_view flag :
         {"True", "False", "TRUE", "FALSE", "yes", "no", "Yes", "No", "on", "off", "On", "Off"})
      if (word == flag) return mistaken(at, "a flag is `true` or `false`; text needs quotes");
    const bool has_quotes = word.find_first_of("\"'\\") != std::string_view::npos;
    mistaken(at, "text needs quotes" + (has_quotes ? std::string() : ": \"" + std::string(word) + '"'));
  }

  void refuse(std::string text) { out_.refused = outline::error{here(), std::move(text)}; }

  std::string_view text_;
  std::uint32_t file_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1, column_ = 1;
  std::size_t key_end_ = 0;
  std::uint32_t key_end_column_ = 1;
  std::string header_;
  outline out_;
};

}  // namespace

outline outline_of(std::string_view text, std::uint32_t file) { return scanner(text, file).run(); }

}  // namespace leat::config
