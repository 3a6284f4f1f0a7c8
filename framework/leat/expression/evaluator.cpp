// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/evaluator.hpp>

#include <algorithm>
#include <cmath>

#include <leat/expression/functions.hpp>
#include <leat/expression/quick_test.hpp>

namespace leat::expression {
namespace {

// Kleene's: `deciding` is false for and, true for or.
inline void join(operand& a, const operand& b, bool deciding) noexcept {
  const auto decides = [&](const operand& v) { return deciding ? v.is_true() : v.is_false(); };
  if (decides(a) || decides(b))
    a.set(deciding);
  else if (!a.is(kind::boolean) || !b.is(kind::boolean))
    a = operand();
}

}  // namespace

const char* to_string(evaluation_error f) noexcept {
  constexpr const char* words[] = {"none", "a missing field", "a value of another kind", "a division by zero",
                                   "a value out of range"};
  return words[static_cast<std::size_t>(f)];
}

const field_value* path::follow(const field_value* v) const noexcept {
  for (std::size_t i = 1; v && i < steps.size(); ++i) {
    if (const auto position = steps[i].position) {
      const field_list* const list = v->list();
      v = list && *position < list->size() ? &(*list)[*position] : nullptr;
    } else {
      const record* const table = v->table();
      v = table ? table->find(steps[i].name) : nullptr;
    }
  }
  return v;
}

evaluator::evaluator(std::shared_ptr<const program> p)
    : program_(std::move(p)),
      stack_(program_->depth + 1),
      slots_(program_->memories.size()),
      texts_(program_->texts + 1),
      positions_(program_->paths.size()) {
  for (const field_value& v : program_->constants) constants_.push_back(operand::of(&v));
  memories_.reserve(program_->memories.size());
  std::size_t share = program_->most_remembered;
  if (share != SIZE_MAX) share /= std::max<std::size_t>(1, program_->memories.size());
  for (const memory_plan& m : program_->memories) memories_.emplace_back(m, program_->most_keys, share);
}

// A condition is true, false or missing.
inline void evaluator::settle(operand& v, const span& at) {
  if (v.is(kind::boolean) || v.is(kind::missing)) [[likely]]
    return;
  v = failed(evaluation_error::wrong_kind, at, "expected true or false");
}

void evaluator::execute(const record& r, const record_times& when) {
  made_ = 0;
  if (kept_ > program_->longest_text) [[unlikely]]
    free_texts();
  if (!program_->before.steps.empty()) run(program_->before, r, when);
  run(program_->main, r, when);
}

void evaluator::run(const code& c, const record& r, const record_times& when) {
  operand* top = stack_.data();  // behind the last
  const instruction* const steps = c.steps.data();
  const std::size_t end = c.steps.size();
  for (std::size_t pc = 0; pc < end; ++pc) {
    const instruction& i = steps[pc];
    switch (i.what) {
      case opcode::constant: *top++ = constants_[i.index]; break;
      case opcode::field: *top++ = load(i.index, r, i.arg != 0, c.places[pc]); break;
      case opcode::slot: *top++ = slots_[i.index]; break;
      case opcode::now: *top++ = operand::of(when.now); break;
      case opcode::negate: {
        evaluation_error why = evaluation_error::none;
        top[-1] = negate(top[-1], why);
        if (why != evaluation_error::none) (void)failed(why, c.places[pc]);
        break;
      }
      case opcode::not_:
        settle(top[-1], c.places[pc]);
        if (top[-1].is(kind::boolean)) top[-1].set(top[-1].is_false());
        break;
      case opcode::test: {
        --top;
        bool yes = false;
        if (quick_test(static_cast<binary>(i.arg), top[-1], top[0], yes)) [[likely]]
          top[-1].set(yes);
        else
          top[-1] = binary_of(static_cast<binary>(i.arg), top[-1], top[0], texts_.front(), c.places[pc]);
        break;
      }
      case opcode::compare: {
        const field_value* const v = find(i.index, r);
        bool yes = false;
        if (v && quick_test(static_cast<binary>(i.arg), *v, constants_[i.count], yes)) [[likely]]
          top->set(yes);
        else
          *top = binary_of(static_cast<binary>(i.arg), load(i.index, r, false, c.places[pc]),
                           constants_[i.count], texts_.front(), c.places[pc]);
        ++top;
        break;
      }
      case opcode::operate:
        --top;
        top[-1] = binary_of(static_cast<binary>(i.arg), top[-1], top[0], texts_[i.index], c.places[pc]);
        break;
      case opcode::and_:
        settle(top[-1], c.places[pc]);
        if (top[-1].is_false()) pc = i.index - 1;
        break;
      case opcode::or_:
        settle(top[-1], c.places[pc]);
        if (top[-1].is_true()) pc = i.index - 1;
        break;
      case opcode::both:
      case opcode::either:
        --top;
        settle(top[0], c.places[pc]);
        join(top[-1], top[0], i.what == opcode::either);
        break;
      case opcode::choose: {
        settle(*--top, c.places[pc]);
        const operand& by = *top;
        if (by.is_true()) break;
        if (by.is_false()) {
          pc = i.index - 1;
        } else {
          *top++ = operand();
          pc = i.index - 2;  // to the jump
        }
        break;
      }
      case opcode::jump: pc = i.index - 1; break;
      case opcode::is: top[-1] = operand::of(top[-1].is(i.arg == 0 ? kind::missing : kind::null)); break;
      case opcode::among:
        top -= i.count;
        top[-1] = among(top - 1, i.count);
        break;
      case opcode::in_list:
        --top;
        top[-1] = in_list(top[-1], top[0], c.places[pc]);
        break;
      case opcode::call:
        top -= i.count;
        *top = called(i, top, c.places[pc]);
        ++top;
        break;
      case opcode::remember:
        top -= i.count + 1;
        feed(i, top, when, c.places[pc]);
        break;
    }
  }
}

const field_value* evaluator::find(std::size_t number, const record& r) noexcept {
  const path& p = program_->paths[number];
  std::size_t& position = positions_[number];
  const auto fields = r.begin();
  if (position < r.size() && fields[position].name == p.text) [[likely]]
    return &fields[position].value;
  const auto look_for = [&](const std::string& name) -> const field_value* {
    const auto at = std::find_if(fields, r.end(), [&](const record::field& f) { return f.name == name; });
    if (at == r.end()) return nullptr;
    position = static_cast<std::size_t>(at - fields);
    return &at->value;
  };
  if (const field_value* const whole = look_for(p.text)) return whole;
  return p.steps.size() > 1 ? p.follow(look_for(p.steps.front().name)) : nullptr;
}

operand evaluator::load(std::size_t number, const record& r, bool quiet, const span& at) {
  const operand v = operand::of(find(number, r));
  if (v.is(kind::missing) && !quiet)
    return failed(evaluation_error::missing, at, program_->paths[number].text);
  if (v.is(kind::real) && std::isnan(v.real())) return failed(evaluation_error::range, at);
  return v;
}

text_room evaluator::room_in(std::string& text) const noexcept {
  constexpr std::size_t in_one_run = 4;
  return {text, std::min(program_->longest_text, in_one_run * program_->longest_text - made_)};
}

void evaluator::count_text(const std::string& text, std::size_t room_before, const operand& made) noexcept {
  kept_ += text.capacity() - room_before;
  if (made.is(kind::text) && made.text().data() == text.data()) made_ += text.size();
}

// The next texts make their places anew: many that were long once do not stay.
void evaluator::free_texts() {
  for (std::string& t : texts_) std::string().swap(t);
  kept_ = 0;
}

operand evaluator::binary_of(binary what, const operand& a, const operand& b, std::string& text,
                             const span& at) {
  evaluation_error why = evaluation_error::none;
  const std::size_t before = text.capacity();
  const operand out = apply(what, a, b, room_in(text), why);
  if (out.is(kind::text)) count_text(text, before, out);
  if (why == evaluation_error::none) [[likely]]
    return out;
  if (why != evaluation_error::wrong_kind || counts_[static_cast<std::size_t>(why)] > 0)
    return failed(why, at);
  return failed(why, at, in_words(a.kind()) + " and " + in_words(b.kind()));
}

operand evaluator::among(const operand* v, std::size_t n) const noexcept {
  if (v->is(kind::missing)) return {};
  bool unknown = false;
  for (std::size_t i = 1; i <= n; ++i) {
    if (equal(v[0], v[i])) return operand::of(true);
    unknown = unknown || v[i].is(kind::missing);
  }
  return unknown ? operand() : operand::of(false);
}

operand evaluator::in_list(const operand& v, const operand& list, const span& at) {
  if (v.is(kind::missing) || list.is(kind::missing)) return {};
  if (!list.is(kind::list)) return failed(evaluation_error::wrong_kind, at, "expected a list");
  const field_list& all = *list.whole().list();
  return operand::of(
      std::any_of(all.begin(), all.end(), [&](const field_value& e) { return equal(v, operand::of(&e)); }));
}

operand evaluator::called(const instruction& i, const operand* arguments, const span& at) {
  const auto which = static_cast<function>(i.arg);
  const function_schema& schema = schema_of(which);
  const std::span<const operand> all(arguments, i.count);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].is(kind::missing)) {
      if (which == function::default_ || which == function::kind) continue;
      return {};
    }
    if (!schema.takes[std::min<std::size_t>(n, 2)].has(all[n].kind()))
      return failed(evaluation_error::wrong_kind, at, in_words(all[n].kind()));
  }
  evaluation_error why = evaluation_error::none;
  std::string& text = texts_[i.index];
  const std::size_t before = text.capacity();
  const operand out = expression::call(which, all, room_in(text), why);
  count_text(text, before, out);
  return why == evaluation_error::none ? out : failed(why, at);
}

