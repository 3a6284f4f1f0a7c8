// SPDX-License-Identifier: BSL-1.0
// Text in a fixed buffer. Nothing here allocates, locks or throws, so all of it may run in a signal
// handler and on a small stack.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace leat {

// Prints as 0x2a.
struct hex {
  std::uint64_t value;
};

// One printable value, by value: made where the value is, printed elsewhere. Text is not copied.
class format_arg {
 public:
  format_arg(bool v) noexcept : kind_(kind::boolean) { value_.u = v ? 1 : 0; }
  format_arg(char v) noexcept : kind_(kind::character) { value_.c = v; }
  template <class T>
    requires(std::signed_integral<T> && !std::same_as<T, char>)
  format_arg(T v) noexcept : kind_(kind::signed_int) {
    value_.i = static_cast<std::int64_t>(v);
  }
  template <class T>
    requires(std::unsigned_integral<T> && !std::same_as<T, char> && !std::same_as<T, bool>)
  format_arg(T v) noexcept : kind_(kind::unsigned_int) {
    value_.u = static_cast<std::uint64_t>(v);
  }
  template <class T>
    requires std::is_enum_v<T>
  // Through a numeric type also for enums over char or bool.
  format_arg(T v) noexcept
      : format_arg(static_cast<std::int64_t>(static_cast<std::underlying_type_t<T>>(v))) {}
  format_arg(double v) noexcept : kind_(kind::real) { value_.d = v; }
  format_arg(float v) noexcept : format_arg(static_cast<double>(v)) {}
  format_arg(hex v) noexcept : kind_(kind::hexadecimal) { value_.u = v.value; }
  format_arg(std::nullptr_t) noexcept : kind_(kind::pointer) { value_.p = nullptr; }
  format_arg(const volatile void* v) noexcept : kind_(kind::pointer) {
    value_.p = const_cast<const void*>(v);
  }
  format_arg(std::string_view v) noexcept : kind_(kind::text), size_(v.size()) { value_.s = v.data(); }
  format_arg(const char* v) noexcept : format_arg(v ? std::string_view(v) : std::string_view("(null)")) {}
  template <class T>
    requires(std::is_class_v<T> && std::convertible_to<const T&, std::string_view>)
  format_arg(const T& v) noexcept : format_arg(static_cast<std::string_view>(v)) {}

 private:
  friend class text_buffer;
  enum class kind : std::uint8_t {
    boolean,
    character,
    signed_int,
    unsigned_int,
    hexadecimal,
    pointer,
    real,
    text
  };
  kind kind_;
  std::size_t size_ = 0;
  union {
    std::int64_t i;
    std::uint64_t u;
    double d;
    const void* p;
    const char* s;
    char c;
  } value_;
};

namespace detail {

inline constexpr std::size_t bad_format = static_cast<std::size_t>(-1);

// The number of {} in a format, or bad_format for a brace that is neither {}, {{ nor }}.
constexpr std::size_t count_fields(std::string_view text) noexcept {
  std::size_t fields = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') continue;
    if (i + 1 == text.size()) return bad_format;
    if (text[i] == '{' && text[i + 1] == '}') {
      ++fields;
    } else if (text[i + 1] != text[i]) {
      return bad_format;
    }
    ++i;
  }
  return fields;
}

// Not constexpr on purpose: to reach it while compiling is the error message.
inline void format_has_other_number_of_fields_than_arguments() {}

}  // namespace detail

// A literal whose {} were counted against the arguments by the compiler. {{ and }} print one brace.
template <class... Args>
class format_string {
 public:
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  consteval format_string(const T& text) : text_(text) {
    if (detail::count_fields(text_) != sizeof...(Args))
      detail::format_has_other_number_of_fields_than_arguments();
  }
  constexpr std::string_view get() const noexcept { return text_; }

 private:
  std::string_view text_;
};

// Appends to memory of the caller. What does not fit is cut at a whole UTF-8 character and ends in "…".
class text_buffer {
 public:
  text_buffer(char* memory, std::size_t capacity) noexcept : data_(memory), capacity_(capacity) {}
  text_buffer(const text_buffer&) = delete;
  text_buffer& operator=(const text_buffer&) = delete;

  text_buffer& append(std::string_view text) noexcept;
  text_buffer& append(const char* text) noexcept { return append_value(format_arg(text)); }
  // Not plain char, or any number would convert to it.
  template <std::same_as<char> Char>
  text_buffer& append(Char c) noexcept {
    return append(std::string_view(&c, 1));
  }
  template <class T>
    requires(!std::same_as<T, char> && !std::convertible_to<const T&, std::string_view>)
  text_buffer& append(const T& value) noexcept {
    return append_value(format_arg(value));
  }
  text_buffer& append_int(std::int64_t value) noexcept;
  // Filled up with leading zeros to min_digits (at most 20).
  text_buffer& append_uint(std::uint64_t value, unsigned min_digits = 1) noexcept;
  text_buffer& append_hex(std::uint64_t value) noexcept;
  text_buffer& append_pointer(const void* value) noexcept;
  // The shortest text that reads back as the same double.
  text_buffer& append_double(double value) noexcept;

  template <class... Args>
  text_buffer& format(format_string<std::type_identity_t<Args>...> text, const Args&... args) noexcept {
    if constexpr (sizeof...(Args) == 0) {
      return append_fields(text.get(), nullptr, 0);
    } else {
      const format_arg list[] = {format_arg(args)...};
      return append_fields(text.get(), list, sizeof...(Args));
    }
  }
  // The unchecked form: a {} without an argument prints as {?}, arguments without a {} are left out.
  text_buffer& append_fields(std::string_view text, const format_arg* args, std::size_t count) noexcept;

  text_buffer& append_value(const format_arg& value) noexcept;

  std::string_view view() const noexcept { return {data_, size_}; }
  std::size_t size() const noexcept { return size_; }
  bool truncated() const noexcept { return truncated_; }
  void clear() noexcept {
    size_ = 0;
    truncated_ = false;
  }

 private:
  char* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool truncated_ = false;
};

// A text_buffer with its memory.
template <std::size_t N>
class fixed_text : public text_buffer {
 public:
  fixed_text() noexcept : text_buffer(storage_, N) {}

 private:
  char storage_[N];
};

// How long something has taken, for reports: whole ms, below one of them whole us, below one of those "less
// than 1 us". Never 0, which looks like a mistake, nor less.
text_buffer& append_elapsed(text_buffer& t, std::int64_t ns) noexcept;

// Writes all of it to a file descriptor and keeps errno. Gives up silently when the descriptor
// refuses, or takes nothing for so long: there is nobody left to tell. False then. Async-signal-safe.
inline constexpr int no_end_of_patience = -1;
bool write_text(int fd, std::string_view text, int patience_ms = no_end_of_patience) noexcept;
// What a program says that dies: with a second's patience for a text, and none for those after it. A full pipe that nobody
// reads must not keep it from its end, for which somebody waits.
bool write_dying(int fd, std::string_view text) noexcept;
// What the user has printed and not seen yet. Only if nobody stands in stdout and it takes the text: a thread
// that waits there, or stands still for good, holds its lock for as long.
void flush_stdout() noexcept;

}  // namespace leat
