// SPDX-License-Identifier: BSL-1.0
//
// Actors: one inbox for several kinds of message, and requests that are answered.
//
//   class controller : public leat::process {
//     leat::inbox<set_point, reading, ask<status_request, status>> inbox{this, "inbox"};
//     void run() override {
//       inbox.handle([&](set_point s) { ... }, [&](reading r) { ... },
//                    [&](status_request, leat::reply<status> answer) { answer(status{...}); });
//     }
//   };
//
// Each kind is a port of its own, "inbox.reading", at a channel of its own, bounded like every channel;
// handle selects among them. The other side of a kind that is asked is a port leat::client<status_request,
// status>.
//
// A request carries the way for its answer. A reply that dies unused, wherever (in a handler that throws, in
// a channel that is dropped, in one that drops by its policy), answers with failure.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/csp/select.hpp>
#include <leat/process/process.hpp>

namespace leat {

// Among the kinds of an inbox: a request and what it is answered with.
template <class Req, class Rep>
struct ask {};

enum class ask_status : std::uint8_t {
  answered,
  failed,   // whoever had the request died, or did not want it
  closed,   // nobody takes requests any more, or the port is not connected
  timeout,  // before it was taken, or before it was answered
  stopped,  // the caller was asked to stop
};
const char* to_string(ask_status s) noexcept;

namespace actors {
[[noreturn]] void answered_twice();
}

template <class T>
class reply {
 public:
  reply() = default;
  explicit reply(const channel<T>& to) : to_(to) {}
  reply(reply&& other) noexcept = default;
  reply& operator=(reply&& other) noexcept {
    fail();
    to_ = std::move(other.to_);
    return *this;
  }
  ~reply() { fail(); }

  // Never waits. Whoever asked may have given up; then nobody gets it. Throws std::logic_error the second
  // time.
  void operator()(T v) {
    if (!to_) actors::answered_twice();
    (void)to_.try_send(std::move(v));
    fail();
  }
  // Answers with failure, unless it has been answered.
  void fail() noexcept {
    if (to_) std::exchange(to_, {}).close();
  }
  explicit operator bool() const noexcept { return static_cast<bool>(to_); }

 private:
  out<T> to_;
};

template <class Req, class Rep>
class request {
 public:
  request(Req r, reply<Rep> to) : value(std::move(r)), answer(std::move(to)) {}

  Req value;
  reply<Rep> answer;
};

// The port of one who asks.
template <class Req, class Rep>
class client {
 public:
  client() = default;
  client(const channel<request<Req, Rep>>& c) : to_(c) {}
  template <class Owner, class... Options>
  client(Owner* owner, std::string_view name, const Options&... options) : to_(owner, name, options...) {}

  // Empty: no answer, for whatever reason.
  std::optional<Rep> ask(Req r, deadline d) const {
    std::optional<Rep> answer;
    (void)ask(std::move(r), answer, d);
    return answer;
  }
  ask_status ask(Req r, std::optional<Rep>& answer, deadline d) const {
    answer.reset();
    if (!to_) return ask_status::closed;
    const channel<Rep> way(1);
    switch (to_.send_until(request<Req, Rep>(std::move(r), reply<Rep>(way)), d)) {
      case send_status::sent: break;
      case send_status::closed: return ask_status::closed;
      case send_status::timeout: return ask_status::timeout;
      case send_status::stopped: return ask_status::stopped;
      case send_status::full:
      case send_status::dropped: return ask_status::failed;
    }
    switch (way.recv(answer, d)) {
      case recv_status::received: return ask_status::answered;
      case recv_status::timeout: return ask_status::timeout;
      case recv_status::stopped: return ask_status::stopped;
      default: return ask_status::failed;
    }
  }
  explicit operator bool() const noexcept { return static_cast<bool>(to_); }

