// SPDX-License-Identifier: BSL-1.0
//
// `leat tap`: values as they pass, a line each. One connection for each channel, all of them polled together with the
// signals that end it; what the deployment could not show is counted and told.
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

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

struct tapped {
  std::string name;  // "climate/raw@climate/log"
  std::unique_ptr<exchange> link;
  std::string rest = {};  // a line that is not whole yet
  std::uint64_t not_shown = 0, not_matching = 0;
  bool ended = false, stopped = false;
};

class tap_session {
 public:
  tap_session(const request& r, const endpoint& to)
      : request_(r), to_(to), raw_(r.json || !r.out.empty()), output_(r.out) {}

  void add(const std::string& word, const deployment_state& s) {
    const std::size_t at = word.find('@');
    const std::string channel = full_channel(word.substr(0, at), s);
    std::string target = "/v1/tap?channel=" + escaped_for_query(channel), name = channel;
    if (at != std::string::npos) {
      std::vector<std::string> readers;
      for (const channel_state& c : s.channels)
        if (c.name == channel && !c.reader.empty()) readers.push_back(c.reader);
      if (readers.empty())
        throw failure(exit_failed, s.name + ": the readers of '" + channel +
                                       "' have no shares of their own; tap it without '@'");
      const std::string reader = full_name(word.substr(at + 1), readers, "reader", s);
      target += "&reader=" + escaped_for_query(reader);
      name += '@' + reader;
    }
    if (request_.rate > 0) {
      char rate[32];
      std::snprintf(rate, sizeof rate, "&rate=%g", request_.rate);
      target += rate;
    }
    if (!request_.where.empty()) target += "&where=" + escaped_for_query(request_.where);
    if (request_.count > 0) target += "&count=" + std::to_string(request_.count);
    all_.push_back({name, std::make_unique<exchange>(to_, http_request{.target = target})});
  }

  // Until a signal comes, all have ended or enough was shown.
  void run() {
    signal_watch signals({SIGINT, SIGTERM, SIGHUP});
    time_point heard = now();
    for (;;) {
      std::vector<pollfd> waits{{signals.fd(), POLLIN, 0}};
      bool some = false;
      for (tapped& t : all_) {
        t.link->advance();
        if (take_lines(t)) some = true;
        if (enough()) return output_.flush();
        if (!t.ended) waits.push_back({t.link->fd(), t.link->wants(), 0});
      }
      output_.flush();
      if (waits.size() == 1) return;
      if (signals.next() != 0) {
        interrupted_ = true;
        return;
      }
      // It sends an empty line every five seconds when nothing passes.
      if (some) heard = now();
      if (now() - heard > std::chrono::seconds(30))
        throw failure(exit_failed, printable(to_.name) + ": it has said nothing for 30 s; it may hang");
      ::poll(waits.data(), waits.size(), 1000);
    }
  }

  std::string told() const {
    std::uint64_t missed = 0, others = 0;
    // Behind the "^C" that a terminal shows.
    const char* const begin = interrupted_ && ::isatty(STDERR_FILENO) == 1 ? "\n" : "";
    for (const tapped& t : all_) missed += t.not_shown, others += t.not_matching;
    return begin + std::to_string(shown_) + " shown, " + std::to_string(missed) + " not shown" +
           (others > 0 ? ", " + std::to_string(others) + " not matching" : std::string());
  }
  bool stopped() const {
    return std::any_of(all_.begin(), all_.end(), [](const tapped& t) { return t.stopped; });
  }

 private:
  bool enough() const { return request_.count > 0 && shown_ >= request_.count; }

  // True: something came.
  bool take_lines(tapped& t) {
    http_answer& a = t.link->answer();
    if (a.has_head() && a.status() != 200) {
      if (t.link->done()) throw failure(exit_failed, t.name + ": " + error_of(a.status(), a.body()));
      return false;
    }
    t.rest += a.body();
    const bool some = !a.body().empty();
    a.body().clear();
    std::size_t begin = 0;
    for (std::size_t end = 0; !enough() && (end = t.rest.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      take_line(t, std::string_view(t.rest).substr(begin, end - begin));
    t.rest.erase(0, begin);
    if (t.rest.size() > http_answer::longest_body) throw failure(exit_failed, t.name + ": a line has no end");
    if (t.link->done() && !t.ended && !enough())
      throw failure(exit_failed, t.name + ": the deployment went away" +
                                     (t.link->failed() ? " (" + t.link->fault() + ")" : std::string()));
    return some;
  }

  void take_line(tapped& t, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || t.ended) return;
    const json_result r = read_json(line);
    if (!r.value) throw failure(exit_failed, t.name + ": a line that is no JSON came: " + r.fault.text);
    if (raw_) output_.line(std::string(line));
    if (!r.value->find("end")) t.not_matching += r.value->count_of("not_matching");
    if (const json* const v = r.value->find("value")) {
      ++shown_;
      const json* const seq = r.value->find("seq");
      if (!raw_)
        output_.line(t.name + " #" + (seq ? printable(seq->text) : std::string("?")) + ' ' +
                     printable(v->source(line)));
    } else if (r.value->find("end")) {
      t.ended = true;
      t.stopped = r.value->text_of("end") == "stopped";
      t.not_shown = std::max(t.not_shown, r.value->count_of("not_shown"));
      t.not_matching = std::max(t.not_matching, r.value->count_of("not_matching"));
    } else if (const std::uint64_t missed = r.value->count_of("not_shown"); missed > 0) {
      t.not_shown += missed;
      if (!raw_) {
        output_.flush();  // what came before stands before it
        complain(t.name + " ... " + std::to_string(missed) + " not shown\n");
      }
    }
  }

  const request& request_;
  const endpoint& to_;
  bool raw_;
  tap_output output_;
  std::vector<tapped> all_;
  std::uint64_t shown_ = 0;
  bool interrupted_ = false;
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
    complain(session.told() + '\n');
    throw;
  }
  complain(session.told() + (session.stopped() ? ": " + s.name + " has ended" : "") + '\n');
  return 0;
}

}  // namespace leat::remote
