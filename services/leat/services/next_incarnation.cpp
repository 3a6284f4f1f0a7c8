// SPDX-License-Identifier: BSL-1.0
#include <leat/services/next_incarnation.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <leat/sched/info.hpp>

namespace leat::services {
namespace {

incarnation::options options_of(const recipe& r) {
  incarnation::options o;
  o.child = r.child;
  o.hang = r.hang;
  o.grace = r.grace;
  return o;
}

}  // namespace

next_incarnation::next_incarnation(std::shared_ptr<const recipe> by)
    : run(std::make_shared<incarnation>(options_of(*by), by->news)),
      records(port_records::fresh(by->held)),
      by_(std::move(by)),
      with_(by_->options) {}

std::unique_ptr<process> next_incarnation::make() {
  if (by_->seen) by_->seen->begun(by_->child, self().id);
  incarnation_news n;
  n.child = by_->child;
  n.what = incarnation_news::kind::prepared;
  n.next = std::make_shared<next_incarnation>(by_);
  (void)by_->news.try_send(std::move(n));
  before.reset();
  records.clear();
  if (!by_->type) throw std::runtime_error("there is no class '" + std::string(by_->type_name) + "'");
  return by_->type->make(with_);
}

}  // namespace leat::services
