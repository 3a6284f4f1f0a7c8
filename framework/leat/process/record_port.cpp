// SPDX-License-Identifier: BSL-1.0
#include <leat/process/record_port.hpp>

#include <mutex>
#include <unordered_set>

#include <leat/base/log.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/gate.hpp>

namespace leat::ports {

// Counts each, and tells each field once. Any G.
class port_losses final : public conversion_losses {
 public:
  port_losses(const conversion& how, const port_type& type)
      : unknown_(how.unknown), counts_(how.losses), who_(how.who), message_(type.message_name()) {}

  void unknown_field(std::string_view path) override {
    if (unknown_ == unknown_fields::error)
      throw message_error("field '" + std::string(path) + "': message '" + message_ +
                              "' has none of that name (unknown = \"error\")",
                          0);
    count();
    if (!is_new(path)) return;
    if (unknown_ == unknown_fields::drop)
      log_notice("process", "{}: field '{}' is left out: message '{}' has none of that name", who_, path,
                 message_);
    else
      log_warning("process",
                  "{}: field '{}' is left out: message '{}' has none of that name (unknown = \"drop\" at the "
                  "channel says that this is meant)",
                  who_, path, message_);
  }
  void rough_number(std::string_view path) override {
    count();
    if (is_new(path))
      log_warning("process", "{}: field '{}' of message '{}' is more than a record can tell: about as much",
                  who_, path, message_);
  }

 private:
  void count() const noexcept {
    if (counts_) counts_->fields.fetch_add(1, std::memory_order_relaxed);
  }
  bool is_new(std::string_view path) {
    const std::lock_guard hold(lock_);
    return told_.size() < most_told && told_.emplace(path).second;
  }

  static constexpr std::size_t most_told = 256;  // names may come from outside

  const unknown_fields unknown_;
  const std::shared_ptr<loss_counts> counts_;
  const std::string who_, message_;
  ranked_mutex lock_{lock_rank::user, "fields left out"};
  std::unordered_set<std::string> told_;
};

namespace {

const port_type& records() noexcept { return type_of<record>; }

struct arrival {
  std::optional<record>& to;
  const record_end& end;
};
struct departure {
  record& from;
  const record_end& end;
};

record_end joined(const port_type& type, csp::ref<csp::channel_base> channel, const conversion& how) {
  return {&type, std::move(channel), how.names,
          &type == &records() ? nullptr : std::make_shared<port_losses>(how, type)};
}

}  // namespace

recv_status record_end::recv(std::optional<record>& to, std::int64_t until) const {
  to.reset();
  if (!channel || type == &records()) {
    const recv_status s = csp::recv_value(channel.get(), to, until);
    if (to) names.come_in(*to);
    return s;
  }
  arrival a{to, *this};
  return type->recv_any(*channel.get(), until, &a, [](void* context, void* v, const type_shape& s) {
    auto& here = *static_cast<arrival*>(context);
    here.to = to_record(s, v, here.end.losses.get());
    here.end.names.come_in(*here.to);
  });
}

send_status record_end::send(record& r, std::int64_t until) const {
  if (!channel || type == &records()) {
    if (channel) names.go_out(r);
    return csp::send_value(channel.get(), r, until);
  }
  departure d{r, *this};
  return type->send_any(*channel.get(), until, &d, [](void* context, void* v, const type_shape& s) {
    auto& here = *static_cast<departure*>(context);
    here.end.names.go_out(here.from);
    from_record(s, v, here.from, here.end.losses.get());
  });
}

record_end converting(const any_channel& c, field_renames names) {
  check_converts(c);
  return joined(c.type(), c.state(),
                {.names = std::move(names), .who = "channel '" + std::string(c.name()) + "'"});
}

entry of_record(record_end& end, std::string_view name, bool is_out) noexcept {
  entry e;
  e.name = name;
  e.is_out = is_out;
  e.converts = true;
  e.type = &records();
  e.end = &end;
  e.bind = [](void* to, csp::ref<csp::channel_base> channel, const port_type& type, const conversion& how) {
    *static_cast<record_end*>(to) = joined(type, std::move(channel), how);
  };
  return e;
}

}  // namespace leat::ports

leat::csp::hold_base* leat::record_in::held() const noexcept {
  return end_.channel ? csp::held_at(*end_.channel.get()) : nullptr;
}

bool leat::record_in::at_least_once() const noexcept { return held() != nullptr; }

bool leat::record_in::holds_last() const noexcept {
  const csp::hold_base* const h = held();
  return h && h->at() == csp::hold_base::state::in_hand;
}

void leat::record_in::acknowledge() const noexcept {
  if (holds_last()) held()->acknowledge();
}
