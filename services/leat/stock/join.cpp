// SPDX-License-Identifier: BSL-1.0
//
// A G for each input hands records to run(), which keeps the latest and sends, and waits until it has done so: so a
// record is in hand until what it makes due has gone.
#include <algorithm>
#include <atomic>
#include <unordered_set>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/latest.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(join)

namespace leat::stock {

LEAT_ENUM(join_on, any, first, all);

namespace {

using namespace std::chrono_literals;

std::vector<setting_diagnostic> validate_join_names(const value& names) {
  const auto* const all = names.get_if<value::list>();
  if (!all) return {};
  std::vector<setting_diagnostic> wrong;
  if (all->size() > latest_records::most)
    wrong.push_back(
        {"there are " + std::to_string(latest_records::most) + " inputs", &(*all)[latest_records::most]});
  std::unordered_set<std::string_view> known;
  for (const value& v : *all)
    if (const auto* const name = v.get_if<std::string>();
        name && !name->empty() && !known.insert(*name).second)
      wrong.push_back({"two inputs are called " + leat::in_quotes(*name), &v});
  return wrong;
}

// Each input has it, not `values` alone.
std::vector<needed_field> key_of_join(const value& settings) {
  const std::string* const key = text_in(settings, "key");
  if (!key || key->empty()) return {};
  return {{*key, value_kind::any, settings.find("key")}};
}

class join : public process {
  record_in first{this, "values", helpers_port, "the first input"};
  record_in second{this, "values2", helpers_port, needs_by(key_of_join), "another"};
  record_in third{this, "values3", helpers_port, needs_by(key_of_join), "another", optional_port};
  record_in fourth{this, "values4", helpers_port, needs_by(key_of_join), "another", optional_port};
  record_out out{this, "out", "the latest of each input with the same key, as one record"};
  setting<join_on> on{
      this, "on", join_on::any,
      "when one is sent: after a record from any input, from the first (`values`), or from each of "
      "them since the last one"};
  setting<nanoseconds, live> every{
      this, "every", 0s, "then no sooner than at the end of such a time, of each key at most one; 0: at once",
      between<nanoseconds>(0s, 8760h)};
  setting<nanoseconds, live> age{this, "age", 0s,
                                 "what came longer ago counts as if it had not come; 0: however long",
                                 between<nanoseconds>(0s, 8760h)};
  setting<bool> partial{this, "partial", false, "also while some inputs have brought nothing of this key"};
  setting<std::vector<std::string>> names{
      this, "names", std::vector<std::string>(),
      "of the inputs, in their order: fields of one that has a name are called "
      "\"NAME.field\"",
      validated_by(validate_join_names)};
  key_settings keys{this};
  rejects bad{this, "a record without the field `key`"};
  errors told{
      this,
      {{"a field that an input before has as well, without `names`",
        "that of the input before is sent; logged once for each name"},
       {"a key forgotten with something to send", "that is sent first"},
       {"an input that ends", "its latest stay; with on = \"first\" the end of `values` is that of all"},
       {"a failure", "what came before is forgotten"},
       {"a stop while combinations wait for the end of `every`", "they are lost, counted and logged"},
       nobody_reads,
       channel_is_full,
       no_such_message}};

  struct arrival {
    std::size_t input = 0;
    field_value key = {};
    record value = {};  // without the key
  };
  struct state {
    latest_records latest = {};
    field_value key = {};
  };
  struct input {
    const record_in* port;
    channel<bool> handled{1};
  };

  const field_path key_path_ = keys.key->empty() ? field_path() : field_path::named(*keys.key);
  std::vector<input> inputs_;
  std::atomic<bool> leader_ended_{
      false};  // of on = "first": written by its G before it closes, read by the others
  std::unordered_set<std::string> told_names_;

  // A G of its own.
  void read(std::size_t i, const channel<arrival>& to) {
    taken all(this, *inputs_[i].port);
    for (record& r : all) {
      arrival a{i};
      if (!keys.key->empty()) {
        const field_value* const key = key_path_.find(r);
        if (!key) {
          bad.add("field '" + *keys.key + "', the key, is missing");
          continue;
        }
        a.key = *key;
        key_path_.erase(r);
      }
      a.value = std::move(r);
      if (to.send(std::move(a)) != send_status::sent) {
        if (leader_ended_ && i > 0) all.done();  // it would have made nothing due any more
        return;
      }
      if (!inputs_[i].handled.recv()) return;
    }
  }

  latest_records::rules rules() const {
    const nanoseconds longest = *age;
    return {inputs_.size(), *on, *partial, longest > 0ns ? longest : nanoseconds::max()};
  }

