// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log_levels.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <leat/base/mutex.hpp>

namespace leat {
namespace {

constexpr std::uint8_t no_level = 255;

struct speaker_slot {
  char name[longest_log_speaker + 1] = {};  // written before `speakers_known` counts it
  std::atomic<std::uint8_t> level{no_level};
};
constinit speaker_slot speakers[most_log_speakers];
constinit std::atomic<std::size_t> speakers_known{0};  // release: the names before it; pairs with wants_line
constinit std::atomic<std::uint8_t> common_level{no_level};  // no_level: all have that of log_threshold
constinit ranked_mutex levels_lock(lock_rank::log, "log levels");

bool begins_with_name(std::string_view text, std::string_view name) noexcept {
  if (!text.starts_with(name)) return false;
  return text.size() == name.size() || text[name.size()] == '/' || text[name.size()] == ':';
}

}  // namespace

bool set_log_level_of(std::string_view speaker, log_level level) noexcept {
  if (speaker.empty() || speaker.size() > longest_log_speaker) return false;
  lock_guard guard(levels_lock);
  const std::size_t known = speakers_known.load(std::memory_order_relaxed);
  std::size_t i = 0;
  while (i < known && speaker != speakers[i].name) ++i;
  if (i == most_log_speakers) return false;
  if (common_level.load(std::memory_order_relaxed) == no_level)
    common_level.store(static_cast<std::uint8_t>(get_log_level()), std::memory_order_relaxed);
  speakers[i].level.store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
  if (i == known) {
    std::memcpy(speakers[i].name, speaker.data(), speaker.size());
    speakers_known.store(known + 1, std::memory_order_release);
  }
  std::uint8_t least = common_level.load(std::memory_order_relaxed);
  for (const speaker_slot& s : speakers) least = std::min(least, s.level.load(std::memory_order_relaxed));
  detail::log_threshold.store(least, std::memory_order_relaxed);
  return true;
}

namespace detail {

bool wants_line(log_level level, std::string_view component, std::string_view text) noexcept {
  const std::uint8_t others = common_level.load(std::memory_order_relaxed);
  if (others == no_level) return true;
  std::uint8_t from = others;
  const std::size_t known = speakers_known.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < known; ++i) {
    const std::uint8_t own = speakers[i].level.load(std::memory_order_relaxed);
    if (own != no_level &&
        (begins_with_name(component, speakers[i].name) || begins_with_name(text, speakers[i].name)))
      from = own;
  }
  return static_cast<std::uint8_t>(level) >= from;
}

void forget_log_levels(log_level level) noexcept {
  const auto threshold = static_cast<std::uint8_t>(level);
  if (speakers_known.load(std::memory_order_relaxed) == 0)
    return log_threshold.store(threshold, std::memory_order_relaxed);
  lock_guard guard(levels_lock);
  for (speaker_slot& s : speakers) s.level.store(no_level, std::memory_order_relaxed);
  common_level.store(no_level, std::memory_order_relaxed);
  log_threshold.store(threshold, std::memory_order_relaxed);
}

log_level common_log_level(log_level threshold) noexcept {
  const std::uint8_t own = common_level.load(std::memory_order_relaxed);
  return own == no_level ? threshold : static_cast<log_level>(own);
}

}  // namespace detail
}  // namespace leat
