// SPDX-License-Identifier: BSL-1.0
//
// The keeper of a stored channel: the G that uses its file.
#include <algorithm>
#include <new>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/store/stored_channel.hpp>

namespace leat::store {

using csp::ending;
using csp::entered;
using csp::waiter;
using csp::waiter_list;

namespace {
constexpr std::int64_t ns(nanoseconds d) { return d.count(); }
constexpr const char* no_memory = "there is no memory for what it holds";
}  // namespace

// One round: what is to be done, and what came of it.
struct stored_channel::task {
  store_queue::work work = {};
  bool writes = false, sync = false, last = false;
  std::int64_t since = 0;  // when the first of what is written came
  bool wrote = false;
  store_file::dropped dropped = {};
  std::vector<store_file::row> rows = {};
  std::string write_error = {}, read_error = {}, unreadable_error = {};
  read_list values = {};
  std::uint64_t upto = 0;  // the last row that was decoded, or is unreadable
  std::vector<std::uint64_t> unreadable = {};
  std::uint64_t unreadable_bytes = 0, missing = 0;
  dead_values dead = {};
};

void stored_channel::start() {
  started_ = true;
  add_ref();
  const csp::ref<csp::channel_base> self(this);
  go({.name = "store"}, [this, self] { keep(); });
}

void stored_channel::end() noexcept {
  const entered in;
  waiter_list woken;
  {
    lock_guard hold(lock_);
    ends_ = true;
    csp::claim_all(senders_, ending::closed, woken);
    if (!started_) end_all_locked(woken);
    kick_locked(woken);
  }
  csp::wake_all(in.m, woken);
}

bool stored_channel::finish() {
  if (!started_) return true;
  end();
  // Not a wait of a G, which a stop of the program would end at once.
  const bool in_time = blocking([this] { return done_.try_acquire_for(patience); });
  finish_failed_ = !in_time || !all_written_;
  if (in_time) return all_written_;
  log_error("store", "channel '{}': its store is still being written after {} s: the program ends without it",
            name(), patience.count());
  return false;
}

// Nothing is written or loaded any more.
void stored_channel::end_all_locked(waiter_list& woken) noexcept {
  over_ = true;
  csp::claim_all(for_write_, ending::look, woken);
  if (!queue_.is_ready()) csp::claim_all(receivers_, ending::closed, woken);
}

bool stored_channel::is_urgent_locked() const noexcept {
  if (ends_ || (queue_.wants_to_load() && !read_fails_)) return true;
  if (queue_.failing()) return false;
  if (rounds_.wanted > rounds_.begun) return true;
  if (!queue_.has_unwritten()) return false;
  return syncs_each() || queue_.buffer_is_half_full() || !senders_.empty();
}

std::int64_t stored_channel::sync_due_locked() const noexcept {
  if (settings_.sync == nanoseconds::max()) return csp::forever;
  std::int64_t since = due_.unsynced_since;
  if (due_.dirty_since != 0 && (since == 0 || due_.dirty_since < since)) since = due_.dirty_since;
  if (since == 0) return csp::forever;
  return since + (syncs_each() ? ns(sync_of_removes) : ns(settings_.sync) / 4 * 3);
}

std::int64_t stored_channel::linger_ns() const noexcept {
  return syncs_each() ? ns(linger) : std::min(ns(linger), ns(settings_.sync) / 4);
}

std::int64_t stored_channel::due_locked(std::int64_t now) const noexcept {
  if (is_urgent_locked()) return now;
  if (queue_.failing() || read_fails_) return due_.retry_at;
  return std::min(due_.dirty_since == 0 ? csp::forever : due_.dirty_since + linger_ns(), sync_due_locked());
}

void stored_channel::kick_locked(waiter_list& woken) noexcept {
  const bool first = due_.dirty_since == 0 && queue_.has_work();
  if (first) due_.dirty_since = now_ns();
  if (keeper_.empty() || !(first || is_urgent_locked())) return;
  bool wake_it = false;
  if (waiter* const w = csp::claim_first(keeper_, wake_it); w && wake_it) woken.push_back(w);
}

void stored_channel::wait_for_work(task& t) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  entered in;
  lock_.lock();
  for (;;) {
    const std::int64_t now = now_ns(), due = due_locked(now);
    if (due <= now) {
      t.last = ends_;
      t.writes = ends_ || !queue_.failing() || now >= due_.retry_at;
      t.sync = t.writes && (ends_ || now >= sync_due_locked());
      if (now >= due_.retry_at) read_fails_ = false;
      t.work = queue_.take_work(t.writes, t.dead);
      if (t.writes) ++rounds_.begun;
      if (syncs_each() && (t.work.writes > 0 || rounds_.wanted >= rounds_.begun)) t.sync = t.writes;
      t.since = std::exchange(due_.dirty_since, 0);
      lock_.unlock();
      return;
    }
    (void)csp::wait_and_unlock(in, lock_, keeper_, nullptr, csp::wait_reason::parked, due,
                               csp::stops::are_ignored);
    lock_.lock();
  }
}

