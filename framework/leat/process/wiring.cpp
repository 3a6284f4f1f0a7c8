// SPDX-License-Identifier: BSL-1.0
#include <leat/process/any_channel.hpp>

namespace leat {

std::string describe_content(const port_type& t) {
  return "'" + t.message_name() + "'" + (t.reply ? " answered by '" + t.reply_name() + "'" : std::string());
}

any_channel any_channel::make(broadcast_t, const port_type& type, std::size_t capacity,
                              const channel_options& o) {
  if (!type.make_broadcast)
    throw wiring_error("channel '" + o.name + "': " + describe_content(type) +
                       " cannot be copied, so not every reader can have it");
  return {type, type.make_broadcast(capacity, o)};
}

std::size_t any_channel::discard(std::atomic<std::size_t>* count) const {
  if (state_->each_reader_gets_all()) return 0;
  for (std::size_t n = 0;; ++n) {
    if (count) ++*count;
    if (type_->discard(*state_.get())) continue;
    if (count) --*count;
    return n;
  }
}

recv_status any_channel::recv_json(std::string& to, deadline d) const {
  if (!type_->recv_any) throw wiring_error(describe_content(*type_) + " cannot be written as text");
  to.clear();
  return type_->recv_any(*state_.get(), csp::until_ns(d), &to,
                         [](void* context, void* v, const type_shape& s) {
                           shapes::write_json(s, v, *static_cast<std::string*>(context));
                         });
}

send_status any_channel::send_json(std::string_view text, deadline d) const {
  if (!type_->send_any) throw wiring_error(describe_content(*type_) + " cannot be written as text");
  return type_->send_any(*state_.get(), csp::until_ns(d), &text,
                         [](void* context, void* v, const type_shape& s) {
                           shapes::read_json(s, v, *static_cast<std::string_view*>(context), {});
                         });
}

bool same_type(const port_type& a, const port_type& b) {
  if (&a == &b) return true;
  // A type of an unnamed namespace has the same name in every file, and is another one in each.
  const bool of_one_file = std::string_view(a.value->name()).find("_GLOBAL__N_") != std::string_view::npos;
  return !of_one_file && *a.value == *b.value && a.value_size == b.value_size &&
         same_shape(a.message(), b.message());
}

void any_channel::check_type(const port_type& wanted) const {
  if (!state_) throw wiring_error("no channel where one of " + describe_content(wanted) + " is wanted");
  if (same_type(*type_, wanted)) return;
  throw wiring_error(
      "channel '" + name() + "' carries " + describe_content(*type_) + ", not " + describe_content(wanted) +
      (describe_content(*type_) == describe_content(wanted) ? " of another C++ type with the same name"
                                                            : ""));
}

void check_converts(const any_channel& c) {
  if (!c) throw wiring_error("no channel where one of records is wanted");
  const value_kind k = c.type().message().kind;
  if (!c.type().recv_any || (k != value_kind::table && k != value_kind::record))
    throw wiring_error("channel '" + c.name() + "' carries " + describe_content(c.type()) +
                       ", which has no fields that a record could have");
}

}  // namespace leat
