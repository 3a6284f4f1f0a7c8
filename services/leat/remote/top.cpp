// SPDX-License-Identifier: BSL-1.0
//
// `leat top`: a screen that is redrawn in place. One loop polls the keys, the signals and the answers of the
// deployment, so that nothing of these waits for another; what is drawn is made by draw_top.
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include <leat/remote/asking.hpp>
#include <leat/remote/signal_watch.hpp>
#include <leat/remote/state_tables.hpp>
#include <leat/remote/terminal.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/token.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {
namespace {

using std::chrono::milliseconds;

// A question that is asked again and again, one at a time.
class repeated_question {
 public:
  bool asking() const noexcept { return link_ != nullptr; }
  int fd() const noexcept { return link_->fd(); }
  short wants() const noexcept { return link_->wants(); }
  void begin(const endpoint& to, const std::string& target) {
    since_ = leat::now();
    link_ = std::make_unique<exchange>(to, http_request{.target = target});
  }
  void drop() { link_.reset(); }

  // Nothing: it is still under way. An answer that does not come is an error after a while.
  std::optional<asked> take() {
    if (!link_) return std::nullopt;
    link_->advance();
    asked a;
    if (link_->failed()) {
      a.error = link_->error();
      a.nobody = link_->nobody();
    } else if (link_->done()) {
      a.status = link_->answer().status();
      a.body = std::move(link_->answer().body());
    } else if (leat::now() - since_ > std::chrono::seconds(5)) {
      a.error = "it does not answer";
    } else {
      return std::nullopt;
    }
    link_.reset();
    return a;
  }

 private:
  std::unique_ptr<exchange> link_;
  time_point since_{};
};

class top_session {
 public:
  top_session(const request& r, endpoint at, deployment_state first)
      : interval_(r.interval), at_(std::move(at)), state_(std::move(first)), next_(leat::now()) {}

  int run() {
    signal_watch signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP});
    terminal screen_of_user;
    size_ = screen_of_user.size();
    for (;;) {
      draw(screen_of_user);
      pollfd waits[4]{{STDIN_FILENO, POLLIN, 0}, {signals.fd(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}};
      if (states_.asking()) waits[2] = {states_.fd(), states_.wants(), 0};
      if (details_.asking()) waits[3] = {details_.fd(), details_.wants(), 0};
      const int ready = ::poll(waits, 4, wait_ms());
      for (int number; (number = signals.next()) != 0;)
        if (!take_signal(number, screen_of_user)) return 0;
      if (ready > 0 && waits[0].revents != 0) {
        const std::string typed = screen_of_user.read();
        if (typed.empty()) return 0;
        if (!take_keys(keys_.feed(typed))) return 0;
      } else if (ready == 0 && keys_.pending() && !take_keys(keys_.flush())) {
        return 0;
      }
      ask_and_take();
    }
  }

 private:
  void draw(terminal& to) {
    screen next = draw_top(state_, details_of_ ? &*details_of_ : nullptr, view_, size_);
    const std::string bytes = changes(shown_, next, size_.width, terminal::has_colour());
    shown_ = std::move(next);
    if (!bytes.empty() && !to.write(bytes)) shown_.clear();  // a signal cut it short: all of it, next time
  }

  int wait_ms() const {
    if (keys_.pending()) return 50;
    nanoseconds left = next_ - leat::now();
    if (states_.asking() || details_.asking()) left = milliseconds(500);
    if (view_.paused) left = std::chrono::seconds(60);
    return static_cast<int>(
        std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(left).count(), 0, 60'000));
  }

  bool take_signal(int number, terminal& to) {
    if (number == SIGTSTP) {
      to.leave();
      ::raise(SIGSTOP);
      to.enter();
    } else if (number != SIGWINCH) {
      return false;
    }
    size_ = to.size();
    shown_.clear();
    return true;
  }

  bool take_keys(const std::vector<key_press>& keys) {
    for (const key_press k : keys) {
      const bool was_paused = view_.paused;
      const std::string process = shown_process();
      if (press(view_, state_, k, std::max<std::size_t>(size_.height / 2, 2)) == pressed::quit) return false;
      if (was_paused && !view_.paused) next_ = leat::now();
      if (shown_process() != process) {
        details_.drop();
        details_of_.reset();
        next_details_ = leat::now();
      }
    }
    return true;
  }

  std::string shown_process() const {
    return view_.shows == top_view::page::process ? view_.process : std::string();
  }

  void ask_and_take() {
    if (const std::optional<asked> a = states_.take(); a && !view_.paused) take_state(*a);
    if (const std::optional<asked> a = details_.take();
        a && !view_.paused && a->error.empty() && a->status == 200)
      if (const json_result r = read_json(a->body); r.value) details_of_ = read_details(*r.value);
    const time_point t = leat::now();
    if (view_.paused) return;
    if (!states_.asking() && t >= next_) {
      next_ = t + interval_;
      states_.begin(at_, "/v1/state");
    }
    if (const std::string process = shown_process();
        !process.empty() && !details_.asking() && t >= next_details_) {
      next_details_ = t + interval_;
      details_.begin(at_, "/v1/process?name=" + escaped_for_query(process));
    }
  }

  void take_state(const asked& a) {
    std::string error = a.error;
    if (error.empty() && a.status != 200) error = error_of(a.status, a.body);
    if (error.empty()) {
      try {
        state_ = read_told_state(at_, a.body).state;
      } catch (const failure& f) {
        error = f.what();
      }
    }
    if (error.empty()) {
      missing_since_.reset();
      view_.notice.clear();
      return;
    }
    if (!missing_since_) missing_since_ = leat::now();
    const auto gone = std::chrono::floor<std::chrono::seconds>(leat::now() - *missing_since_).count();
    view_.notice = std::string(a.nobody ? "It went away " : "No answer for ") + std::to_string(gone) + " s" +
                   (a.nobody ? " ago" : "") + "; looking for it, q leaves. Below is what was. (" +
                   printable(error) + ')';
  }

  nanoseconds interval_;
  endpoint at_;
  deployment_state state_;
  std::optional<process_details> details_of_;
  top_view view_;
  screen_size size_;
  screen shown_;
  key_reader keys_;
  repeated_question states_, details_;
  time_point next_, next_details_{};
  std::optional<time_point> missing_since_;
};

}  // namespace

int top(const request& r) {
  const endpoint to = deployment_of(r);
  told_state first = ask_state(to);
  if (!r.json && terminal::usable()) return top_session(r, to, std::move(first.state)).run();
  // Rates are known once somebody has looked for a while.
  std::this_thread::sleep_for(r.interval);
  const told_state second = ask_state(to);
  if (r.json) {
    print(second.text + (second.text.ends_with('\n') ? "" : "\n"));
  } else {
    print(state_text(second.state));
  }
  return 0;
}

}  // namespace leat::remote