// Blocks.
void stored_channel::use_file(task& t) {
  const bool anything =
      t.work.writes > 0 || t.work.removes > 0 || t.work.drop_bytes > 0 || !set_aside_.empty();
  try {
    if (t.writes && (anything || t.sync)) {
      store_file::batch b;
      b.append.reserve(t.work.writes);
      for (const stored_value* v = t.work.write.front(); v; v = v->next_to_write)
        b.append.push_back({v->number, v->body});
      b.remove.reserve(t.work.removes);
      for (const stored_value* v = t.work.remove.front(); v; v = v->next_to_read)
        b.remove.emplace_back(v->number, v->last);
      b.set_aside = set_aside_;
      b.drop_from = t.work.drop_from;
      b.drop_bytes = t.work.drop_bytes;
      b.sync = t.sync;
      t.dropped = file_->write(b);
      set_aside_.clear();
      t.wrote = true;
    }
  } catch (const std::exception& e) {
    t.write_error = e.what();
  }
  try {
    if (t.work.load > 0 && !t.last) t.rows = file_->read(t.work.load_from, t.work.load, t.work.load_bytes);
  } catch (const std::exception& e) {
    t.read_error = e.what();
  }
  if (!t.last) return;
  file_.reset();
  folder_.reset();
}

// Outside locks and the runtime: types of users are made here.
void stored_channel::decode(task& t) {
  for (const store_file::row& r : t.rows) {
    const std::uint64_t size = r.body.size() + store_file::overhead;
    try {
      auto v = std::make_unique<stored_value>();
      v->number = r.number;
      v->size = size;
      v->value = decoded(r.body);
      t.values.push_back(v.release());
    } catch (const std::bad_alloc&) {
      t.read_error = no_memory;
      break;
    } catch (const std::exception& e) {
      if (t.unreadable.empty()) t.unreadable_error = "value " + std::to_string(r.number) + ": " + e.what();
      t.unreadable.push_back(r.number);
      t.unreadable_bytes += size;
    }
    t.upto = r.number;
  }
  try {
    for (stored_value* v = t.work.decode.front(); v; v = v->next_to_read) v->value = decoded(v->body);
  } catch (const std::bad_alloc&) {
    t.read_error = no_memory;
  } catch (const std::exception& e) {  // it is unreadable when the file has it
    t.read_error = e.what();
  }
  set_aside_.insert(set_aside_.end(), t.unreadable.begin(), t.unreadable.end());
}

void stored_channel::take_in(task& t) noexcept {
  const entered in;
  waiter_list woken;
  {
    lock_guard hold(lock_);
    const std::int64_t now = now_ns();
    if (!t.write_error.empty()) {
      queue_.failed(t.work);
      if (t.since != 0) due_.dirty_since = t.since;
    } else if (t.writes) {
      const bool any = t.wrote && !t.sync;
      rounds_.done = rounds_.begun;
      queue_.written(t.work, t.dropped.values, t.dropped.bytes, t.dropped.last, t.dead);
      if (t.sync)
        due_.unsynced_since = 0;
      else if (any && due_.unsynced_since == 0)
        due_.unsynced_since = t.since == 0 ? now : t.since;
    } else if (t.since != 0) {
      due_.dirty_since = t.since;
    }
    queue_.decoded(t.work);
    if (!t.read_error.empty()) read_fails_ = true;
    if (t.upto > 0) {
      queue_.loaded(t.values, t.upto, t.unreadable.size(), t.unreadable_bytes);
    } else if (t.read_error.empty() && t.work.load > 0 && !t.last) {
      if (t.write_error.empty() && t.writes)
        t.missing = queue_.missing(t.work.upto);
      else
        queue_.loaded(t.values, std::max(t.work.load_from - 1, queue_.written_upto()), 0, 0);
    }
    if (!t.write_error.empty() || !t.read_error.empty()) {
      ++failures_;
      due_.retry_at = now + ns(retry);
    }
    serve_receivers_locked(woken);
    serve_senders_locked(woken);
    end_receivers_locked(woken);
    csp::claim_all(for_write_, ending::look, woken);
    if (t.last) end_all_locked(woken);
    if (due_.dirty_since == 0 && queue_.has_work()) due_.dirty_since = now;
  }
  csp::wake_all(in.m, woken);
}

// A line when it begins to fail, and one when it is over.
void stored_channel::tell(const task& t) {
  const std::string& why = t.write_error.empty() ? t.read_error : t.write_error;
  if (!why.empty() && !std::exchange(told_, true)) {
    log_error("store", "channel '{}': {}; it is tried again each second, and until then {}", name(), why,
              t.write_error.empty() ? "readers wait"
              : when_full() == leat::full::drop_oldest
                  ? "the oldest values are dropped when its memory is full"
                  : "senders wait when its memory is full");
  } else if (why.empty() && t.wrote && std::exchange(told_, false)) {
    log_notice("store", "channel '{}': its store is written again", name());
  }
  if (!t.unreadable.empty())
    log_error(
        "store",
        "channel '{}': {} values of its store cannot be read, and are moved to the table 'unreadable'; {}",
        name(), t.unreadable.size(), t.unreadable_error);
  if (t.missing > 0)
    log_error("store",
              "channel '{}': {} values are no longer in its store: somebody else has changed the file",
              name(), t.missing);
}

void stored_channel::keep() {
  for (bool open = true; open;) {
    task t;
    wait_for_work(t);
    blocking([&] { use_file(t); });
    decode(t);
    if (t.last) all_written_ = t.write_error.empty();
    take_in(t);
    tell(t);
    open = !t.last;
  }
  done_.release();
}

}  // namespace leat::store
