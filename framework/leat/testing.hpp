// SPDX-License-Identifier: BSL-1.0
//
// One process, with channels that the test holds:
//
//   leat::run([] {
//     leat::testing::rig<smooth> rig;
//     auto raw = rig.channel<sample>("raw");
//     auto clean = rig.channel<sample>("clean");
//     rig.set("window", 2).start();
//     raw.send({20.0, 1});
//     CHECK(clean.recv()->celsius == 20.0);
//     raw.close();
//     CHECK(rig.wait() == leat::testing::ended::returned);
//   });
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <leat/base/value.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/actor.hpp>
#include <leat/process/process.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/settings.hpp>
#include <leat/sched/simulate.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::testing {

enum class ended : std::uint8_t {
  not_yet,
  returned,
  stopped,  // by leat::stopped
  failed,   // by another exception: rig::rethrow
};

// Used by one G. At its end, the process is stopped and joined.
template <class Process>
class rig {
 public:
  // Before start.
  template <class T>
  rig& set(std::string name, T v) {
    settings_.push_back({std::move(name), {}, as_value(std::move(v))});
    return *this;
  }
  rig& named(std::string name) {
    options_.name = std::move(name);
    return *this;
  }
  // A new channel at this port; a second one for the same port joins the first.
  template <class T>
  leat::channel<T> channel(std::string port, std::size_t capacity = 64, const channel_options& o = {}) {
    leat::channel<T> c(capacity, o);
    connect(std::move(port), c);
    return c;
  }
  // The other side of a leat::client, or of a kind of an inbox that is asked.
  template <class Req, class Rep>
  leat::channel<request<Req, Rep>> requests(std::string port, std::size_t capacity = 64) {
    return channel<request<Req, Rep>>(std::move(port), capacity);
  }
  rig& connect(std::string port, const any_channel& c) {
    options_.ports.push_back({std::move(port), {c}});
    return *this;
  }

  // Makes the object. Throws setting_error and wiring_error; start does it if nobody has.
  Process& make() {
    if (object_) return *object_;
    options_.settings = value(settings_);
    object_ = leat::make<Process>(options_);
    return *object_;
  }
  rig& start() {
    process& p = make();
    task_ = spawn(spawn_options{.name = options_.name}, [&p, this] {
      ended how = ended::returned;
      try {
        p.run();
      } catch (const leat::stopped&) {
        how = ended::stopped;
      } catch (...) {
        failure_ = std::current_exception();
        how = ended::failed;
      }
      (void)over_.try_send(how);
    });
    return *this;
  }

  // not_yet: the deadline has passed first.
  ended wait(deadline d = std::chrono::seconds(10)) {
    if (how_ == ended::not_yet)
      if (const auto how = over_.recv_until(d)) how_ = *how;
    return how_;
  }
  // Asks it to stop and waits for it.
  ended stop() {
    task_.request_stop();
    return wait(deadline::never());
  }
  // If it has failed.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  template <class T>
  static value as_value(T v) {
    if constexpr (std::is_same_v<T, value>) {
      return v;
    } else {
      return value(std::move(v));
    }
  }

  value::table settings_;
  process_options options_;
  std::unique_ptr<Process> object_;
  leat::channel<ended> over_{1};
  std::exception_ptr failure_;
  ended how_ = ended::not_yet;
  task<void> task_;  // last: its end joins the G that uses the rest
};

}  // namespace leat::testing
