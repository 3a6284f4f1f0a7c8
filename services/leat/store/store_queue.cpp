// SPDX-License-Identifier: BSL-1.0
#include <leat/store/store_queue.hpp>

#include <algorithm>

namespace leat::store {

store_queue::store_queue(limits l, std::uint64_t values, std::uint64_t bytes, std::uint64_t first,
                         std::uint64_t last) noexcept
    : limits_(l),
      next_(last + 1),
      behind_(values),
      behind_from_(first),
      written_upto_(last),
      bytes_(bytes),
      behind_bytes_(bytes),
      kept_(values),
      counted_{.sent = values, .restored = values, .high = values} {}

// Nobody uses it any more; what is in hand is its reader's.
store_queue::~store_queue() {
  dead_values dead;
  while (!ready_.empty()) {
    stored_value* const v = ready_.pop_front();
    v->to_read = false;
    if (!v->to_write) dead.add(v);
  }
  while (!to_remove_.empty()) dead.add(to_remove_.pop_front());
  bury(dead);
  while (!unwritten_.empty()) {
    stored_value* const v = unwritten_.pop_front();
    v->to_write = false;
    if (!v->to_read) dead.add(v);
  }
}

store_queue::room store_queue::room_for(std::uint64_t size) const noexcept {
  if (size > limits_.max) return room::never;
  if (!limits_.drop_oldest && bytes_ + size > limits_.max) return room::wait_for_it;
  if (unwritten_bytes_ == 0 || unwritten_bytes_ + size <= limits_.buffer) return room::there_is;
  return limits_.drop_oldest && failing_ ? room::there_is : room::wait_for_it;
}

void store_queue::leave(stored_value* v) noexcept {
  v->is_gone = true;
  bytes_ -= v->size;
  --kept_;
  if (v->to_write && !v->being_written) unwritten_bytes_ -= v->size;
}

bool store_queue::put(stored_value* v, bool in_hand, dead_values& dead) noexcept {
  bury(dead);
  sweep(dead);
  v->number = next_++;
  v->to_write = true;
  unwritten_.push_back(v);
  unwritten_bytes_ += v->size;
  bytes_ += v->size;
  ++kept_;
  ++counted_.sent;
  if (in_hand) {
    v->to_read = v->in_hand = true;
    ++counted_.received;
    return true;
  }
  if (behind_ == 0 && has_window()) {
    v->to_read = true;
    ready_.push_back(v);
    count_ready(v);
  } else {
    if (behind_++ == 0) behind_from_ = v->number;
    behind_bytes_ += v->size;
    v->is_behind = true;
    ++behind_unwritten_;
  }
  const bool is_ready = v->to_read;
  counted_.high = std::max(counted_.high, left());
  if (!limits_.drop_oldest) return is_ready;
  // The oldest first: not the new one itself.
  drop_above_max(dead);
  while (failing_ && unwritten_bytes_ > limits_.buffer && unwritten_.front() != v &&
         !unwritten_.front()->being_decoded)
    drop_unwritten(dead);
  return is_ready;
}

// What is ready is older than what the file alone has.
void store_queue::drop_above_max(dead_values& dead) noexcept {
  while (limits_.drop_oldest && bytes_ > limits_.max && left() > 1 && ready_count_ > 0) drop_ready(dead);
}

// The oldest that is ready, which is not gone.
void store_queue::drop_ready(dead_values& dead) noexcept {
  stored_value* v = ready_.pop_front();
  while (v->is_gone) {
    v->to_read = false;
    --gone_ready_;
    if (!v->to_write) dead.add(v);
    v = ready_.pop_front();
  }
  count_unready(v);
  ++counted_.dropped;
  leave(v);
  v->to_read = false;
  if (!v->to_write) remove_later(v);
}

// Mostly its number follows the last one: values are settled in order, but for those of other readers.
void store_queue::remove_later(stored_value* v) noexcept {
  if (v->last == 0) v->last = v->number;
  stored_value* before = to_remove_.back();
  if (before && before->number > v->number) {
    before = nullptr;
    for (stored_value* n = to_remove_.front(); n && n->number < v->number; n = n->next_to_read) before = n;
  }
  if (before && before->last + 1 == v->number) {
    before->last = v->last;
    trash_.push_back(v);
    v = before;
  } else {
    to_remove_.insert_after(before, v);
  }
  if (stored_value* const next = v->next_to_read; next && v->last + 1 == next->number) {
    v->last = next->last;
    trash_.push_back(to_remove_.pop_after(v));
  }
}

// One that is gone at the front goes at once; those behind others when they are more than these.
void store_queue::note_gone_ready() noexcept {
  ++gone_ready_;
  const auto forget = [&](stored_value* v) {
    --gone_ready_;
    v->to_read = false;
    if (!v->to_write) trash_.push_back(v);
  };
  while (!ready_.empty() && ready_.front()->is_gone) forget(ready_.pop_front());
  if (gone_ready_ <= ready_count_ + 64) return;
  read_list rest;
  while (!ready_.empty()) {
    stored_value* const v = ready_.pop_front();
    if (v->is_gone)
      forget(v);
    else
      rest.push_back(v);
  }
  ready_ = rest;
}

// The oldest that the file does not have. It may be in hand: then it is left to its reader.
void store_queue::drop_unwritten(dead_values& dead) noexcept {
  stored_value* const v = unwritten_.pop_front();
  const bool was_ready = v->to_read && !v->in_hand && !v->is_gone;
  if (!v->is_gone) {
    if (was_ready) {
      count_unready(v);
    } else if (v->is_behind) {
      --behind_;
      --behind_unwritten_;
      behind_bytes_ -= v->size;
    }
    if (was_ready || v->is_behind) ++counted_.dropped;
    leave(v);
  }
  v->to_write = false;
  if (was_ready)
    note_gone_ready();
  else if (!v->to_read)
    dead.add(v);
  bury(dead);
}

store_queue::taken store_queue::take_back(std::uint64_t number, std::unique_ptr<csp::kept_value>& to,
                                          dead_values& dead) noexcept {
  stored_value *before = nullptr, *v = unwritten_.front();
  for (; v && v->number < number; v = v->next_to_write) before = v;
  if (!v || v->number != number) return writing_ && written_upto_ < number ? taken::not_now : taken::too_late;
  if (v->being_decoded) return taken::not_now;
  if (v->in_hand || v->is_gone || !(v->to_read || v->is_behind)) return taken::too_late;
  (void)unwritten_.pop_after(before);
  leave(v);
  v->to_write = false;
  --counted_.sent;
  if (v->to_read) {
    to = std::move(v->value);
    count_unready(v);
    note_gone_ready();
  } else {
    --behind_;
    --behind_unwritten_;
    behind_bytes_ -= v->size;
    dead.add(v);
  }
  bury(dead);
  return taken::back;
}

// What was dealt with before it was written, as far as it is the oldest.
void store_queue::sweep(dead_values& dead) noexcept {
  while (!unwritten_.empty() && unwritten_.front()->is_gone) {
    stored_value* const v = unwritten_.pop_front();
    v->to_write = false;
    if (!v->to_read) dead.add(v);
  }
}

stored_value* store_queue::take() noexcept {
  // Those that are gone were never in the file.
  for (stored_value* v = ready_.front(); v && v->is_gone; v = ready_.front()) {
    (void)ready_.pop_front();
    v->to_read = false;
    --gone_ready_;
    if (!v->to_write) trash_.push_back(v);
  }
  if (ready_.empty()) return nullptr;
  stored_value* const v = ready_.pop_front();
  count_unready(v);
  ++counted_.received;
  v->in_hand = true;
  return v;
}

void store_queue::give_back(stored_value* v) noexcept {
  v->in_hand = false;
  if (v->is_gone) {  // dropped meanwhile: it was left to the receiver
    v->to_read = false;
    if (!v->to_write) trash_.push_back(v);
    return;
  }
  --counted_.received;
  count_ready(v);
  ready_.push_front(v);
}

bool store_queue::settle(stored_value* v, dead_values& dead) noexcept {
  bury(dead);
  if (!v->is_gone) leave(v);
  v->to_read = v->in_hand = false;
  if (v->to_write) return v->being_written;  // whoever takes it out of there sees that it is gone
  if (!v->in_file) {
    dead.add(v);
    return false;
  }
  remove_later(v);
  return true;
}

void store_queue::let_go(stored_value* v, dead_values& dead) noexcept {
  v->to_read = v->in_hand = false;
  if (!v->to_write) dead.add(v);
}

store_queue::work store_queue::take_work(bool writes, dead_values& dead) noexcept {
  work w;
  bury(dead);
  sweep(dead);
  if (writes) drop_above_max(dead);
  while (writes && !unwritten_.empty()) {
    stored_value* const v = unwritten_.pop_front();
    if (v->is_gone) {
      v->to_write = false;
      if (!v->to_read) dead.add(v);
      continue;
    }
    v->being_written = true;
    w.write.push_back(v);
    ++w.writes;
  }
  while (writes && !to_remove_.empty()) {
    w.remove.push_back(to_remove_.pop_front());
    ++w.removes;
  }
  writing_ = w.writes > 0;
  w.upto = writes ? next_ - 1 : written_upto_;
  if (writes && wants_to_drop()) {
    w.drop_from = behind_from_;
    w.drop_bytes = bytes_ - limits_.max;
  }
  if (wants_to_load()) {
    const std::size_t values =
        limits_.window - static_cast<std::size_t>(std::min<std::uint64_t>(ready_count_, limits_.window - 1));
    const std::uint64_t bytes = limits_.window_bytes - std::min(ready_bytes_, limits_.window_bytes);
    if (failing_ && behind_from_ > written_upto_) {
      // With the writes it is with the work: if they fail again, the next round has it.
      if (!writes) decode_later(w, values, bytes);
    } else {
      w.load_from = behind_from_;
      w.load = values;
      w.load_bytes = bytes;
    }
  }
  return w;
}

void store_queue::decode_later(work& w, std::size_t values, std::uint64_t bytes) noexcept {
  std::size_t n = 0;
  std::uint64_t sum = 0;
  for (stored_value* v = unwritten_.front(); v && (n < values || sum < bytes); v = v->next_to_write) {
    if (!v->is_behind || v->is_gone) continue;
    v->being_decoded = true;
    w.decode.push_back(v);
    sum += v->size;
    ++n;
  }
}

void store_queue::decoded(work& w) noexcept {
  for (bool whole = true; !w.decode.empty();) {
    stored_value* const v = w.decode.pop_front();
    v->being_decoded = false;
    whole = whole && v->value;
    if (!whole) continue;
    v->is_behind = false;
    v->to_read = true;
    ready_.push_back(v);
    count_ready(v);
    --behind_;
    --behind_unwritten_;
    behind_bytes_ -= v->size;
    behind_from_ = v->number + 1;
  }
}

void store_queue::written(work& w, std::uint64_t dropped, std::uint64_t dropped_bytes,
                          std::uint64_t last_dropped, dead_values& dead) noexcept {
  failing_ = writing_ = false;
  counted_.written += w.writes;
  written_upto_ = w.upto;
  while (!w.write.empty()) {
    stored_value* const v = w.write.pop_front();
    v->to_write = v->being_written = false;
    v->in_file = true;
    unwritten_bytes_ -= v->size;
    if (v->to_read) continue;
    if (v->is_gone) {
      remove_later(v);
    } else {
      if (v->is_behind) --behind_unwritten_;
      dead.add(v);
    }
  }
  while (!w.remove.empty()) dead.add(w.remove.pop_front());
  if (dropped == 0) return;
  counted_.dropped += dropped;
  behind_ -= dropped;
  behind_from_ = last_dropped + 1;
  bytes_ -= dropped_bytes;
  behind_bytes_ -= std::min(behind_bytes_, dropped_bytes);
  kept_ -= dropped;
}

void store_queue::failed(work& w) noexcept {
  failing_ = true;
  writing_ = false;
  for (stored_value* v = w.write.front(); v; v = v->next_to_write) {
    v->being_written = false;
    if (v->is_gone) unwritten_bytes_ -= v->size;  // settled meanwhile
  }
  unwritten_.prepend(std::move(w.write));
  while (!w.remove.empty()) remove_later(w.remove.pop_front());
}

void store_queue::loaded(read_list& values, std::uint64_t upto, std::uint64_t unreadable,
                         std::uint64_t unreadable_bytes) noexcept {
  while (!values.empty()) {
    stored_value* const v = values.pop_front();
    v->to_read = v->in_file = true;
    ready_.push_back(v);
    count_ready(v);
    --behind_;
    behind_bytes_ -= std::min(behind_bytes_, v->size);
  }
  behind_ -= unreadable;
  counted_.dropped += unreadable;
  counted_.unreadable += unreadable;
  bytes_ -= unreadable_bytes;
  behind_bytes_ -= std::min(behind_bytes_, unreadable_bytes);
  kept_ -= unreadable;
  behind_from_ = upto + 1;
}

std::uint64_t store_queue::missing(std::uint64_t upto) noexcept {
  const std::uint64_t later = std::min(behind_, next_ - 1 - upto);
  const std::uint64_t lost = behind_ - later;
  if (lost > 0) {
    const std::uint64_t its_bytes = behind_bytes_ / behind_ * lost;
    bytes_ -= std::min(bytes_, later == 0 ? behind_bytes_ : its_bytes);
    behind_bytes_ -= later == 0 ? behind_bytes_ : its_bytes;
    behind_ = later;
    kept_ -= lost;
    counted_.dropped += lost;
  }
  behind_from_ = upto + 1;
  return lost;
}

}  // namespace leat::store
