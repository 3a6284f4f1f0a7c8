// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/support.hpp>

#include <cmath>
#include <exception>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/sched/stop.hpp>

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
  if (counts_ == ledger::lost) owner_.count_lost(n);
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
  tell(std::move(why));
  owner_.count_lost();
}

void rejects::add_input(std::string why) {
  tell(std::move(why));
  owner_.count_rejected();
}

void rejects::tell(std::string why) {
  if (*bad_ == on_bad::fail) throw std::runtime_error(why + " (bad = \"fail\")");
  const std::lock_guard hold(lock_);
  told_.add(std::move(why));
}

namespace {

const field_value* find_in(const record& r, const std::string& field) {
  if (const field_value* const v = r.find(field)) return v;
  return field.find_first_of(".[") == std::string::npos ? nullptr : field_path::named(field).find(r);
}

std::optional<double> number_of(const field_value* v, const std::string& field, rejects& bad) {
  const std::optional<double> n = v ? to_number(*v) : std::nullopt;
  if (n && std::isfinite(*n)) return n;
  if (!v) {
    bad.add("field '" + field + "' is missing");
  } else if (n) {
    bad.add("field '" + field + "' is " + to_text(*v));
  } else {
    bad.add("field '" + field + "': expected a number, got " + in_words(v->kind()) +
            (v->is_null() ? "" : " (" + leat::in_quotes(shortened(to_text(*v))) + ")"));
  }
  return std::nullopt;
}

std::optional<std::string> key_of(const field_value* v, const std::string& field, rejects& bad) {
  if (v) return to_text(*v);
  bad.add("field '" + field + "', the key, is missing");
  return std::nullopt;
}

}  // namespace

std::optional<double> number_in(const record& r, const field_path& field, rejects& bad) {
  return number_of(field.find(r), field.text(), bad);
}
std::optional<double> number_in(const record& r, const std::string& field, rejects& bad) {
  return number_of(find_in(r, field), field, bad);
}
std::optional<std::string> key_in(const record& r, const field_path& field, rejects& bad) {
  if (field.empty()) return std::string();
  return key_of(field.find(r), field.text(), bad);
}
std::optional<std::string> key_in(const record& r, const std::string& field, rejects& bad) {
  if (field.empty()) return std::string();
  return key_of(find_in(r, field), field, bad);
}

bool passes::go_on(send_status s, std::uint64_t records) {
  if (s == send_status::full) {
    lost_.add("the channel is full", records);
    if (from_) from_->acknowledge();
  }
  return s != send_status::closed && s != send_status::stopped;
}

in_hand::~in_hand() {
  if (count_ == 0) return;
  const bool failed = std::uncaught_exceptions() > throwing_;
  const bool stopping = stop_requested();
  const bool again = from_.holds_last() && (failed || stopping);
  const std::uint64_t lost = count_ - (again ? 1 : 0);
  if (lost == 0) return;
  log_warning("stock", "{}: lost {} {}: {}", owner_.name(), lost, lost == 1 ? "record" : "records",
              stopping ? "it was stopped"
              : failed ? "it failed"
                       : "nobody reads what it sends");
  owner_.count_lost(lost);
}

void in_hand::lose(std::uint64_t n) noexcept {
  owner_.count_lost(n);
  from_.acknowledge();
  count_ -= n;
}

}  // namespace leat::stock
