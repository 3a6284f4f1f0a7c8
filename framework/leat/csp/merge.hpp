// SPDX-License-Identifier: BSL-1.0
//
// Makes one end of several channels (several.hpp).
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <leat/csp/select.hpp>
#include <leat/csp/several.hpp>

namespace leat::csp {

template <class T>
recv_status recv_merged(several& from, void* to, std::int64_t until) {
  auto& out = *static_cast<std::optional<T>*>(to);
  const several::parts& all = from.all();
  if (until == at_once || !stop_requested()) {
    const std::size_t start = from.next_start();
    std::size_t closed = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t i = start + k < all.size() ? start + k : start + k - all.size();
      const recv_status s = recv_value(all[i].get(), out, at_once);
      if (s == recv_status::received) return s;
      if (s == recv_status::closed) ++closed;
    }
    if (closed == all.size()) return recv_status::closed;
    if (until == at_once) return recv_status::empty;
  }
  auto take = [&out](T&& v) { out.emplace(std::move(v)); };
  auto late = [] {};
  recv_case<T, decltype(take)> value(&from, take);
  plain_case<decltype(late)> timeout(case_base::sort::timeout, until, late);
  case_base* const cases[] = {&value, &timeout};
  const int chosen =
      choose_and_run(std::span<case_base* const>(cases, until == forever ? 1u : 2u), order::random);
  switch (chosen) {
    case 0: return recv_status::received;
    case 1: return recv_status::timeout;
    case select_stopped: return recv_status::stopped;
    default: return recv_status::closed;
  }
}

// To those from `begin` on. v is left as it was: each gets a copy.
template <class T>
send_status send_each(const several& to, std::size_t begin, void* v, std::int64_t until) {
  // The worst of all: what a caller must know first.
  constexpr auto rank = [](send_status s) {
    switch (s) {
      case send_status::closed: return 0;
      case send_status::sent: return 1;
      case send_status::dropped: return 2;
      case send_status::full: return 3;
      case send_status::timeout: return 4;
      case send_status::stopped: return 5;
    }
    return 0;
  };
  send_status worst = send_status::closed;
  for (std::size_t i = begin; i < to.all().size(); ++i) {
    std::optional<T> copy;
    to.copy(v, &copy);
    const send_status s = send_value(to.all()[i].get(), *copy, until);
    if (rank(s) > rank(worst)) worst = s;
    if (s == send_status::stopped) break;
  }
  return worst;
}

// A closed merged end in a select is one whose channels are all closed. `all` is not empty.
template <class T>
ref<channel_base> merge(several::parts all) {
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new several(std::move(all), &recv_merged<T>));
}

template <class T>
ref<channel_base> fan_out(several::parts all) {
  static_assert(std::is_copy_constructible_v<T>, "to send to several channels is to copy");
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new several(std::move(all), &send_each<T>, [](const void* from, void* to) {
    static_cast<std::optional<T>*>(to)->emplace(*static_cast<const T*>(from));
  }));
}

}  // namespace leat::csp
