// SPDX-License-Identifier: BSL-1.0
//
// Channels whose type is known at run time only: what the wiring of a service deals with. A port_type knows
// how to make, join and look into channels of one C++ type; each port of a process class has one.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <leat/csp/channel.hpp>
#include <leat/csp/composite.hpp>
#include <leat/csp/gate.hpp>
#include <leat/csp/kept_value.hpp>
#include <leat/process/message.hpp>

namespace leat {

// Two ends that do not go together, or a port that is not there.
class wiring_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A request and where its answer goes (actor.hpp).
template <class Req, class Rep>
class request;

struct port_type {
  using state = csp::ref<csp::channel_base>;

  const std::type_info* value = nullptr;
  shape_fn message = nullptr;
  shape_fn reply = nullptr;      // none: not asked
  std::uint64_t value_size = 0;  // in a channel
  state (*make)(std::size_t capacity, const channel_options& o) = nullptr;
  // Null: values cannot be copied.
  state (*make_broadcast)(std::size_t capacity, const channel_options& o) = nullptr;
  // For csp/latest_by_key.hpp.
  std::unique_ptr<csp::kept_value> (*keep_value)(void* value) = nullptr;
  csp::copier copier = {};
  // What a port has in hand (csp/gate.hpp). Null: values cannot be copied.
  std::unique_ptr<csp::hold_base> (*make_hold)() = nullptr;
  // Takes a value out and destroys it. False: there is none.
  bool (*discard)(csp::channel_base& c) = nullptr;
  // A value, for somebody who knows its shape only: taken before it is destroyed, filled before it is sent.
  // What they throw is passed on; nothing is sent then. Null: its content cannot be seen.
  using look_fn = void (*)(void* context, void* v, const type_shape& s);
  recv_status (*recv_any)(csp::channel_base& c, std::int64_t until, void* context, look_fn take) = nullptr;
  send_status (*send_any)(csp::channel_base& c, std::int64_t until, void* context, look_fn fill) = nullptr;
  // A value of the channel as JSON (csp/tap.hpp). Null: as above.
  void (*write_json)(const void* value, std::string& to) = nullptr;

  bool copyable() const noexcept { return copier.send_copy != nullptr; }
  std::string message_name() const { return type_name(message()); }
  std::string reply_name() const { return reply ? type_name(reply()) : std::string(); }
};

namespace ports {

// What travels, and what is said of it.
template <class T>
struct content {
  using message = T;
  using reply = void;
};
template <class Req, class Rep>
struct content<request<Req, Rep>> {
  using message = Req;
  using reply = Rep;
};

template <class T>
constexpr port_type make_type() {
  using message = typename content<T>::message;
  using reply = typename content<T>::reply;
  port_type t;
  t.value = &typeid(T);
  t.message = &shape_of<message>;
  if constexpr (!std::is_void_v<reply>) t.reply = &shape_of<reply>;
  t.value_size = sizeof(csp::cell<T>);
  t.make = [](std::size_t capacity, const channel_options& o) {
    return csp::ref<csp::channel_base>(csp::make_channel<T>(capacity, o));
  };
  t.keep_value = &csp::keep_value<T>;
  t.discard = [](csp::channel_base& c) {
    std::optional<T> v;
    return csp::recv_untyped(c, &v, csp::at_once) == recv_status::received;
  };
  if constexpr (std::is_copy_constructible_v<T>) {
    t.make_hold = []() -> std::unique_ptr<csp::hold_base> {
      return std::unique_ptr<csp::hold_base>(new csp::hold<T>);
    };
    t.make_broadcast = [](std::size_t capacity, const channel_options& o) {
      return csp::ref<csp::channel_base>(new csp::broadcast_channel<T>(capacity, o));
    };
    t.copier = csp::copier_of<T>;
  }
  if constexpr (std::is_void_v<reply> && std::is_default_constructible_v<T>) {
    t.recv_any = [](csp::channel_base& c, std::int64_t until, void* context, port_type::look_fn take) {
      std::optional<T> v;
      const recv_status s = csp::recv_untyped(c, &v, until);
      if (v) take(context, &*v, shape_of<T>());
      return s;
    };
    t.write_json = [](const void* v, std::string& to) { shapes::write_json(shape_of<T>(), v, to); };
    t.send_any = [](csp::channel_base& c, std::int64_t until, void* context, port_type::look_fn fill) {
      T v{};
      fill(context, &v, shape_of<T>());
      return csp::send_untyped(c, &v, until);
    };
  }
  return t;
}

template <class T>
inline constexpr port_type type_of = make_type<T>();

}  // namespace ports

// A shared handle. Default-constructed it holds nothing.
class any_channel {
 public:
  any_channel() = default;
  template <class T>
  any_channel(const channel<T>& c) : any_channel(ports::type_of<T>, share(c.base())) {}
  any_channel(const port_type& type, csp::ref<csp::channel_base> state)
      : type_(&type), state_(std::move(state)) {}

