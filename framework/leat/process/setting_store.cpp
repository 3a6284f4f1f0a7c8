// SPDX-License-Identifier: BSL-1.0
#include <leat/process/setting_store.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <leat/csp/wait.hpp>

namespace leat {

// Receives only. Who waits here is in the queue of the store: a set wakes all, and they look again.
class change_channel final : public csp::channel_base {
 public:
  change_channel(std::shared_ptr<setting_store> store, const lives::cell_base& c)
      : channel_base(1, {.name = "changes of setting '" + c.name() + "'"}),
        store_(std::move(store)),
        cell_(c),
        seen_(c.version()) {}

  std::size_t size() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(store_->lock_);
    return ready_locked() ? 1 : 0;
  }
  bool is_closed() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(store_->lock_);
    return closed_;
  }
  channel_stats stats() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(store_->lock_);
    channel_stats s;
    s.received = received_;
    s.left = ready_locked() ? 1 : 0;
    s.sent = s.received + s.left;
    s.high_water = s.sent > 0 ? 1 : 0;
    return s;
  }
  void close() noexcept override {
    const csp::entered in;
    csp::waiter_list woken;
    {
      lock_guard hold(store_->lock_);
      closed_ = true;
      claim_all(store_->waiting_, csp::ending::look, woken);  // those of other ends too: they wait on
    }
    wake_all(in.m, woken);
  }

  csp::ending try_case(csp::entered&, csp::op_case& c) noexcept override { return go(c, nullptr); }
  csp::ending enroll(csp::entered&, csp::op_case& c, csp::wait& me) noexcept override { return go(c, &me); }
  void withdraw(csp::op_case& c) noexcept override {
    lock_guard hold(store_->lock_);
    if (csp::waiter_list::linked(&c.entry)) store_->waiting_.unlink(c.entry);
  }

 private:
  bool ready_locked() const noexcept { return !closed_ && cell_.version() != seen_; }

  csp::ending go(csp::op_case& c, csp::wait* me) noexcept {
    if (c.kind == csp::op::send) return csp::ending::closed;
    lock_guard hold(store_->lock_);
    if (closed_) return csp::ending::closed;
    if (!ready_locked()) {
      if (me) store_->waiting_.link(c.entry);
      return csp::ending::pending;
    }
    if (me && me->try_claim(c.entry.index) == csp::wait::claimed::lost) return csp::ending::lost;
    seen_ = cell_.version();
    ++received_;
    static_cast<std::optional<setting_change>*>(c.slot)->emplace(setting_change{seen_});
    return csp::ending::done;
  }

  const std::shared_ptr<setting_store> store_;
  const lives::cell_base& cell_;
  // Under the store's lock.
  std::uint64_t seen_;
  std::uint64_t received_ = 0;
  bool closed_ = false;
};

csp::ref<csp::channel_base> lives::make_changes(std::shared_ptr<setting_store> store, const cell_base& c) {
  return csp::ref<csp::channel_base>(new change_channel(std::move(store), c));
}

value settings_with(const value& settings, const value* changes) {
  const auto* const members = changes ? changes->get_if<value::table>() : nullptr;
  const auto* const old = settings.get_if<value::table>();
  value::table all = old ? *old : value::table();
  if (members)
    for (const value_member& m : *members) {
      const auto same = [&](const value_member& there) { return there.key == m.key; };
      if (const auto at = std::find_if(all.begin(), all.end(), same); at != all.end()) {
        *at = m;
      } else {
        all.push_back(m);
      }
    }
  return value(std::move(all), settings.at());
}

setting_store::sight setting_store::look() const {
  const sched::unfenced in;
  lock_guard hold(lock_);
  return {first_.get(), set_};
}

lives::cell_base* setting_store::find(lives::cell_base* first, std::string_view name) noexcept {
  while (first && first->name() != name) first = first->next_.get();
  return first;
}

lives::cell_base* setting_store::find(std::string_view name) const noexcept {
  return find(look().first, name);
}

std::shared_ptr<const value> setting_store::all_set() const { return look().set; }

bool setting_store::try_set(const sight& now, const value& changes, std::string& wrong) {
  const auto* const members = changes.get_if<value::table>();
  if (!members) {
    wrong = "settings are a table";
    return true;
  }
  struct change {
    lives::cell_base* cell;
    std::unique_ptr<lives::staged> to;
  };
  std::vector<change> all;
  for (const value_member& m : *members) {
    lives::cell_base* const cell = find(now.first, m.key);
    if (!cell) continue;
    std::unique_ptr<lives::staged> to;
    if (const std::string why = cell->stage(m.value, to); !why.empty()) {
      wrong = "setting '" + m.key + "': " + why;
      return true;
    }
    all.push_back({cell, std::move(to)});
  }
  auto set = std::make_shared<const value>(settings_with(now.set ? *now.set : value(), &changes));
  const csp::entered in;  // ends before what was there is destroyed
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    if (first_.get() != now.first || set_ != now.set) return false;
    set_.swap(set);
    for (const change& c : all) c.cell->put(*c.to);
    claim_all(waiting_, csp::ending::look, woken);
  }
  wake_all(in.m, woken);
  return true;
}

std::string setting_store::set(const value& changes) {
  std::string wrong;
  while (!try_set(look(), changes, wrong)) {
  }
  return wrong;
}

bool setting_store::set_since(const std::shared_ptr<const value>& seen, const value& changes,
                              std::string& wrong) {
  for (;;) {
    const sight now = look();
    if (now.set != seen) return false;
    if (try_set(now, changes, wrong)) return true;
  }
}

lives::cell_base& setting_store::add(std::unique_ptr<lives::cell_base> made,
                                     std::shared_ptr<const value> read_from) {
  for (;;) {
    const sight now = look();
    if (lives::cell_base* const there = find(now.first, made->name())) {
      if (there->type() != made->type())
        throw setting_error("setting '" + there->name() + "' is there with another type");
      return *there;
    }
    if (now.set != read_from) {
      const value* const v = now.set ? now.set->find(made->name()) : nullptr;
      if (std::unique_ptr<lives::staged> to; v && made->stage(*v, to).empty()) made->put(*to);
      read_from = now.set;
    }
    lives::cell_base& added = *made;
    const sched::unfenced in;
    lock_guard hold(lock_);
    if (first_.get() != now.first || set_ != now.set) continue;
    made->next_ = std::move(first_);
    first_ = std::move(made);
    return added;
  }
}

}  // namespace leat
