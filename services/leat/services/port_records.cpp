// SPDX-License-Identifier: BSL-1.0
#include <leat/services/port_records.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/services/aside.hpp>

namespace leat::services {
namespace {

constexpr std::size_t most_text = 800;  // of a line; the log cuts longer ones

void log_value(const std::string& who, const std::string& text) {
  if (text.size() <= most_text) return log_error("services", "{}: {}", who, text);
  const std::size_t parts = (text.size() + most_text - 1) / most_text;
  for (std::size_t i = 0; i < parts; ++i)
    log_error("services", "{} ({} of {}): {}", who, i + 1, parts,
              std::string_view(text).substr(i * most_text, most_text));
}

// What whoever passes it on needs, who may outlive the host.
struct dead_value {
  std::shared_ptr<csp::gate_record> record;  // with the value
  const port_type* type;
  std::string who;
  std::optional<any_channel> to = {};
  std::string to_name = {};
};

// To the channel for such values if it takes it at once; else it is logged in full.
void pass_on(const dead_value& v) {
  csp::hold_base& h = *v.record->hold;
  send_status s = send_status::closed;
  if (v.to) s = csp::send_held(h, *v.to->base(), csp::at_once);
  if (s == send_status::sent) {
    log_warning("services", "{}; it goes to '{}'", v.who, v.to_name);
    return;
  }
  std::string text = "(it has no text)";
  if (v.type->write_json) {
    text.clear();
    v.type->write_json(h.again(), text);
  }
  log_value(v.to ? v.who + "; '" + v.to_name + "' did not take it (" + to_string(s) + ")" : v.who, text);
  h.acknowledge();
}

}  // namespace

port_records::port_records(const config::plan& plan, const wiring& wires, config::index process,
                           unsigned replica)
    : plan_(plan), wires_(wires), process_(process) {
  const config::process_plan& p = plan.processes[process];
  if (!p.watchdog && std::none_of(p.ports.begin(), p.ports.end(), [](const config::port_plan& at) {
        return at.delivery == config::delivery::at_least_once;
      }))
    return;
  const std::vector<port_binding> all = wires.bindings(process, replica);
  for (config::index i = 0; i < p.ports.size(); ++i) {
    const config::port_plan& at = p.ports[i];
    const auto bound = std::find_if(all.begin(), all.end(),
                                    [&](const port_binding& b) { return b.port == at.schema->name; });
    if (bound == all.end()) continue;
    const bool is_in = at.schema->direction == port_direction::in;
    const bool holds = is_in && at.delivery == config::delivery::at_least_once;
    const any_channel& first = bound->channels.front();
    if (!holds && !p.watchdog) continue;
    if (!holds && bound->channels.size() == 1 && first.one_to_one()) {
      (is_in ? rings_read_ : rings_written_).push_back(first);
      continue;
    }
    auto record = std::make_shared<csp::gate_record>();
    if (holds) {
      if (!first.type().make_hold)
        throw wiring_error(plan.where(p.at) + ": process '" + p.name + "', port '" + at.schema->name +
                           "': " + describe_content(first.type()) +
                           " cannot be copied, so it cannot be delivered at least once");
      record->hold = first.type().make_hold();
      // Names may be the same where the types are not; what is given up is written there as it is.
      if (p.dead_letter) wires.whole(*p.dead_letter).check_type(first.type());
    }
    ports_.push_back({i, &first.type(), std::move(record)});
    if (holds) ports_.back().ends = bound->channels;
  }
}

void port_records::put_into(std::vector<port_binding>& bindings) const noexcept {
  for (const port& p : ports_)
    for (port_binding& b : bindings)
      if (b.port == plan_.processes[process_].ports[p.index].schema->name) b.record = p.record;
}

std::uint64_t port_records::progress() const noexcept {
  std::uint64_t sum = 0;
  for (const port& p : ports_) sum += p.record->passed.load(std::memory_order_relaxed);
  for (const any_channel& c : rings_read_) sum += c.stats().received;
  for (const any_channel& c : rings_written_) sum += c.stats().sent;
  return sum;
}

port_records::outcome port_records::settle(left_as how, bool another_comes, const std::string& name) {
  using state = csp::hold_base::state;
  outcome o;
  for (port& p : ports_) {
    csp::hold_base* const h = p.record->hold.get();
    const auto acknowledge = [&] {
      for (const any_channel& end : p.ends) stores::acknowledge(end);
    };
    if (h && how == left_as::done && h->at() != state::again) acknowledge();
    if (!h || h->at() == state::empty) continue;
    if (h->at() == state::in_hand && how == left_as::done) {
      h->forget();
      continue;
    }
    // One that was to be handed out again, and has not been, has not failed again.
    const bool was_in_hand = h->at() == state::in_hand;
    if (was_in_hand && how == left_as::failed) ++h->failures;
    const bool often = h->failures >= plan_.processes[process_].attempts;
    if (!another_comes && !often && std::any_of(p.ends.begin(), p.ends.end(), stores::keeps)) {
      h->forget();  // the store has it, for the next start
    } else if (!another_comes || often) {
      give_up(p, name);
      acknowledge();
      ++o.given_up;
    } else if (was_in_hand) {
      h->become(state::again);
      ++o.redelivered;
    }
  }
  return o;
}

unsigned port_records::in_hand() const noexcept {
  return static_cast<unsigned>(std::count_if(ports_.begin(), ports_.end(), [](const port& p) {
    return p.record->hold && p.record->hold->at() != csp::hold_base::state::empty &&
           std::none_of(p.ends.begin(), p.ends.end(), stores::keeps);
  }));
}

std::vector<const port_type*> port_records::held() const {
  std::vector<const port_type*> all;
  for (const port& p : ports_) all.push_back(p.record->hold ? p.type : nullptr);
  return all;
}

std::vector<std::shared_ptr<csp::gate_record>> port_records::fresh(
    const std::vector<const port_type*>& held) {
  std::vector<std::shared_ptr<csp::gate_record>> all;
  for (const port_type* const t : held) {
    all.push_back(std::make_shared<csp::gate_record>());
    if (t) all.back()->hold = t->make_hold();
  }
  return all;
}

void port_records::leave_records(std::vector<std::shared_ptr<csp::gate_record>>& fresh) noexcept {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    std::swap(ports_[i].record, fresh[i]);
    if (const auto& old = fresh[i]->hold; old && old->at() != csp::hold_base::state::empty)
      ports_[i].record->hold->succeed(old);
  }
}

void port_records::give_up(port& p, const std::string& name) const {
  const config::process_plan& plan = plan_.processes[process_];
  dead_value v;
  v.record = p.record;
  v.type = p.type;
  v.who = "process '" + name + "' (" + plan.type->name + ", " + plan_.where(plan.at) + "), port '" +
          plan.ports[p.index].schema->name + "': a value is given up after " +
          std::to_string(p.record->hold->failures) +
          (p.record->hold->failures == 1 ? " failure" : " failures");
  if (plan.dead_letter) {
    v.to = wires_.whole(*plan.dead_letter);
    v.to_name = plan_.channels[*plan.dead_letter].name;
  }
  const std::string who = v.who;
  if (run_aside([v = std::move(v)] { pass_on(v); })) return;
  log_error("services",
            "{}, and its copy, move or destructor fails or does not return: nobody waits for it any longer",
            who);
  p.record = std::make_shared<csp::gate_record>();
  p.record->hold = p.type->make_hold();
}

}  // namespace leat::services
