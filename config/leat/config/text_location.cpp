// SPDX-License-Identifier: BSL-1.0
#include <leat/config/text_location.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace leat::config {
namespace {

void append_character(std::string& to, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { to += static_cast<char>(static_cast<unsigned char>(b)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0U | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xe0U | c >> 12);
    } else {
      byte(0xf0U | (c >> 18 & 0x07U));
      byte(0x80U | (c >> 12 & 0x3fU));
    }
    byte(0x80U | (c >> 6 & 0x3fU));
  }
  byte(0x80U | (c & 0x3fU));
}

// Walks the source of a text and its meaning side by side.
class text_walk {
 public:
  text_walk(std::string_view source, std::size_t at, std::string_view text)
      : source_(source), at_(at), text_(text) {
    for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"}) {
      if (!source_.substr(at_).starts_with(quote)) continue;
      escapes_ = quote.front() == '"';
      lines_ = quote.size() == 3;
      at_ += quote.size();
      if (lines_) (void)(accept("\r\n") || accept("\n"));
      good_ = true;
      return;
    }
  }

  // Where the byte of this number comes from; none: the source is another text.
  std::optional<std::size_t> source_of(std::size_t byte) {
    while (good_ && done_ < byte) step();
    if (good_ && escapes_ && lines_) skip_joined_lines();
    return good_ && done_ == byte ? std::optional(at_) : std::nullopt;
  }

 private:
  bool accept(std::string_view what) {
    if (!source_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  // A backslash at the end of a line joins it with what follows the blanks.
  void skip_joined_lines() {
    for (;;) {
      std::size_t i = at_;
      if (i >= source_.size() || source_[i] != '\\') return;
      ++i;
      while (i < source_.size() && (source_[i] == ' ' || source_[i] == '\t' || source_[i] == '\r')) ++i;
      if (i >= source_.size() || source_[i] != '\n') return;
      while (i < source_.size() && std::string_view(" \t\r\n").find(source_[i]) != std::string_view::npos)
        ++i;
      at_ = i;
    }
  }
  // One character of the text, or one escape.
  void step() {
    if (escapes_ && lines_) skip_joined_lines();
    if (at_ >= source_.size() || done_ >= text_.size()) return void(good_ = false);
    std::string means;
    if (escapes_ && source_[at_] == '\\')
      means = escape();
    else if (source_.substr(at_).starts_with("\r\n") && text_[done_] == '\n')
      ++at_, means += source_[at_++];
    else
      means += source_[at_++];
    if (means.empty() || !text_.substr(done_).starts_with(means)) return void(good_ = false);
    done_ += means.size();
  }
  std::string escape() {
    if (++at_ >= source_.size()) return {};
    const char c = source_[at_++];
    constexpr std::string_view names = "btnfre\"\\", meanings = "\b\t\n\f\r\x1b\"\\";
    if (const std::size_t i = names.find(c); i != std::string_view::npos) return std::string(1, meanings[i]);
    const std::size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' ? 2 : 0;
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const std::size_t digit = at_ < source_.size()
                                    ? std::string_view("0123456789abcdefABCDEF").find(source_[at_])
                                    : std::string_view::npos;
      if (digit == std::string_view::npos) return {};
      code = code << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    std::string out;
    if (digits > 0) append_character(out, code);
    return out;
  }

  std::string_view source_;
  std::size_t at_;
  std::string_view text_;
  std::size_t done_ = 0;  // bytes of the text that are behind us
  bool escapes_ = false, lines_ = false, good_ = false;
};

std::uint32_t characters_in(std::string_view text) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) i = next_character(text, i).next;
  return n;
}

}  // namespace

source_location location_in_text(const source_set& sources, source_location whole, std::string_view text,
                                 std::size_t offset, std::size_t length) {
  if (!whole.known() || whole.file >= sources.size()) return whole;
  const source_file& file = sources[whole.file];
  const std::string_view line = file.line(whole.line);
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < whole.column && begin < line.size(); ++i)
    begin = next_character(line, begin).next;
  const std::string_view all = file.text();
  text_walk walk(all, static_cast<std::size_t>(line.data() - all.data()) + begin, text);
  const std::optional<std::size_t> from = walk.source_of(std::min(offset, text.size()));
  if (!from) return whole;
  const std::size_t to = walk.source_of(std::min(offset + length, text.size())).value_or(*from + 1);
  source_location out = whole;
  out.line = static_cast<std::uint32_t>(
      1 + std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(*from), '\n'));
  const std::string_view there = file.line(out.line);
  const std::size_t column = *from - static_cast<std::size_t>(there.data() - all.data());
  out.column = 1 + characters_in(there.substr(0, std::min(column, there.size())));
  out.length =
      std::max<std::uint32_t>(1, column < there.size() ? characters_in(there.substr(column, to - *from)) : 1);
  return out;
}

void locate_parts(const source_set& sources, diagnostics& found) {
  for (diagnostic& d : found.all())
    if (d.part.length > 0) d.at = location_in_text(sources, d.at, d.part.text, d.part.offset, d.part.length);
}

}  // namespace leat::config
