// SPDX-License-Identifier: BSL-1.0
//
// One mailbox for several kinds of message, in order: what one sender sends is handled as it was sent,
// whatever its kind.
//
//   leat::mailbox<set_point, reading, ask<status_request, status>> box(16);
//   leat::go([box] {
//     box.handle([&](set_point s) { ... }, [&](reading r) { ... },
//                [&](status_request, leat::reply<status> answer) { answer(status{...}); });
//   });
//   box.send(set_point{21});
//   box.ask(status_request{}, 1s);      // is asked after the set point was handled
//
// An inbox (actor.hpp) is the port of a process: a channel for each kind, each joined by TOML with a policy
// of its own, and no order between kinds. A mailbox is a handle for plain code: one channel of a
// std::variant, with one capacity and one policy for all. Copies share it; who has one may send, ask, handle
// and close. What a channel promises, this does.
#pragma once
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <leat/csp/channel.hpp>
#include <leat/csp/select.hpp>
#include <leat/process/actor.hpp>

namespace leat {

template <class... Kinds>
class mailbox {
  static_assert(sizeof...(Kinds) > 0, "a mailbox has kinds of messages");
  template <class Message>
  using kind_of = actors::kind<typename actors::find<Message, Kinds...>::type>;
  template <class Message>
  static constexpr bool holds =
      (static_cast<int>(std::is_same_v<Message, typename actors::kind<Kinds>::message>) + ...) == 1;

 public:
  using message = std::variant<typename actors::kind<Kinds>::travels...>;

  // Capacity 0: a rendezvous, as for a channel.
  explicit mailbox(std::size_t capacity = 0, const channel_options& o = {}) : messages_(capacity, o) {}

  template <class Message>
  send_status send(Message m) const {
    return send_until(std::move(m), deadline::never());
  }
  template <class Message>
  send_status send_until(Message m, deadline until) const {
    return messages_.send_until(pack(std::move(m)), until);
  }
  template <class Message>
  send_status try_send(Message m) const {
    message v = pack(std::move(m));
    return messages_.try_send(v);
  }

  // As leat::client does. Empty: no answer, for whatever reason.
  template <class Req>
  auto ask(Req r, deadline until) const {
    return client_of<Req>::ask(messages_, std::move(r), until);
  }

  // Handles messages, one at a time, until it is closed and drained or the G is stopped. There is a handler
  // for each kind; what one throws comes out of here.
  template <class... Fs>
  inbox_end handle(Fs... fs) const {
    return handle_until(deadline::never(), std::move(fs)...);
  }
  template <class... Fs>
  inbox_end handle_until(deadline until, Fs... fs) const {
    auto all = handlers(std::move(fs)...);
    for (;;) {
      std::optional<message> m;
      switch (messages_.recv(m, until)) {
        case recv_status::received: dispatch(all, std::move(*m)); break;
        case recv_status::stopped: return inbox_end::stopped;
        case recv_status::timeout: return inbox_end::timeout;
        default: return inbox_end::closed;
      }
    }
  }
  // A case for select, for the next message of any kind.
  template <class... Fs>
  auto on(Fs... fs) const {
    return on_recv(messages_,
                   [all = handlers(std::move(fs)...)](message&& m) mutable { dispatch(all, std::move(m)); });
  }

  void close() const { messages_.close(); }
  bool closed() const noexcept { return messages_.closed(); }
  std::size_t size() const noexcept { return messages_.size(); }
  std::size_t capacity() const noexcept { return messages_.capacity(); }
  // What it is made of: for stats(), range-for, ends.
  const channel<message>& messages() const noexcept { return messages_; }

  bool operator==(const mailbox&) const noexcept = default;

 private:
  template <class Message>
  static message pack(Message m) {
    static_assert(holds<Message>, "the message is of none of the mailbox's kinds; is it asked?");
    static_assert(std::is_same_v<typename kind_of<Message>::travels, Message>,
                  "a message that is answered is sent by ask");
    return message(std::in_place_type<Message>, std::move(m));
  }

  template <class Req>
  struct client_of {
    static_assert(holds<Req>, "the request is of none of the mailbox's kinds");
    template <class R, class Rep>
    static std::optional<Rep> ask_for(const channel<message>& to, request<R, Rep>*, R r, deadline until) {
      const channel<Rep> way(1);
      if (to.send_until(pack_request<R, Rep>(std::move(r), way), until) != send_status::sent) return {};
      return way.recv_until(until);
    }
    // Not inlined: GCC 12 for AArch64 follows the variant's other kinds into its move, and warns of them.
    template <class R, class Rep>
    [[gnu::noinline]] static message pack_request(R r, const channel<Rep>& way) {
      return message(std::in_place_type<request<R, Rep>>, std::move(r), reply<Rep>(way));
    }
    static auto ask(const channel<message>& to, Req r, deadline until) {
      return ask_for(to, static_cast<typename kind_of<Req>::travels*>(nullptr), std::move(r), until);
    }
  };

  template <class... Fs>
  static auto handlers(Fs... fs) {
    actors::overloaded all{std::move(fs)...};
    static_assert((actors::kind<Kinds>::template handled_by<decltype(all)> && ...),
                  "each kind of a mailbox needs a handler: one that takes it, or it and its leat::reply");
    return all;
  }
  template <class F>
  static void dispatch(F& all, message&& m) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((m.index() == I && (actors::kind<Kinds>::handle(all, std::move(*std::get_if<I>(&m))), true)) ||
             ...);
    }(std::index_sequence_for<Kinds...>{});
  }

  channel<message> messages_;
};

}  // namespace leat