  // Throws channel_error.
  static any_channel make(const port_type& type, std::size_t capacity, const channel_options& o = {}) {
    return {type, type.make(capacity, o)};
  }
  // Every reader gets every value. Throws wiring_error if values cannot be copied.
  static any_channel make(broadcast_t, const port_type& type, std::size_t capacity,
                          const channel_options& o = {});
  // A reader of its own; copies of it, and ports bound to it, share what it gets. *this is a broadcast
  // channel.
  any_channel subscribe(std::size_t capacity, full when_full = full::block) const {
    return {*type_, csp::subscribe_to(state_, capacity, when_full)};
  }

  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  const port_type& type() const noexcept { return *type_; }
  csp::channel_base* base() const noexcept { return state_.get(); }
  const csp::ref<csp::channel_base>& state() const noexcept { return state_; }

  std::string name() const { return std::string(state_->name()); }
  std::size_t size() const noexcept { return state_->size(); }
  std::size_t capacity() const noexcept { return state_->capacity(); }
  leat::flavour flavour() const noexcept { return state_->flavour(); }
  // What passes at either end is what it counts.
  bool one_to_one() const noexcept { return state_->one_to_one(); }
  channel_stats stats() const noexcept { return state_->stats(); }
  bool try_count(channel_stats& to) const noexcept { return state_->try_count(to); }
  bool closed() const noexcept { return state_->is_closed(); }
  void close() const noexcept { state_->close(); }
  // Its readers have gone for good: see channel_base.
  void abandon() const noexcept { state_->abandon(); }

  // Throws away what is left, and says how much. Requests among it are answered with failure. `count` has each before it
  // is destroyed, and one too many for a moment at the end.
  std::size_t discard(std::atomic<std::size_t>* count = nullptr) const;

  // For those who look into channels: the next value as JSON; a value from JSON. Throws wiring_error if the
  // type has no text, message_error if the text is wrong.
  recv_status recv_json(std::string& to, deadline d = deadline::never()) const;
  send_status send_json(std::string_view text, deadline d = deadline::never()) const;

  // Throws wiring_error if it is a channel of another type.
  void check_type(const port_type& wanted) const;

  // The typed ends. Throws wiring_error if it is a channel of another type.
  template <class T>
  leat::in<T> reader() const {
    check_type(ports::type_of<T>);
    return leat::in<T>(csp::reading_side(state_));
  }
  template <class T>
  leat::out<T> writer() const {
    check_type(ports::type_of<T>);
    return leat::out<T>(state_);
  }

 private:
  static csp::ref<csp::channel_base> share(csp::channel_base* c) noexcept {
    c->add_ref();
    return csp::ref<csp::channel_base>(c);
  }

  const port_type* type_ = nullptr;
  csp::ref<csp::channel_base> state_;
};

// Throws wiring_error if it carries something that cannot be shown as a record.
void check_converts(const any_channel& c);

// The same C++ type. Two plug-ins may have a description each of a type that they share.
bool same_type(const port_type& a, const port_type& b);

// "reading answered by status"
std::string describe_content(const port_type& t);

}  // namespace leat
