// SPDX-License-Identifier: BSL-1.0
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/child.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(exec)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

// Its end is that of the program, which has `patience`; then SIGKILL, and what there is left to read.
process_limits time_to_end(const value& settings) {
  const value* const patience = settings.find("patience");
  const auto* const time = patience ? patience->get_if<nanoseconds>() : nullptr;
  return {.grace = time ? *time + 1s : 6s};
}

enum class run_again : std::uint8_t { never, failure, always };
LEAT_ENUM(run_again, never, failure, always);

// The process group of a program that was started, and who started it: to any other program, such as the next one
// that reads this from a file, its number is that of a stranger.
struct started_group {
  std::int64_t group = 0;  // 0: none
  std::int64_t by = 0, since = 0;
};
LEAT_SETTINGS(started_group, group, by, since);

started_group started_here(pid_t group) {
  static const std::int64_t since = nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  return {group, ::getpid(), since};
}

class exec : public process {
  record_in values{this,          "values",     "one line of its standard input for each record",
                   optional_port, helpers_port, needs_by(field_for_text)};
  record_out out{this, "out", "one record for each line of its standard output; without it, they are logged",
                 optional_port, sends_by(fields_of_lines)};
  setting<std::vector<std::string>> command{
      this, "command", required,
      "the program, searched in PATH unless it has a '/', and its arguments; no shell",
      validated_by(validate_command)};
  setting<std::string> directory{this, "directory", "", "where it runs; none: where this program does",
                                 validated_by(validate_optional_folder)};
  setting<std::vector<std::string>> environment{
      this, "environment", std::vector<std::string>(),
      "on top of this program's own: \"NAME=value\" sets, \"NAME\" removes",
      secret(validated_by(validate_variable))};
  format_settings format{this};
  setting<std::string> field{this, "field", "line", "the field that format = \"text\" writes to it",
                             validated_by(validate_field_name)};
  setting<byte_size> longest{this, "longest", byte_size{std::size_t{64} << 10},
                             "bytes of a line; a longer one is bad, and skipped",
                             between(byte_size{1}, byte_size{std::size_t{16} << 20})};
  setting<nanoseconds> patience{
      this, "patience", 5s,
      "from SIGTERM, when it is to stop, to SIGKILL; and how long its output is read "
      "after its end, if others have it open",
      between<nanoseconds>(0s, 1h)};
  setting<run_again> restart{this, "restart", run_again::never,
                             "whether the program is started again when it has ended: never (the process is "
                             "done, or has failed), after a "
                             "failure, or always"};
  setting<nanoseconds> retry{this, "retry", 100ms, "first pause before it is started again; it doubles",
                             between<nanoseconds>(1ms, 1h)};
  setting<nanoseconds> retry_most{
      this, "retry_most", 10s,
      "longest pause; a program that has run for so long begins again with the first one",
      between<nanoseconds>(1ms, 24h)};
  suggested_limits limits{this, time_to_end};
  rejects bad{this, "a line, or a record, that is wrong"};
  errors told{
      this,
      {{"a line longer than `longest`, or one that is not in `format`", "is wrong, as above"},
       {"a value that is none of the columns (csv)", "left out, counted and logged"},
       {"a program that is not there, or cannot be started", "the process fails"},
       {"a program that exits with another status than 0, or is killed",
        "the process fails; with `restart` it is started again, after `retry`, doubled up to `retry_most`"},
       {"a program that closes its standard input",
        "records are lost, counted and logged; with `restart` they wait for the next one"},
       {"a program that ends while a line is written to it, with `restart`",
        "that line is written to the next one; what it took and did not use is lost"},
       {"a program that does not read its standard input",
        "it waits, and so does the sender; a record in hand at a stop is lost, counted and logged"},
       {"a program that does not end on SIGTERM within `patience`", "SIGKILL, which is logged"},
       {"a program that cannot be killed (of another user)", "logged, and left behind"},
       {"a program that runs when this one is killed", "SIGKILL for all of its process group"},
       {"a program that runs when this process is quarantined",
        "logged, and ended by SIGKILL before the next one is started"},
       {"a program that ends while others have its output open",
        "logged after `patience`, and those of its process group get SIGKILL"},
       {"all readers of `out` have ended", "the program is ended as by a stop"},
       channel_is_full}};
  passes pass{this};
  state<started_group> running_group{this, "group"};
  complaints lost{*this, "lost", complaints::ledger::lost};
  // Of all programs that run(), one after another. A G writes to each, and is joined before the next is started.
  std::optional<line_maker> maker_;
  std::string unwritten_;    // the line that the last one did not take; its record is in hand
  in_hand* kept_ = nullptr;  // for that record
  bool input_ended_ = false;

