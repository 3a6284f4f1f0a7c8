// SPDX-License-Identifier: BSL-1.0
#include <leat/net/testing.hpp>

#include <algorithm>
#include <stdexcept>

#include <leat/net/address.hpp>
#include <leat/net/simulated/network.hpp>

namespace leat::testing {
namespace {

using std::chrono::milliseconds;

std::int64_t checked_time(const char* what, nanoseconds d, nanoseconds least = nanoseconds::zero()) {
  if (d < least)
    throw std::invalid_argument(
        std::string("leat::testing::network: ") + what +
        (least.count() > 0 ? " is shorter than a millisecond" : " is less than nothing"));
  return d.count();
}

double checked_rate(const char* what, double rate) {
  if (!(rate >= 0 && rate <= 1))
    throw std::invalid_argument(std::string("leat::testing::network: the rate of ") + what + " is " +
                                std::to_string(rate) + ": 0 to 1 is possible");
  return rate;
}

std::int64_t moment_in(std::int64_t ns) noexcept { return to_ns(saturating_add(now(), nanoseconds(ns))); }

}  // namespace

simulated_network network() {
  std::shared_ptr<net::simulated::network> net = net::simulated::network::here();
  if (!net) throw std::logic_error("leat::testing::network is for Gs inside leat::testing::simulate");
  return simulated_network(std::move(net));
}

simulated_host simulated_network::host(std::string_view name) {
  if (name.empty() || name.find_first_of(": \t[]/") != std::string_view::npos)
    throw std::invalid_argument("leat::testing::network: \"" + std::string(name) +
                                "\" is not a name for a host: dial must find it before the ':' of a port");
  return {net_, net_->host(name)};
}

simulated_link simulated_network::link(std::string_view a, std::string_view b) {
  return {net_, host(a).number_, host(b).number_, true};
}

simulated_link simulated_network::one_way(std::string_view from, std::string_view to) {
  return {net_, host(from).number_, host(to).number_, false};
}

void simulated_network::buffer(std::size_t bytes) {
  if (bytes == 0)
    throw std::invalid_argument("leat::testing::network: a buffer of 0 bytes holds up everybody");
  net_->window(bytes);
}

simulated_host& simulated_host::address(std::string_view in_numbers) {
  const std::string text(in_numbers);
  const bool six = text.find(':') != std::string::npos;
  std::string why;
  const auto a = net::address::parse(six ? "[" + text + "]:0" : text + ":0", &why);
  if (!a) throw std::invalid_argument("leat::testing::network: \"" + text + "\": " + why);
  net_->add_address(number_, *a);
  return *this;
}

void simulated_host::vanish() { net_->vanish(number_); }
void simulated_host::move_here() const { net::simulated::network::move_here_to(number_); }

template <class F>
simulated_link& simulated_link::each(F f) {
  f(net_->between(from_, to_));
  if (both_ && from_ != to_) f(net_->between(to_, from_));
  return *this;
}

simulated_link& simulated_link::latency(timespan d) {
  const std::int64_t ns = checked_time("latency", d);
  return each([&](auto& l) { l.latency(ns); });
}
simulated_link& simulated_link::jitter(timespan d) {
  const std::int64_t ns = checked_time("jitter", d);
  return each([&](auto& l) { l.jitter(ns); });
}
simulated_link& simulated_link::bandwidth(std::uint64_t bytes_per_second) {
  const std::uint64_t b = std::min(bytes_per_second, net::simulated::link::highest_bandwidth);
  return each([&](auto& l) { l.bandwidth(b); });
}

simulated_link& simulated_link::cut() { return cut_for(nanoseconds::max()); }
simulated_link& simulated_link::cut_for(timespan d) {
  const std::int64_t until = moment_in(checked_time("a cut", d));
  return each([&](auto& l) {
    l.cut(now_ns(), until);
    net_->changed(l);
  });
}
simulated_link& simulated_link::heal() {
  return each([&](auto& l) {
    const bool was_up = l.is_up(now_ns());
    l.heal(now_ns());
    if (!was_up) net_->changed(l);
  });
}
simulated_link& simulated_link::cut_at_random(timespan every, timespan lasting) {
  const std::int64_t e = checked_time("the time between cuts", every, milliseconds(1));
  const std::int64_t d = checked_time("a cut", lasting, milliseconds(1));
  if (d > net::simulated::link::longest_random_cut)
    throw std::invalid_argument(
        "leat::testing::network: cuts by chance last for a minute at most; use cut_for for longer ones");
  return each([&](auto& l) { l.cut_at_random(now_ns(), e, d); });
}
simulated_link& simulated_link::reset() {
  net_->reset_connections(net_->between(from_, to_));
  return *this;
}

simulated_link& simulated_link::loss(double rate) {
  return each([r = checked_rate("loss", rate)](auto& l) { l.rates().loss = r; });
}
simulated_link& simulated_link::duplicate(double rate) {
  return each([r = checked_rate("duplicates", rate)](auto& l) { l.rates().duplicate = r; });
}
simulated_link& simulated_link::reorder(double rate) {
  return each([r = checked_rate("reordering", rate)](auto& l) { l.rates().reorder = r; });
}
simulated_link& simulated_link::refuse(double rate) {
  return each([r = checked_rate("refusals", rate)](auto& l) { l.rates().refuse = r; });
}
simulated_link& simulated_link::resets(double rate) {
  return each([r = checked_rate("resets", rate)](auto& l) { l.rates().reset = r; });
}

link_counts simulated_link::counts() const {
  link_counts sum;
  const auto add = [&](const link_counts& c) {
    sum.bytes += c.bytes;
    sum.datagrams += c.datagrams;
    sum.lost += c.lost;
    sum.duplicated += c.duplicated;
    sum.reordered += c.reordered;
    sum.refused += c.refused;
    sum.resets += c.resets;
    sum.cuts += c.cuts;
  };
  add(net_->between(from_, to_).counts());
  if (both_ && from_ != to_) add(net_->between(to_, from_).counts());
  return sum;
}

}  // namespace leat::testing
