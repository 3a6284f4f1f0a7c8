// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include <leat/base/log_aside.hpp>
#include <leat/base/log_levels.hpp>
#include <leat/base/log_output.hpp>
#include <leat/base/mutex.hpp>
#include <leat/base/system_time.hpp>

namespace leat {

namespace {

struct level_look {
  const char* name;
  char journal_priority;
  const char* colour;
};

// In the order of log_level.
constexpr level_look looks[] = {
    {"debug", '7', "\033[2m"},    {"info", '6', ""}, {"notice", '5', "\033[1m"}, {"warning", '4', "\033[33m"},
    {"error", '3', "\033[1;31m"},
};
constexpr std::uint8_t unread = 255;

const level_look& look_of(log_level level) noexcept { return looks[static_cast<std::size_t>(level)]; }

std::optional<log_level> level_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < sizeof looks / sizeof looks[0]; ++i)
    if (name == looks[i].name) return static_cast<log_level>(i);
  return std::nullopt;
}

enum class output : std::uint8_t { unknown, plain, journal, terminal };

// systemd sets JOURNAL_STREAM to device:inode of the stream it gave us; children may have moved
// their stderr elsewhere since, so the numbers must match.
bool stderr_is_journal() noexcept {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat file;
  if (!stream || ::fstat(STDERR_FILENO, &file) != 0) return false;
  const char* end = stream + std::strlen(stream);
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  const auto colon = std::from_chars(stream, end, device);
  if (colon.ec != std::errc{} || colon.ptr == end || *colon.ptr != ':') return false;
  const auto last = std::from_chars(colon.ptr + 1, end, inode);
  return last.ec == std::errc{} && last.ptr == end && device == static_cast<std::uint64_t>(file.st_dev) &&
         inode == static_cast<std::uint64_t>(file.st_ino);
}

output find_output() noexcept {
  // Found by each thread that comes first; all find the same.
  static constinit std::atomic<output> found{output::unknown};
  output result = found.load(std::memory_order_relaxed);
  if (result == output::unknown) {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    const bool dumb = term && std::strcmp(term, "dumb") == 0;
    if (stderr_is_journal()) {
      result = output::journal;
    } else if (::isatty(STDERR_FILENO) == 1 && (!no_colour || !*no_colour) && !dumb) {
      result = output::terminal;
    } else {
      result = output::plain;
    }
    found.store(result, std::memory_order_relaxed);
  }
  return result;
}

// UTC by arithmetic: localtime_r takes a lock and may allocate.
void append_time(text_buffer& out) noexcept {
  const std::int64_t now = system_now_ns();
  const std::int64_t seconds = now / 1'000'000'000;
  const std::int64_t days = seconds / 86'400;
  const auto second = static_cast<std::uint64_t>(seconds % 86'400);
  // Howard Hinnant's civil_from_days, for days since 1970.
  const std::int64_t shifted = days + 719'468;
  const std::int64_t era = shifted / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  const auto part = [&out](std::uint64_t value, unsigned digits, char after) {
    out.append_uint(value, digits).append(after);
  };
  part(static_cast<std::uint64_t>(year), 4, '-');
  part(static_cast<std::uint64_t>(month), 2, '-');
  part(static_cast<std::uint64_t>(day), 2, ' ');
  part(second / 3600, 2, ':');
  part(second / 60 % 60, 2, ':');
  part(second % 60, 2, '.');
  part(static_cast<std::uint64_t>(now / 1'000'000 % 1000), 3, ' ');
}

void write_stderr(log_level level, std::string_view component, std::string_view text) noexcept {
  constexpr std::string_view colour_off = "\033[0m";
  // A status line that stood here is gone, also where it was longer.
  constexpr std::string_view erase_rest = "\033[K";
  const level_look& look = look_of(level);
  const output where = find_output();
  char line[1024];
  // The end of the line is kept free, so that a cut text still ends in it.
  text_buffer out(line, sizeof line - 1 - colour_off.size() - erase_rest.size());
  if (where == output::journal) {
    out.append('<').append(look.journal_priority).append('>');
  } else {
    append_time(out);
    if (where == output::terminal) out.append(look.colour);
    out.append(look.name).append(' ');
  }
  out.append(component).append(": ").append(text);
  std::size_t size = out.size();
  const auto add = [&](std::string_view sequence) {
    std::memcpy(line + size, sequence.data(), sequence.size());
    size += sequence.size();
  };
  if (where == output::terminal && *look.colour) add(colour_off);
  if (where == output::terminal) add(erase_rest);
  line[size++] = '\n';
  detail::put_log_line({line, size});
}

// set_log_sink fills the slot that is not in use, publishes it, and waits until `inside` is zero;
// a logging thread counts itself before it reads `current`. Sequentially consistent: either the
// logger reads the new sink, or the setter sees the logger counted.
struct sink_slot {
  log_sink sink = nullptr;
  void* arg = nullptr;
};
constinit ranked_mutex sink_lock(lock_rank::log, "log sink");
constinit sink_slot sink_slots[2];
constinit std::atomic<const sink_slot*> current{nullptr};
constinit std::atomic<int> inside{0};
constinit std::atomic<bool> aside_runs{false};

constexpr int patience_with_sink_ms = 1000;

bool goes_aside() noexcept {
  if (!current.load(std::memory_order_relaxed) || !aside_runs.load(std::memory_order_relaxed)) return false;
  const auto must_not_wait = detail::must_not_wait_for_sink.load(std::memory_order_relaxed);
  return must_not_wait && must_not_wait();
}

}  // namespace

