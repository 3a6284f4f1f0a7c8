// SPDX-License-Identifier: BSL-1.0
//
// What a scheduler tells about itself.
#pragma once
#include <cstdint>
#include <vector>

#include <leat/base/format.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/events.hpp>
#include <leat/sched/info.hpp>

namespace leat::sched {

class scheduler;

// For a caller inside the runtime: allocates nothing. `to` gets as many lengths as its empty vector has room for; returns how
// many there are.
std::size_t read_stats(const scheduler& s, runtime_stats& to) noexcept;
std::vector<event> events_of(const scheduler& s);
// One line of figures. For sysmon: allocates nothing.
void append_trace(text_buffer& to, const scheduler& s) noexcept;

// What a layer above knows of a G that it has started, for dumps: who it is, in the place of its name, and what
// it waits at. `stop` is the state of the stop_source that the G was spawned with, for comparing only, and so
// is `at`, the name of the channel where it waits alone. Anywhere, also in signal handlers: no lock and no
// allocation, unless `may_wait`. Null: no more; one that has begun may still be under way.
struct dumped_g {
  std::uint64_t id = 0;
  const void* stop = nullptr;
  const char* at = nullptr;
  bool waits = false;  // for something that a channel may give
};
using g_note_fn = void (*)(const dumped_g& g, bool may_wait, text_buffer& who, text_buffer& where) noexcept;
void set_g_note(g_note_fn note) noexcept;

struct dump_style {
  frame_names names = frame_names::plain;
  bool stuck = false;                    // a deadlock: also names the channel each G waits at
  int patience_ms = no_end_of_patience;  // how long a write to fd may block
};
// For sysmon, which must wait neither for a lock of the loader nor for who reads standard error.
inline constexpr dump_style dump_of_sysmon{frame_names::raw, false, 1000};
// All Gs with status, reason and back-trace, to a file descriptor. Takes no lock, does not allocate, but for names
// (frame_names); with demangled ones, a G that waits is looked up in the queues of channels (set_g_note).
void dump(const scheduler& s, int fd, const dump_style& style) noexcept;
// On SIGQUIT, by sysmon: on a thread that may hang; if that one does, without names.
void dump_aside(scheduler& s) noexcept;
// By sysmon, when nothing moves: if nothing can ever, it says so and ends the program.
void look_for_deadlock(const scheduler& s) noexcept;

}  // namespace leat::sched
