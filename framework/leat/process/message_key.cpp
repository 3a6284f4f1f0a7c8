// SPDX-License-Identifier: BSL-1.0
#include <leat/process/message_key.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <leat/process/any_channel.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat {
namespace {

constexpr std::uint64_t stirred(std::uint64_t h, std::uint64_t more) noexcept {
  h = (h ^ more) * 0x9fb21c651e98df25u;
  return h ^ (h >> 32);
}

std::uint64_t hash_text(std::string_view t) noexcept {
  std::uint64_t h = t.size();
  while (t.size() >= sizeof h) {
    std::uint64_t word = 0;
    std::memcpy(&word, t.data(), sizeof word);
    h = stirred(h, word);
    t.remove_prefix(sizeof word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, t.data(), t.size());
  return stirred(stirred(h, rest), 1);
}
constexpr std::uint64_t hash_number(value_kind kind, std::uint64_t bits) noexcept {
  return stirred(stirred(static_cast<std::uint64_t>(kind), bits), 2);
}

// A key as it is compared; a text is where the value is.
struct plain_key {
  value_kind kind = value_kind::none;  // none: the message lacks it
  std::uint64_t bits = 0;
  std::string_view text = {};

  std::uint64_t hash() const noexcept {
    return kind == value_kind::text ? hash_text(text) : hash_number(kind, bits);
  }
  friend bool operator==(const plain_key&, const plain_key&) = default;
};

plain_key number_key(value_kind kind, std::int64_t n) noexcept {
  return {kind, static_cast<std::uint64_t>(n)};
}

class record_key final : public csp::key_of {
 public:
  explicit record_key(std::string_view path) : path_(field_path::named(path)) {}

  std::uint64_t hash(const void* value) const noexcept override { return of(value).hash(); }
  bool same(const void* a, const void* b) const noexcept override { return of(a) == of(b); }

 private:
  plain_key of(const void* value) const noexcept {
    const field_value* const v = path_.find(*static_cast<const record*>(value));
    if (!v) return {};
    if (const auto* const t = std::get_if<std::string>(v)) return {value_kind::text, 0, *t};
    if (const auto* const i = std::get_if<std::int64_t>(v)) return number_key(value_kind::integer, *i);
    if (const auto* const b = std::get_if<bool>(v)) return number_key(value_kind::boolean, *b ? 1 : 0);
    if (const auto* const d = std::get_if<nanoseconds>(v))
      return number_key(value_kind::duration, d->count());
    if (const auto* const m = std::get_if<moment>(v))
      return number_key(value_kind::moment, m->time_since_epoch().count());
    const auto* const r = std::get_if<double>(v);
    if (!r) return {};
    constexpr double beyond = 9223372036854775808.0;  // 2^63
    if (std::trunc(*r) == *r && *r >= -beyond && *r < beyond)
      return number_key(value_kind::integer, static_cast<std::int64_t>(*r));
    return {value_kind::real, std::isnan(*r) ? 0 : std::bit_cast<std::uint64_t>(*r)};
  }

  const field_path path_;
};

class shaped_key final : public csp::key_of {
 public:
  struct step {
    const type_shape* at;      // what is stepped into
    const field_shape* field;  // of a table
    std::size_t index;         // of a list, or of an optional: 0
  };
  shaped_key(std::vector<step> steps, const type_shape& leaf) : steps_(std::move(steps)), leaf_(leaf) {}

  std::uint64_t hash(const void* value) const noexcept override { return of(value).hash(); }
  bool same(const void* a, const void* b) const noexcept override { return of(a) == of(b); }

 private:
  plain_key of(const void* value) const noexcept {
    const void* at = value;
    for (const step& s : steps_) {
      if (!s.field && s.index >= s.at->length(at)) return {};
      at = s.field ? s.field->in(shapes::part_of(at)) : s.at->at(shapes::part_of(at), s.index);
    }
    switch (leaf_.kind) {
      case value_kind::text: return {value_kind::text, 0, *static_cast<const std::string*>(at)};
      case value_kind::boolean: return number_key(leaf_.kind, *static_cast<const bool*>(at) ? 1 : 0);
      case value_kind::integer: return {leaf_.kind, shapes::load_integer(leaf_, at).bits};
      case value_kind::size: return {leaf_.kind, static_cast<const byte_size*>(at)->bytes};
      default: return number_key(leaf_.kind, leaf_.get(at));
    }
  }

  const std::vector<step> steps_;
  const type_shape& leaf_;
};

bool can_be_key(value_kind k) noexcept {
  switch (k) {
    case value_kind::text:
    case value_kind::boolean:
    case value_kind::integer:
    case value_kind::size:
    case value_kind::enumeration:
    case value_kind::duration:
    case value_kind::moment: return true;
    default: return false;
  }
}

}  // namespace

std::shared_ptr<const csp::key_of> make_message_key(const type_shape& s, std::string_view path) {
  if (s.kind == value_kind::record) return std::make_shared<record_key>(path);
  const std::string name = "the key '" + std::string(path) + "' of '" + type_name(s) + "'";
  field_steps named;
  if (const field_path_error f = parse_field_path(path, named); !f.why.empty())
    throw wiring_error(name + ": " + f.why);
  std::vector<shaped_key::step> steps;
  const type_shape* at = &s;
  const auto unwrap = [&] {
    while (at->kind == value_kind::maybe) {
      steps.push_back({at, nullptr, 0});
      at = &at->element();
    }
  };
  for (const field_step& f : named) {
    unwrap();
    const field_shape* found = nullptr;
    for (std::size_t i = 0; at->kind == value_kind::table && !f.is_index && i < at->field_count; ++i)
      if (at->fields[i].name == f.name) found = &at->fields[i];
    if (!found && !(f.is_index && at->kind == value_kind::list))
      throw wiring_error(name + ": there is no such field");
    steps.push_back({at, found, f.index});
    at = found ? &found->type() : &at->element();
  }
  unwrap();
  if (!can_be_key(at->kind))
    throw wiring_error(name + ": a field of type '" + type_name(*at) + "' can be no key");
  return std::make_shared<shaped_key>(std::move(steps), *at);
}

}  // namespace leat