  // Its last words are worth a line each, but not a flood of bytes.
  static constexpr std::size_t log_line = 1000;
  // How often one who waits for output looks at other things.
  static constexpr nanoseconds look = 200ms;

  struct to_log {
    const std::string& name;
    bool line(std::string_view text) const {
      log_info("stock", "{}: {}", name, text);
      return true;
    }
    bool too_long() const { return line("(a long line)"); }
  };

  struct running {
    net::child child;
    net::stream in = {}, out = {}, err = {};
    wait_group talks = wait_group(1);   // until its standard error has ended
    task<void> writes = {}, logs = {};  // after what they use
  };

  // A G of its own.
  void log_errors(running& p) const {
    line_splitter lines(log_line);
    const to_log log{name()};
    std::vector<char> bytes(4096);
    std::error_code ec;
    while (const std::size_t n = p.err.read_some(bytes, ec)) (void)lines.feed({bytes.data(), n}, log);
    (void)lines.finish(log);
    p.talks.done();
  }

  // A G of its own, and the only one at this port.
  void write_input(running& p, line_maker& maker) {
    std::string text;
    bool first = true;
    complaints left_out(*this, "left out");
    if (!unwritten_.empty()) {
      std::error_code ec;
      p.in.write(maker.header() + unwritten_, ec);
      if (ec) return;
      first = false;
      unwritten_.clear();
      kept_->settle();
    }
    taken all(this, values);
    for (const record& r : all) {
      text.clear();
      if (std::string why = maker.add(r, text); !why.empty()) {
        bad.add(std::move(why));
        continue;
      }
      if (maker.left_out() > 0)
        left_out.add("'" + maker.first_left_out() + "', which is none of the columns", maker.left_out());
      const std::string head = std::exchange(first, false) ? maker.header() : std::string();
      std::error_code ec;
      const bool open = p.in.is_open();
      if (open) p.in.write(head + text, ec);
      if (open && !ec) all.done();
      if (ec && *restart != run_again::never) {
        unwritten_ = text;
        kept_->add();
        return all.done();
      }
      if (stop_requested()) return;
      if (ec) p.in.close();
      if (!p.in.is_open()) {
        lost.add("its standard input is closed");
        values.acknowledge();
      }
    }
    if (stop_requested()) return;
    input_ended_ = true;
    p.in.close();
  }

  // Throws what has failed at the other port.
  static void check_input(running& p) {
    if (p.writes.valid() && p.writes.done()) p.writes.get();
  }

  // False: no more is wanted. True: its output has ended.
  template <class Feed, class Finish>
  bool read_output(running& p, Feed feed, Finish finish) const {
    std::vector<char> bytes(std::size_t{16} << 10);
    std::optional<time_point> ended;
    for (;;) {
      std::error_code ec;
      const std::size_t n = p.out.read_some(bytes, ec, look);
      check_input(p);
      if (stop_requested()) return false;
      if (n > 0) {
        if (!feed({bytes.data(), n})) return false;
      } else if (!ec) {
        return finish();
      } else if (ec != std::errc::timed_out) {
        throw std::system_error(ec, "standard output of " + leat::in_quotes(command->front()));
      } else if (!p.child.is_running()) {
        if (!ended) ended = leat::now();
        if (leat::now() - *ended < *patience) continue;
        log_warning("stock", "{}: it has ended, but others have its standard output open", name());
        return finish();
      }
    }
  }

  bool read_output(running& p, const line_options& o) {
    if (!out.connected()) {
      line_splitter lines(log_line);
      const to_log log{name()};
      return read_output(
          p, [&](std::string_view bytes) { return lines.feed(bytes, log); },
          [&] { return lines.finish(log); });
    }
    line_parser lines(o, [this](line_event e) {
      if (e.bad.empty()) {
        try {
          return pass(out, std::move(e.value));
        } catch (const message_error& wrong) {
          e.bad = wrong.what();  // no such message as the channel carries
        }
      }
      bad.add_input(e.told());
      return true;
    });
    return read_output(
        p, [&](std::string_view bytes) { return lines.feed(bytes); }, [&] { return lines.finish(); });
  }

  // None: this process is to stop.
  std::optional<net::exit_status> wait_for_end(running& p) const {
    for (;;) {
      std::error_code ec;
      const std::optional<net::exit_status> s = p.child.wait(ec, look);
      check_input(p);
      if (s || stop_requested()) return s;
      if (ec && ec != std::errc::timed_out) throw std::system_error(ec, leat::in_quotes(command->front()));
    }
  }