  void add_field(record& to, const std::string& field, const field_value& v) {
    if (!to.find(field)) {
      to.append(field, v);
    } else if (told_names_.size() < 100 && told_names_.insert(field).second) {
      log_warning("stock",
                  "{}: several inputs have a field {}: that of the first of them is sent; `names` keeps both",
                  name(), leat::in_quotes(field));
    }
  }

  // False: nobody reads it, or this process is to stop.
  bool send(state& s, time_point now, const latest_records::rules& how, passes& pass) {
    record r;
    const bool flat = key_path_.steps().size() == 1;
    if (flat) key_path_.make(r) = s.key;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const record* const from = s.latest.get(i, now, how);
      if (!from) continue;
      if (i < names->size() && !(*names)[i].empty()) {
        add_field(r, (*names)[i], *from);
      } else {
        for (const record::field& f : *from) add_field(r, f.name, f.value);
      }
    }
    if (!flat && !key_path_.empty()) key_path_.make(r) = s.key;
    if (!pass(out, std::move(r))) return false;
    s.latest.settle();
    return true;
  }

  bool send_due(keyed<state>& states, passes& pass) {
    const time_point now = leat::now();
    const latest_records::rules how = rules();
    for (auto at = states.all().rbegin(); at != states.all().rend(); ++at)
      if (at->second.latest.due(now, how) && !send(at->second, now, how, pass)) return false;
    return true;
  }

  bool take(arrival a, keyed<state>& states, passes& pass) {
    const time_point now = leat::now();
    const latest_records::rules how = rules();
    const std::string key = to_text(a.key);
    if (state* const oldest = states.displaced_by(key))
      if (oldest->latest.due(now, how) && !send(*oldest, now, how, pass)) return false;
    state& s = states.get(key, [] { return state(); });
    s.key = std::move(a.key);
    s.latest.put(a.input, std::move(a.value), now);
    return *every > 0ns || !s.latest.due(now, how) || send(s, now, how, pass);
  }

  // What `every` has kept back.
  void tell_unsent(keyed<state>& states) const {
    const auto unsent = static_cast<std::uint64_t>(
        std::count_if(states.all().begin(), states.all().end(),
                      [&](const auto& s) { return s.second.latest.due(leat::now(), rules()); }));
    if (unsent == 0 || *every == 0ns) return;
    log_warning("stock", "{}: lost {} that waited for the end of `every`", name(), unsent);
    count_lost(unsent);
  }

  void join_all(const channel<arrival>& came) {
    passes pass(this);
    keyed<state> states(keys.limit());
    const auto period_from_now = [&](nanoseconds p) {
      return p > 0ns ? saturating_add(leat::now(), p) : never;
    };
    nanoseconds period = *every;
    time_point end = period_from_now(period);
    for (;;) {
      std::optional<arrival> a;
      const recv_status got = came.recv(a, end);
      if (got == recv_status::stopped) return tell_unsent(states);
      if (got == recv_status::closed) {
        if (!send_due(states, pass)) tell_unsent(states);
        return;
      }
      const time_point now = leat::now();
      const bool over = end != never && now >= end;
      const nanoseconds wanted = *every;
      if ((over || wanted != period) && !send_due(states, pass)) return tell_unsent(states);
      if (wanted != period) {
        end = period_from_now(period = wanted);
      } else if (over) {
        end = saturating_add(end, period * (saturating_sub(now, end) / period + 1));
      }
      if (!a) continue;
      const channel<bool>& handled = inputs_[a->input].handled;
      if (!take(std::move(*a), states, pass)) return tell_unsent(states);
      (void)handled.try_send(true);
    }
  }

  void run() override {
    for (const record_in* p : {&first, &second, &third, &fourth})
      if (p->connected()) inputs_.push_back({p});
    const channel<arrival> came;
    std::atomic<std::size_t> open{inputs_.size()};
    std::atomic<bool> closed{false};
    const auto close = [&] {
      if (!closed.exchange(true)) came.close();
    };
    task_group readers;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      readers.go("join input", [this, i, &came, &open, &close] {
        const auto end = [&] {
          if (open.fetch_sub(1) == 1) close();
        };
        try {
          read(i, came);
        } catch (...) {
          end();
          throw;
        }
        if (i == 0 && *on == join_on::first) {
          leader_ended_ = true;
          close();
        }
        end();
      });
    join_all(came);
    for (const input& i : inputs_) i.handled.close();
    close();
    readers.stop();
    readers.wait();
  }
};
LEAT_PROCESS(join, "joins the latest records of several channels by a key");

}  // namespace
}  // namespace leat::stock