const char* to_string(log_level level) noexcept { return look_of(level).name; }

void set_log_level(log_level level) noexcept { detail::forget_log_levels(level); }

bool log_goes_to_journal() noexcept { return find_output() == output::journal; }

log_level get_log_level() noexcept {
  const std::uint8_t threshold = detail::log_threshold.load(std::memory_order_relaxed);
  return detail::common_log_level(
      static_cast<log_level>(threshold == unread ? detail::init_log_threshold() : threshold));
}

void set_log_sink(log_sink sink, void* arg) noexcept {
  if (current.load() && aside_runs) (void)detail::wait_for_log_aside(patience_with_sink_ms);
  lock_guard guard(sink_lock);
  if (sink) aside_runs = detail::start_log_aside();
  const sink_slot* old = current.load();
  sink_slot* next = old == &sink_slots[0] ? &sink_slots[1] : &sink_slots[0];
  *next = {sink, arg};
  current.store(sink ? next : nullptr);
  while (inside.load() != 0) ::sched_yield();
}

namespace detail {

constinit std::atomic<std::uint8_t> log_threshold{unread};

std::uint8_t init_log_threshold() noexcept {
  const char* wanted = std::getenv("LEAT_LOG");
  const bool given = wanted && *wanted;
  const std::optional<log_level> named = given ? level_named(wanted) : std::nullopt;
  const auto threshold = static_cast<std::uint8_t>(named.value_or(log_level::info));
  std::uint8_t expected = unread;
  // Whoever comes second, or after set_log_level, keeps what is there and stays silent.
  if (!log_threshold.compare_exchange_strong(expected, threshold, std::memory_order_relaxed)) return expected;
  if (given && !named)
    log_warning("log", "LEAT_LOG={} is not a level; using info. Levels: debug, info, notice, warning, error",
                wanted);
  return threshold;
}

void write_log(log_level level, std::string_view component, std::string_view text, const format_arg* args,
               std::size_t count) noexcept {
  const int kept = errno;
  if (const auto before = before_log.load(std::memory_order_relaxed)) before();
  char memory[1024];
  text_buffer message(memory, sizeof memory);
  message.append_fields(text, args, count);
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto c = static_cast<unsigned char>(memory[i]);
    if (c < 0x20 || c == 0x7F) memory[i] = ' ';
  }
  if (!wants_line(level, component, message.view())) {
    errno = kept;
    return;
  }
  if (goes_aside())
    put_log_aside(level, component, message.view());
  else
    give_log_line(level, component, message.view());
  errno = kept;
}

void give_log_line(log_level level, std::string_view component, std::string_view text) noexcept {
  detail::count_mutex(1);  // set_log_sink waits for us
  inside.fetch_add(1);
  const sink_slot* to = current.load();
  if (to) to->sink(to->arg, level, component, text);
  inside.fetch_sub(1);
  detail::count_mutex(-1);
  if (!to) write_stderr(level, component, text);
}

}  // namespace detail
}  // namespace leat
