// SPDX-License-Identifier: BSL-1.0
#include <leat/base/format.hpp>

#include <algorithm>

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <leat/base/write_now.hpp>

namespace leat {

namespace {

constexpr std::string_view ellipsis = "…";

// The largest size not above `size` that does not split a UTF-8 character.
std::size_t whole_characters(const char* data, std::size_t size) noexcept {
  std::size_t at = size;
  while (at > 0 && (static_cast<unsigned char>(data[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

}  // namespace

text_buffer& text_buffer::append(std::string_view text) noexcept {
  if (truncated_ || text.empty()) return *this;
  const std::size_t room = capacity_ - size_;
  if (text.size() <= room) {
    std::memcpy(data_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  truncated_ = true;
  std::memcpy(data_ + size_, text.data(), room);
  if (capacity_ < ellipsis.size()) {
    size_ = 0;
    return *this;
  }
  size_ = whole_characters(data_, capacity_ - ellipsis.size());
  std::memcpy(data_ + size_, ellipsis.data(), ellipsis.size());
  size_ += ellipsis.size();
  return *this;
}

text_buffer& text_buffer::append_value(const format_arg& value) noexcept {
  switch (value.kind_) {
    case format_arg::kind::boolean: return append(std::string_view(value.value_.u != 0 ? "true" : "false"));
    case format_arg::kind::character: return append(value.value_.c);
    case format_arg::kind::signed_int: return append_int(value.value_.i);
    case format_arg::kind::unsigned_int: return append_uint(value.value_.u);
    case format_arg::kind::hexadecimal: return append_hex(value.value_.u);
    case format_arg::kind::pointer: return append_pointer(value.value_.p);
    case format_arg::kind::real: return append_double(value.value_.d);
    case format_arg::kind::text: return append(std::string_view(value.value_.s, value.size_));
  }
  return *this;
}

text_buffer& text_buffer::append_int(std::int64_t value) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return append(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

text_buffer& text_buffer::append_uint(std::uint64_t value, unsigned min_digits) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  const auto count = static_cast<std::size_t>(end.ptr - digits);
  constexpr std::string_view zeros = "00000000000000000000";
  if (count < min_digits) append(zeros.substr(0, min_digits - count));
  return append(std::string_view(digits, count));
}

text_buffer& text_buffer::append_hex(std::uint64_t value) noexcept {
  char digits[24] = {'0', 'x'};
  const auto end = std::to_chars(digits + 2, digits + sizeof digits, value, 16);
  return append(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

text_buffer& text_buffer::append_pointer(const void* value) noexcept {
  if (value == nullptr) return append(std::string_view("null"));
  return append_hex(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(value)));
}

text_buffer& text_buffer::append_double(double value) noexcept {
  char digits[40];
  // Large whole numbers in plain notation would go through printf, which may allocate.
  const bool plain = value > -1e15 && value < 1e15;
  const auto end = plain
                       ? std::to_chars(digits, digits + sizeof digits, value)
                       : std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific);
  return append(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

text_buffer& text_buffer::append_fields(std::string_view text, const format_arg* args,
                                        std::size_t count) noexcept {
  std::size_t used = 0;
  std::size_t plain_from = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const bool field = text[i] == '{' && text[i + 1] == '}';
    const bool escape = (text[i] == '{' || text[i] == '}') && text[i + 1] == text[i];
    if (!field && !escape) continue;
    append(text.substr(plain_from, i - plain_from));
    if (escape) {
      append(text[i]);
    } else if (used < count) {
      append(args[used++]);
    } else {
      append(std::string_view("{?}"));
    }
    plain_from = i + 2;
    ++i;
  }
  return append(text.substr(plain_from));
}

text_buffer& append_elapsed(text_buffer& t, std::int64_t ns) noexcept {
  if (ns >= 1'000'000) return t.append_int(ns / 1'000'000).append(" ms");
  if (ns >= 1'000) return t.append_int(ns / 1'000).append(" us");
  return t.append("less than 1 us");
}

bool write_text(int fd, std::string_view text, int patience_ms) noexcept {
  const int kept = errno;
  int waited_ms = 0;  // since it last took something
  while (!text.empty()) {
    const bool waits = patience_ms == no_end_of_patience;
    const ssize_t written =
        waits ? ::write(fd, text.data(), text.size()) : write_now(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      waited_ms = 0;
    } else if (waits ? written == 0 || errno != EINTR : written < 0 || waited_ms >= patience_ms) {
      break;
    } else if (!waits) {
      // By time and not by poll: a terminal may have room, and less than the next character needs.
      constexpr int turn_ms = 2;
      const timespec turn{0, turn_ms * 1'000'000};
      (void)::nanosleep(&turn, nullptr);
      waited_ms += turn_ms;
    }
  }
  errno = kept;
  return text.empty();
}

bool write_dying(int fd, std::string_view text) noexcept {
  static std::atomic<bool> in_vain{false};
  constexpr int patience_ms = 1000;
  const bool taken = write_text(fd, text, in_vain.load(std::memory_order_relaxed) ? 0 : patience_ms);
  in_vain.store(!taken, std::memory_order_relaxed);
  return taken;
}

void flush_stdout() noexcept {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 1000) != 1 || ::ftrylockfile(stdout) != 0) return;
  (void)::fflush_unlocked(stdout);
  ::funlockfile(stdout);
}

}  // namespace leat