 private:
  out<request<Req, Rep>> to_;
};

namespace actors {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

template <class Kind>
struct kind {
  using message = Kind;
  using travels = Kind;
  template <class F>
  static constexpr bool handled_by = std::is_invocable_v<F&, Kind>;
  template <class F>
  static void handle(F& f, travels&& v) {
    f(std::move(v));
  }
};
template <class Req, class Rep>
struct kind<ask<Req, Rep>> {
  using message = Req;
  using travels = request<Req, Rep>;
  template <class F>
  static constexpr bool handled_by = std::is_invocable_v<F&, Req, reply<Rep>>;
  template <class F>
  static void handle(F& f, travels&& v) {
    f(std::move(v.value), std::move(v.answer));
  }
};

template <class Kind>
struct slot {
  std::string name;
  in<typename kind<Kind>::travels> end;
};

// The kind of which `Message` is the message.
template <class Message, class... Kinds>
struct find;
template <class Message, class Kind, class... More>
struct find<Message, Kind, More...>
    : std::conditional_t<std::is_same_v<Message, typename kind<Kind>::message>, std::type_identity<Kind>,
                         find<Message, More...>> {};
template <class Message>
struct find<Message> {};

}  // namespace actors

enum class inbox_end : std::uint8_t { closed, stopped, timeout };

template <class... Kinds>
class inbox : private actors::slot<Kinds>... {
  static_assert(sizeof...(Kinds) > 0, "an inbox has kinds of messages");

 public:
  template <class... Options>
  inbox(process* owner, std::string_view called, const Options&... options) : name_(called) {
    (add<Kinds>(*owner, options...), ...);
  }
  // In plain code: from its channels.
  explicit inbox(const channel<typename actors::kind<Kinds>::travels>&... from)
      : actors::slot<Kinds>{{}, from}... {}
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  // The end of one kind, by its message.
  template <class Message>
  const auto& port() const noexcept {
    return actors::slot<typename actors::find<Message, Kinds...>::type>::end;
  }

  // A case for select: f takes the message, and the reply if it is asked.
  template <class Message, class F>
  auto on(F f) const {
    using kind = actors::kind<typename actors::find<Message, Kinds...>::type>;
    static_assert(kind::template handled_by<F>,
                  "the handler takes the message, and the reply if it is asked");
    return on_recv(port<Message>(),
                   [f = std::move(f)](typename kind::travels&& v) mutable { kind::handle(f, std::move(v)); });
  }

  // Handles messages, one at a time, until all channels are closed and drained or the G is stopped. There is
  // a handler for each kind; what one throws comes out of here.
  template <class... Fs>
  inbox_end handle(Fs... fs) const {
    return handle_until(deadline::never(), std::move(fs)...);
  }
  template <class... Fs>
  inbox_end handle_until(deadline d, Fs... fs) const {
    actors::overloaded all{std::move(fs)...};
    static_assert((actors::kind<Kinds>::template handled_by<decltype(all)> && ...),
                  "each kind of an inbox needs a handler: one that takes it, or it and its leat::reply");
    bool late = false;
    while (!late) {
      int chosen = 0;
      if (d.is_never()) {
        chosen = select(case_of<Kinds>(all)...);
      } else {
        chosen = select(case_of<Kinds>(all)..., on_timeout(d, [&] { late = true; }));
      }
      if (chosen == select_closed || (!d.is_never() && all_closed())) return inbox_end::closed;
      if (chosen == select_stopped) return inbox_end::stopped;
    }
    return inbox_end::timeout;
  }

 private:
  template <class Kind, class... Options>
  void add(process& owner, const Options&... options) {
    actors::slot<Kind>& s = *this;
    s.name = name_ + '.' + message_name<typename actors::kind<Kind>::message>();
    ports::entry r = ports::of_in(s.end, s.name);
    r.inbox = name_;
    (ports::apply(r, options), ...);
    owner.add_port(r);
  }
  template <class Kind, class F>
  auto case_of(F& f) const {
    return on_recv(actors::slot<Kind>::end, [&f](typename actors::kind<Kind>::travels&& v) {
      actors::kind<Kind>::handle(f, std::move(v));
    });
  }
  // With a timeout, a select waits on although all is closed.
  bool all_closed() const noexcept { return (is_over(actors::slot<Kinds>::end) && ...); }
  template <class End>
  static bool is_over(const End& e) noexcept {
    return !e || (e.closed() && e.size() == 0);
  }

  std::string name_;
};

}  // namespace leat
