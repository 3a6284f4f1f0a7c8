// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace leat::remote {
namespace {

struct character {
  std::uint32_t code;
  std::size_t size;  // 0: no UTF-8
};

// Refuses what RFC 3629 does: too long forms, halves of pairs, what is above U+10FFFF.
character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return {0, 0};
  std::uint32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const std::uint32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {0, 0};
  return {code, size};
}

struct code_range {
  std::uint32_t first, last;
};
constexpr code_range wide_ranges[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                      {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                      {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
// Combining marks, joiners, and what turns the direction of a line.
constexpr code_range empty_ranges[] = {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x2028, 0x202e},
                                       {0x2060, 0x206f}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};

template <std::size_t N>
bool in_one_of(const code_range (&ranges)[N], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const code_range& r) { return code >= r.first && code <= r.last; });
}

std::size_t width_of(std::uint32_t code) {
  return in_one_of(empty_ranges, code) ? 0 : in_one_of(wide_ranges, code) ? 2 : 1;
}

std::string short_number(double v, const char* const (&units)[5], double step) {
  std::size_t unit = 0;
  while (v >= step * 0.9995 && unit + 1 < std::size(units)) {
    v /= step;
    ++unit;
  }
  char text[32];
  const bool whole = v >= 99.95 || (unit == 0 && v == std::floor(v));
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.1f%s", v, units[unit]);
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const character c = character_at(text, i);
    const bool control = c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0) ||
                         (c.code >= 0x2028 && c.code <= 0x202e) || (c.code >= 0x2066 && c.code <= 0x2069);
    if (c.size == 0 || control) {
      out += '?';
    } else {
      out += text.substr(i, c.size);
    }
    i += std::max<std::size_t>(c.size, 1);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size();) {
    const character c = character_at(text, i);
    n += c.size == 0 ? 1 : width_of(c.code);
    i += std::max<std::size_t>(c.size, 1);
  }
  return n;
}

std::string cut(std::string_view text, std::size_t width) {
  if (width == 0) return {};
  std::size_t n = 0, i = 0, fits = 0;  // fits: bytes that leave a column for '~'
  while (i < text.size()) {
    const character c = character_at(text, i);
    const std::size_t more = c.size == 0 ? 1 : width_of(c.code);
    if (n + more > width) return std::string(text.substr(0, fits)) + '~';
    n += more;
    i += std::max<std::size_t>(c.size, 1);
    if (n < width) fits = i;
  }
  return std::string(text);
}

std::string to_left(std::string_view text, std::size_t width) {
  std::string out = cut(text, width);
  out.append(width - std::min(width, columns(out)), ' ');
  return out;
}

std::string to_right(std::string_view text, std::size_t width) {
  const std::string shown = cut(text, width);
  return std::string(width - std::min(width, columns(shown)), ' ') + shown;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    if (lines.size() + 1 == most || columns(text) <= width) {
      lines.push_back(cut(text, width));
      break;
    }
    // The last blank that leaves a line of this width; without one, as much as fits.
    std::size_t end = 0, blank = 0, taken = 0;
    while (end < text.size() && taken <= width) {
      if (text[end] == ' ') blank = end;
      const character c = character_at(text, end);
      taken += c.size == 0 ? 1 : width_of(c.code);
      end += std::max<std::size_t>(c.size, 1);
    }
    if (blank == 0) blank = cut(text, width).size() - 1;
    if (blank == 0) blank = std::max<std::size_t>(character_at(text, 0).size, 1);
    lines.emplace_back(text.substr(0, blank));
    text.remove_prefix(blank);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

std::string rate_text(double per_second) {
  if (!(per_second >= 0.05)) return "0";
  return short_number(per_second, {"", "k", "M", "G", "T"}, 1000);
}

std::string count_text(std::uint64_t n) {
  if (n < 10000) return std::to_string(n);
  return short_number(static_cast<double>(n), {"", "k", "M", "G", "T"}, 1000);
}

std::string bytes_text(double bytes) {
  return short_number(std::max(bytes, 0.0), {"", "K", "M", "G", "T"}, 1024);
}

std::string percent_text(double share) {
  char text[32];
  const double percent = std::clamp(share * 100, 0.0, 99999.0);
  std::snprintf(text, sizeof text, percent > 0.05 && percent < 0.95 ? "%.1f%%" : "%.0f%%", percent);
  return text;
}

std::string elapsed_text(double seconds) {
  char text[48];
  if (!(seconds > 0)) return "0s";
  if (seconds < 0.0009995) {
    std::snprintf(text, sizeof text, "%.0fus", seconds * 1e6);
  } else if (seconds < 0.9995) {
    std::snprintf(text, sizeof text, seconds < 0.00995 ? "%.1fms" : "%.0fms", seconds * 1e3);
  } else if (seconds < 9.95) {
    std::snprintf(text, sizeof text, "%.1fs", seconds);
  } else {
    const auto s = static_cast<unsigned long long>(std::min(seconds + 0.5, 9e14));
    if (s < 60) {
      std::snprintf(text, sizeof text, "%llus", s);
    } else if (s < 3600) {
      std::snprintf(text, sizeof text, "%llum%02llus", s / 60, s % 60);
    } else if (s < 86400) {
      std::snprintf(text, sizeof text, "%lluh%02llum", s / 3600, s / 60 % 60);
    } else {
      std::snprintf(text, sizeof text, "%llud%02lluh", s / 86400, s / 3600 % 24);
    }
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& p : parts) {
    if (&p != &parts.front()) out += between;
    out += p;
  }
  return out;
}

}  // namespace leat::remote
