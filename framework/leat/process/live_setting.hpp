// SPDX-License-Identifier: BSL-1.0
//
// Settings that are changed while their process runs:
//
//   class averages : public leat::process {
//     leat::in<sample>               raw{this, "raw"};
//     leat::setting<int, leat::live> window{this, "window", 8, "samples averaged", leat::between(1, 1024)};
//     void run() override {
//       bool open = true;
//       while (open && leat::select(leat::on_recv(raw, [&](std::optional<sample> s) { open = s.has_value(); }),
//                                   leat::on_recv(window.changes(), [&] { v = *window; })) >= 0) {
//       }
//     }
//   };
//
// get() gives the value of now, whole, on any G or thread. It gives a copy: a reference could be changed, or
// freed, while it is in use. Of what fits a word (numbers, flags, durations, sizes, enumerations) that is one
// load. Of texts, lists and larger structures it is a visit to the runtime and the copy; who reads such a one
// with each value has a live_view, which keeps its copy and looks with one load whether it is still current.
//
// Several settings that are set together are changed one after another: who reads two of them may see one
// changed and the other not yet. When both have been read after changes() told, both are current.
//
// Where the values are, and how they are changed safely: setting_store.hpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/process/setting_store.hpp>
#include <leat/process/settings.hpp>

namespace leat {

template <class T>
class setting<T, live> {
 public:
  // As of a setting that is not live.
  setting(process* owner, std::string_view name, const char* default_without_help)
    requires(shapes::is_text<T>)
  = delete;
  template <class... More>
  setting(process* owner, std::string_view name, const char* help_in_the_place_of_the_default,
          const More&... more)
    requires(shapes::is_flag<T>)
  = delete;

  setting(process* owner, std::string_view name, T otherwise = T{}, std::string_view help = {},
          const leat::limits& l = {})
      : setting(owner, name, std::move(otherwise), false, help, l) {}
  template <std::same_as<leat::help> Help>
  setting(process* owner, std::string_view name, const Help& help, const leat::limits& l = {})
      : setting(owner, name, T{}, false, help.text, l) {}
  setting(process* owner, std::string_view name, required_t, std::string_view help = {},
          const leat::limits& l = {})
      : setting(owner, name, T{}, true, help, l) {}
  setting(const setting&) = delete;
  setting& operator=(const setting&) = delete;

  // The value of now.
  T get() const { return cell_->load(); }
  operator T() const { return get(); }
  T operator*() const { return get(); }
  // No operator->: two members that are read by it could be of two values. Take a copy of the whole.

  // Ready when it was set since the object was made, or since this was last received from: for a select, or a
  // loop. Copies are the same end, and each change goes to one of those who wait there. Never closed: a select
  // over it must hear of the end of the others (a handler that takes a std::optional).
  const in<setting_change>& changes() const noexcept { return changes_; }

 private:
  template <class>
  friend class live_view;

  setting(process* owner, std::string_view name, T otherwise, bool must_be_given, std::string_view help,
          const leat::limits& l) {
    T v = otherwise;
    const bool good = owner->add_setting({name, &shape_of<T>(), &v, must_be_given, help, &l, true});
    std::shared_ptr<setting_store> store = owner->live_settings(good);
    auto made = std::make_unique<lives::cell<T>>(store->lock(), name, std::move(v), std::move(otherwise), l);
    lives::cell_base& c = store->add(std::move(made), owner->settings_read());
    cell_ = std::shared_ptr<const lives::cell<T>>(store, static_cast<const lives::cell<T>*>(&c));
    changes_ = in<setting_change>(lives::make_changes(std::move(store), c));
  }

  std::shared_ptr<const lives::cell<T>> cell_;  // keeps the store in being
  in<setting_change> changes_;
};

// A live setting as one G sees it: a copy that is made anew when the setting has changed.
//
//   class shows : public leat::process {
//     leat::setting<std::string, leat::live> prefix{this, "prefix", "", "before each number"};
//     void run() override {
//       leat::live_view<std::string> text(prefix);
//       for (int n : a) std::puts((text.get() + std::to_string(n)).c_str());
//     }
//   };
template <class T>
class live_view {
 public:
  explicit live_view(const setting<T, live>& of)
      : cell_(of.cell_), seen_(cell_->version()), value_(cell_->load()) {}

  // Good until the next call. One load, unless it has changed.
  const T& get() {
    if (const std::uint64_t now = cell_->version(); now != seen_) {
      seen_ = now;  // the value may be a later one, and is looked at once more then
      value_ = cell_->load();
    }
    return value_;
  }

 private:
  std::shared_ptr<const lives::cell<T>> cell_;
  std::uint64_t seen_;  // read before the value
  T value_;
};

}  // namespace leat
