// SPDX-License-Identifier: BSL-1.0
//
// `leat tap`: values as they pass, a line each. One connection for up to 16 channels, all of them polled together with
// the signals that end it; what the deployment could not show is counted and logged.
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include <leat/remote/asking.hpp>
#include <leat/remote/signal_watch.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/token.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {
namespace {

// Where values go: the standard output or a file.
class tap_output {
 public:
  explicit tap_output(const std::string& file)
      : name_(file), to_(file.empty() ? stdout : std::fopen(file.c_str(), "we")) {
    if (!to_) fail();
  }
  ~tap_output() {
    if (to_ && to_ != stdout) std::fclose(to_);
  }
  tap_output(const tap_output&) = delete;
  tap_output& operator=(const tap_output&) = delete;

  void line(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), to_) != text.size() || std::fputc('\n', to_) == EOF) fail();
  }
  // Who reads a pipe has it at once.
  void flush() {
    if (std::fflush(to_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw failure(exit_failed, "cannot write " +
                                   (name_.empty() ? "to the standard output" : printable(name_)) + ": " +
                                   std::strerror(errno));
  }
  std::string name_;
  std::FILE* to_;
};

// As many channels as the deployment shows at one connection: then `--count` is that of all of them.
constexpr std::size_t most_of_link = 16;
// For the last word of a deployment that has shown enough.
constexpr std::chrono::seconds for_the_end{5};

struct tap_link {
  std::vector<std::string> channels;  // "climate/raw"
  std::unique_ptr<exchange> link = {};
  std::string rest = {};     // a line that is not whole yet
  std::uint64_t values = 0;  // that came here
  std::size_t ended = 0;     // of its channels
  bool stopped = false;

  bool has_ended() const noexcept { return ended >= channels.size(); }
};

struct tap_counts {
  std::uint64_t not_shown = 0, not_matching = 0;
  std::uint64_t came_late = 0;  // values that came when enough had been shown
};

class tap_session {
 public:
  tap_session(const request& r, const endpoint& to)
      : request_(r), to_(to), raw_(r.json || !r.out.empty()), output_(r.out) {}

  void add(const std::string& word, const deployment_state& s) {
    const std::size_t at = word.find('@');
    const std::string name = full_channel(word.substr(0, at), s);
    if (at != std::string::npos)
      throw failure(exit_failed, name +
                                     ": a tap shows what is sent to all readers; name the channel without '" +
                                     printable(word.substr(at)) +
                                     "'. `leat top` shows what each reader has taken and lost");
    if (!counts_.try_emplace(name).second) return;
    if (all_.empty() || all_.back().channels.size() == most_of_link) all_.emplace_back();
    all_.back().channels.push_back(name);
  }

  // Until a signal comes, all have ended or enough was shown.
  void run() {
    for (tap_link& l : all_) l.link = std::make_unique<exchange>(to_, http_request{.target = target_of(l)});
    signal_watch signals({SIGINT, SIGTERM, SIGHUP});
    time_point heard = now(), had_enough = time_point::max();
    for (;;) {
      std::vector<pollfd> waits{{signals.fd(), POLLIN, 0}};
      bool some = false;
      for (tap_link& l : all_) {
        l.link->advance();
        if (take_lines(l)) some = true;
        if (is_awaited(l)) waits.push_back({l.link->fd(), l.link->wants(), 0});
      }
      output_.flush();
      if (waits.size() == 1) return;
      if (signals.next() != 0) {
        interrupted_ = true;
        return;
      }
      // What was not shown is known when it has said its last.
      if (enough()) had_enough = std::min(had_enough, now());
      if (enough() && now() - had_enough > for_the_end) return;
      // It sends an empty line every five seconds when nothing passes.
      if (some) heard = now();
      if (now() - heard > std::chrono::seconds(30))
        throw failure(exit_failed, printable(to_.name) + ": it has said nothing for 30 s; it may hang");
      ::poll(waits.data(), waits.size(), 1000);
    }
  }

  // Something was shown, or could have been.
  bool has_begun() const noexcept { return begun_; }
  std::string told() const {
    std::uint64_t missed = 0, others = 0;
    // Behind the "^C" that a terminal shows.
    const char* const begin = interrupted_ && ::isatty(STDERR_FILENO) == 1 ? "\n" : "";
    for (const auto& [name, c] : counts_) missed += c.not_shown + c.came_late, others += c.not_matching;
    const bool all =
        !enough() || std::all_of(all_.begin(), all_.end(), [](const tap_link& l) { return l.has_ended(); });
    return begin + std::to_string(shown_) + (all ? " shown, " : " shown, at least ") +
           std::to_string(missed) + " not shown" +
           (request_.where.empty() ? std::string() : ", " + std::to_string(others) + " not matching");
  }
  bool stopped() const {
    return std::any_of(all_.begin(), all_.end(), [](const tap_link& l) { return l.stopped; });
  }

 private:
  bool enough() const { return request_.count > 0 && shown_ >= request_.count; }
  // One that has not shown as many as it may has no reason to end.
  bool is_awaited(const tap_link& l) const {
    return !l.has_ended() && !l.link->done() && (!enough() || l.values >= request_.count);
  }

  std::string target_of(const tap_link& l) const {
    std::string target = "/v1/tap";
    for (const std::string& c : l.channels)
      target += (&c == &l.channels.front() ? "?channel=" : "&channel=") + escaped_for_query(c);
    if (request_.rate > 0) {
      char rate[32];
      std::snprintf(rate, sizeof rate, "&rate=%g", request_.rate);
      target += rate;
    }
    if (!request_.where.empty()) target += "&where=" + escaped_for_query(request_.where);
    if (request_.count > 0) target += "&count=" + std::to_string(request_.count);
    return target;
  }

  // True: something came.
  bool take_lines(tap_link& l) {
    http_response& a = l.link->answer();
    const std::string who = joined(l.channels, ", ");
    if (a.has_head() && a.status() != 200) {
      if (l.link->done()) throw failure(exit_failed, who + ": " + error_of(a.status(), a.body()));
      return false;
    }
    begun_ = begun_ || a.has_head();
    l.rest += a.body();
    const bool some = !a.body().empty();
    a.body().clear();
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = l.rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      take_line(l, who, std::string_view(l.rest).substr(begin, end - begin));
    l.rest.erase(0, begin);
    if (l.rest.size() > http_response::longest_body) throw failure(exit_failed, who + ": a line has no end");
    if (l.link->done() && !l.has_ended() && !enough())
      throw failure(exit_failed, who + ": the deployment went away" +
                                     (l.link->failed() ? " (" + l.link->error() + ")" : std::string()));
    return some;
  }

  void take_line(tap_link& l, const std::string& who, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || l.has_ended()) return;
    const json_result r = read_json(line);
    if (!r.value) throw failure(exit_failed, who + ": a line that is not JSON came: " + r.error.text);
    const std::string name = printable(r.value->text_of("channel"));
    tap_counts& c = counts_[name];
    const json* const v = r.value->find("value");
    if (v && enough()) {
      ++l.values, ++c.came_late;
      return;
    }
    if (raw_) output_.line(std::string(line));
    if (v) {
      ++l.values, ++shown_;
      const json* const seq = r.value->find("seq");
      if (!raw_)
        output_.line(name + " #" + (seq ? printable(seq->text) : std::string("?")) + ' ' +
                     printable(v->source(line)));
    } else if (r.value->find("end")) {
      ++l.ended;
      l.stopped = l.stopped || r.value->text_of("end") == "stopped";
      c.not_shown = std::max(c.not_shown, r.value->count_of("not_shown"));
      c.not_matching = std::max(c.not_matching, r.value->count_of("not_matching"));
    } else {
      c.not_matching += r.value->count_of("not_matching");
      const std::uint64_t missed = r.value->count_of("not_shown");
      c.not_shown += missed;
      if (missed > 0 && !raw_) {
        output_.flush();  // what came before stands before it
        complain(name + " ... " + std::to_string(missed) + " not shown\n");
      }
    }
  }

  const request& request_;
  const endpoint& to_;
  bool raw_;
  tap_output output_;
  std::vector<tap_link> all_;
  std::map<std::string, tap_counts> counts_;  // by channel
  std::uint64_t shown_ = 0;
  bool begun_ = false, interrupted_ = false;
};

}  // namespace

int tap(const request& r) {
  const endpoint to = deployment_of(r);
  const deployment_state s = ask_state(to).state;
  tap_session session(r, to);
  for (const std::string& word : r.words) session.add(word, s);
  try {
    session.run();
  } catch (const failure&) {
    std::fflush(stdout);
    if (session.has_begun()) complain(session.told() + '\n');
    throw;
  }
  complain(session.told() + (session.stopped() ? ": " + s.name + " has ended" : "") + '\n');
  return 0;
}

}  // namespace leat::remote