  // False: the program has become another user's, and does not get it. Others of its group may.
  static bool signal(running& p, int number) {
    try {
      p.child.kill_group(number);
      p.child.kill(0);  // sends nothing, but says whether it could
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  // On a G of its own: this one has been asked to stop, so that its waits end at once.
  void end(running& p) const {
    p.writes = {};
    p.in.close();
    p.out.close();
    spawn("exec end", [&] {
      std::error_code ec;
      const time_point asked = now();
      signal(p, SIGTERM);
      if (p.child.wait(ec, *patience)) return;
      if (ec == std::errc::timed_out) {
        log_warning("stock", "{}: {} did not end within {} after SIGTERM: SIGKILL", name(), command->front(),
                    format_duration(*patience));
      } else {  // the program that we are part of ends, and gives nobody that long
        fixed_text<32> after;
        append_elapsed(after, saturating_sub(now(), asked).count());
        log_warning("stock", "{}: {} was given {} to end after SIGTERM, instead of {}: SIGKILL", name(),
                    command->front(), after.view(), format_duration(*patience));
      }
      if (signal(p, SIGKILL)) {
        (void)p.child.wait(ec);
      } else {
        log_error("stock", "{}: {} (process {}) cannot be killed, and is left behind", name(),
                  command->front(), p.child.pid());
      }
    }).get();
  }

  // An object that was quarantined has never ended its program. As long as nobody has waited for it, its
  // number is its own.
  void end_last() {
    const started_group noted = running_group.load();
    const auto last = static_cast<pid_t>(noted.group);
    const started_group ours = started_here(last);
    if (noted.by != ours.by || noted.since != ours.since) return;
    siginfo_t info{};
    if (last <= 0 || ::waitid(P_PID, static_cast<id_t>(last), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return;
    log_warning("stock", "{}: {} of the object before it (process {}) is still there: SIGKILL", name(),
                command->front(), last);
    if (::kill(-last, SIGKILL) != 0) return;
    leat::blocking([last] {
      siginfo_t ended{};
      while (::waitid(P_PID, static_cast<id_t>(last), &ended, WEXITED) != 0 && errno == EINTR) {
      }
    });
    running_group.save({});
  }

  // From its start to its end; none: this process is to stop, or nobody reads what comes.
  std::optional<net::exit_status> run_once(const line_options& o) {
    struct noted {
      state<started_group>& group;
      ~noted() { group.save({}); }
    } until_it_is_over{running_group};
    running p{.child = net::child(*command, {.in = values.connected() ? net::stdio::pipe : net::stdio::null,
                                             .out = net::stdio::pipe,
                                             .err = net::stdio::pipe,
                                             .env = *environment,
                                             .cwd = *directory,
                                             .own_group = true})};
    running_group.save(started_here(p.child.pid()));
    if (values.connected()) p.in = std::move(p.child.in());
    p.out = std::move(p.child.out());
    p.err = std::move(p.child.err());
    p.logs = spawn("exec errors", [&] { log_errors(p); });
    if (values.connected()) p.writes = spawn("exec input", [&] { write_input(p, *maker_); });
    std::optional<net::exit_status> how;
    try {
      if (read_output(p, o)) how = wait_for_end(p);
    } catch (...) {
      end(p);
      throw;
    }
    if (!how) {
      end(p);
      return how;
    }
    (void)p.talks.wait_until(*patience);
    return how;
  }

  // There is nothing left that another one could do.
  bool is_done(const net::exit_status& how) const {
    if (*restart == run_again::never || (how.ok() && *restart == run_again::failure)) return true;
    return input_ended_ && unwritten_.empty();
  }

  void run() override {
    if (command->empty() || command->front().empty()) throw setting_error("command: no program is named");
    line_options o = format.checked();
    o.longest = static_cast<std::size_t>(longest->bytes);
    end_last();
    maker_.emplace(o, *field);
    in_hand kept(this, values);
    kept_ = &kept;
    for (nanoseconds pause = *retry;;) {
      const time_point begun = leat::now();
      const std::optional<net::exit_status> how = run_once(o);
      if (!how) return;
      const std::string what = leat::in_quotes(command->front()) + ' ' + how->text();
      if (is_done(*how)) {
        if (how->ok()) return;
        throw std::runtime_error(what);
      }
      if (leat::now() - begun >= *retry_most) pause = *retry;
      log_warning("stock", "{}: {}: starts it again in {}", name(), what, format_duration(pause));
      if (sleep_for(pause) == sleep_result::stopped) return;
      pause = std::min(2 * pause, std::max(*retry, *retry_most));
    }
  }
};
LEAT_PROCESS(exec, "runs another program: records are lines of its input and output");
LEAT_USES_OUTSIDE("exec", outside::device, "it runs another program");

}  // namespace
}  // namespace leat::stock
