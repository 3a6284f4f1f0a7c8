// SPDX-License-Identifier: BSL-1.0
//
// The keys of [runtime], each once: its name, its member, its limits and what it is for. The grammar of files and
// their reader are made from this list, and so is check_options, for options that no file has given. A new key is a
// member of runtime_options and a line here; what is a list or a table (cpus, memory) is read by hand.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

#include <leat/base/runtime_options.hpp>
#include <leat/base/value_kind.hpp>

namespace leat {

// What there are limits of: the number in an optional, the nanoseconds of a timespan.
template <class T>
struct limited_as {
  using type = T;
};
template <class T>
struct limited_as<std::optional<T>> {
  using type = T;
};
template <>
struct limited_as<timespan> {
  using type = nanoseconds;
};

// A member's default in runtime_options is right whatever the limits say.
template <class T>
struct runtime_key {
  using limit = std::optional<typename limited_as<T>::type>;

  const char* name;
  value_kind kind;
  T runtime_options::* member;
  const char* help;
  limit least = {}, most = {};  // both included; none: no limit
  const char* word = nullptr;   // what the default is called, where it is not a value: "auto"
};

template <class F>
void for_each_runtime_key(const F& f) {
  using o = runtime_options;
  using number = runtime_key<unsigned>;
  using number_or_auto = runtime_key<std::optional<unsigned>>;
  using bytes = runtime_key<std::size_t>;
  using time = runtime_key<timespan>;
  using flag = runtime_key<bool>;
  using enum value_kind;
  using std::chrono::hours, std::chrono::microseconds, std::chrono::milliseconds;
  f(number_or_auto{"procs", integer, &o::procs, "P count; auto: the CPUs that it may use", 1, o::max_procs,
                   "auto"});
  f(number{"run_queue", integer, &o::run_queue, "local queue capacity of a P", 1, o::max_run_queue});
  f(number_or_auto{"spinning", integer, &o::spinning, "most spinning Ms; auto: half of the busy Ps", 0,
                   o::max_procs, "auto"});
  f(number{"max_threads", integer, &o::max_threads, "most Ms", 1, 1'000'000});
  f(number{"max_quarantined", integer, &o::max_quarantined,
           "most hung Gs taken away: kept stacks, frozen threads", 0, 1'000'000});
  f(time{"slice", duration, &o::slice, "then the P is retaken", microseconds(100), hours(1)});
  f(bytes{"stack", size, &o::stack, "default stack of a G", o::min_stack, o::max_stack});
  f(time{"trace", duration, &o::trace, "a line about the scheduler, this often", milliseconds(1), {}, "off"});
  f(time{"grace", duration, &o::grace, "for Gs that are left at the end", nanoseconds(0)});
  f(flag{"stack_census", boolean, &o::stack_census, "measure stack use by name; costs a page fault per G"});
}

}  // namespace leat