void evaluator::feed(const instruction& i, const operand* arguments, const record_times& when,
                     const span& at) {
  operand& slot = slots_[i.index];
  std::string_view key;
  if (i.count > 0) {
    const operand& k = arguments[1];
    if (k.is(kind::missing)) return void(slot = {});  // told when it was read
    if (!(scalar | kind::null).has(k.kind()))
      return void(slot = failed(evaluation_error::wrong_kind, at, "a key is a single value"));
    key_.clear();
    if (k.is(kind::text))
      key = k.text();
    else
      append_text(k, key_), key = key_;
  }
  if (key.size() > program_->longest_text ||
      (arguments[0].is(kind::text) && arguments[0].text().size() > program_->longest_text))
    return void(slot = failed(evaluation_error::range, at, "a text is too long to be remembered"));
  evaluation_error why = evaluation_error::none;
  slot = memories_[i.index].update(key, arguments[0], when, why);
  if (why != evaluation_error::none) (void)failed(why, at);
}

operand evaluator::failed(evaluation_error f, const span& at, std::string_view detail) {
  const auto n = static_cast<std::size_t>(f);
  if (counts_[n]++ == 0) {
    first_[n] = f == evaluation_error::missing
                    ? "field '" + std::string(detail) + "' is missing"
                    : std::string(to_string(f)) + " in `" + std::string(source(at)) + '`';
    if (f != evaluation_error::missing && !detail.empty()) first_[n] += ": " + std::string(detail);
  }
  return {};
}

std::string_view evaluator::source(const span& at) const noexcept {
  return std::string_view(program_->source).substr(std::min(at.offset, program_->source.size()), at.length);
}

std::optional<evaluation_error> evaluator::new_error() noexcept {
  for (std::size_t n = 1; n < error_kinds; ++n)
    if (counts_[n] > 0 && !std::exchange(told_[n], true)) return static_cast<evaluation_error>(n);
  return std::nullopt;
}

}  // namespace leat::expression
