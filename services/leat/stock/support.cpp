// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/support.hpp>

#include <cmath>
#include <stdexcept>

#include <leat/base/log.hpp>

namespace leat::stock {
namespace {

// Input in a line of the log.
std::string shortened(std::string text) {
  constexpr std::size_t most = 100;
  if (text.size() <= most) return text;
  text.resize(most);
  return text + "...";
}

}  // namespace

void complaints::add_at(time_point now, std::string why, std::uint64_t n) {
  const bool first = count_ == 0;
  why_ = std::move(why);
  count_ += n;
  if (!first && now < next_) return;
  tell();
  next_ = saturating_add(now, pause);
}

void complaints::tell() noexcept {
  if (count_ == told_) return;
  if (told_ == 0 && count_ == 1) {
    log_warning("stock", "{}: {}: {}", owner_.name(), what_, why_);
  } else {
    log_warning("stock", "{}: {} {} more, {} in all; the last: {}", owner_.name(), what_, count_ - told_,
                count_, why_);
  }
  told_ = count_;
}

void rejects::add(std::string why) {
  if (*bad_ == on_bad::fail) throw std::runtime_error(why + " (bad = \"fail\")");
  const std::lock_guard hold(lock_);
  told_.add(std::move(why));
}

std::optional<double> number_in(const record& r, const std::string& field, rejects& bad) {
  const field_value* const v = r.find(field);
  const std::optional<double> n = v ? to_number(*v) : std::nullopt;
  if (n && std::isfinite(*n)) return n;
  if (!v) {
    bad.add("field '" + field + "' is missing");
  } else if (n) {
    bad.add("field '" + field + "' is " + to_text(*v));
  } else {
    bad.add("field '" + field + "': expected a number, got " + to_string(v->kind()) +
            (v->is_null() ? "" : " (" + leat::quoted(shortened(to_text(*v))) + ")"));
  }
  return std::nullopt;
}

std::optional<std::string> key_in(const record& r, const std::string& field, rejects& bad) {
  if (field.empty()) return std::string();
  const field_value* const v = r.find(field);
  if (v) return to_text(*v);
  bad.add("field '" + field + "', the key, is missing");
  return std::nullopt;
}

bool passes::go_on(send_status s) {
  if (s == send_status::full) lost_.add("the channel is full");
  return s != send_status::closed && s != send_status::stopped;
}

}  // namespace leat::stock
