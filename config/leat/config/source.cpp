// SPDX-License-Identifier: BSL-1.0
#include <leat/config/source.hpp>

#include <utility>

namespace leat::config {

source_file::source_file(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  // A byte order mark has no column.
  if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
  starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') starts_.push_back(i + 1);
}

std::string_view source_file::line(std::uint32_t number) const noexcept {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t begin = starts_[number - 1];
  const std::size_t end = number < starts_.size() ? starts_[number] - 1 : text_.size();
  std::string_view out = std::string_view(text_).substr(begin, end - begin);
  if (!out.empty() && out.back() == '\r') out.remove_suffix(1);
  return out;
}

std::uint32_t source_set::add(std::string name, std::string text) {
  files_.emplace_back(std::move(name), std::move(text));
  entries_.push_back(entry{static_cast<std::uint32_t>(files_.size() - 1), size(), true, {}});
  return size() - 1;
}

std::uint32_t source_set::add_argument(std::string name, std::string text) {
  const std::uint32_t added = add(std::move(name), std::move(text));
  entries_[added].is_file = false;
  return added;
}

std::uint32_t source_set::add_use(std::uint32_t file, source_location used_at, std::string what,
                                  std::string prefix) {
  const std::uint32_t origin = entries_[file].origin;
  entries_.push_back(
      entry{entries_[file].text, origin, false, use{used_at, std::move(what), std::move(prefix)}});
  return size() - 1;
}

utf8_step next_character(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {first, at + 1};
  const unsigned more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
  if (more == 0 || first >= 0xf5 || at + more >= text.size()) return {0xfffd, at + 1};
  char32_t c = first & (0x3fu >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {0xfffd, at + 1};
    c = c << 6 | (byte(at + i) & 0x3fu);
  }
  return {c, at + more + 1};
}

unsigned display_width(char32_t c) noexcept {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (c < 0x300) return 1;
  if (in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0x20d0, 0x20ff) || in(0xfe00, 0xfe0f) ||
      in(0xe0100, 0xe01ef))
    return 0;
  if (in(0x1100, 0x115f) || in(0x2e80, 0xa4cf) || in(0xac00, 0xd7a3) || in(0xf900, 0xfaff) ||
      in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) || in(0x1f300, 0x1faff) ||
      in(0x20000, 0x3fffd))
    return 2;
  return 1;
}

}  // namespace leat::config
