// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/child.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(exec)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

class exec : public process {
  record_in values{this,          "values",     "one line of its standard input for each record",
                   optional_port, helpers_port, needs_by(field_for_text)};
  record_out out{this, "out", "one record for each line of its standard output; without it, they are logged",
                 optional_port, sends_by(fields_of_lines)};
  setting<std::vector<std::string>> command{
      this, "command", required,
      "the program, searched in PATH unless it has a '/', and its arguments; no shell",
      judged_by(judge_command)};
  setting<std::string> directory{this, "directory", "", "where it runs; none: where this program does",
                                 judged_by(judge_optional_folder)};
  setting<std::vector<std::string>> environment{
      this, "environment", std::vector<std::string>(),
      "on top of this program's own: \"NAME=value\" sets, \"NAME\" removes", judged_by(judge_variable)};
  format_settings format{this};
  setting<std::string> field{this, "field", "line", "the field that format = \"text\" writes to it",
                             judged_by(judge_field_name)};
  setting<byte_size> longest{this, "longest", byte_size{std::size_t{64} << 10},
                             "bytes of a line; a longer one is bad, and skipped",
                             between(byte_size{1}, byte_size{std::size_t{16} << 20})};
  setting<nanoseconds> patience{
      this, "patience", 5s,
      "from SIGTERM, when it is to stop, to SIGKILL; and how long its output is read "
      "after its end, if others have it open",
      between<nanoseconds>(0s, 1h)};
  rejects bad{this, "a line, or a record, that is wrong"};
  errors told{this,
              {{"a line longer than `longest`, or one that is not in `format`", "is wrong, as above"},
               {"a program that is not there, or cannot be started", "the process fails"},
               {"a program that exits with another status than 0, or is killed", "the process fails"},
               {"a program that closes its standard input", "records are lost, counted and told"},
               {"a program that does not read its standard input", "it waits, and so does the sender"},
               {"a program that does not end on SIGTERM within `patience`", "SIGKILL, which is told"},
               {"a program that cannot be killed (of another user)", "told, and left behind"},
               {"a program that ends while others have its output open",
                "told after `patience`, and those of its process group get SIGKILL"},
               {"all readers of `out` have ended", "the program is ended as by a stop"},
               channel_is_full}};
  passes pass{this};
  complaints lost{*this, "lost"};

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
  void write_input(running& p, line_maker maker) {
    std::string text;
    bool first = true;
    for (const record& r : values) {
      text.clear();
      if (std::string why = maker.add(r, text); !why.empty()) {
        bad.add(std::move(why));
        continue;
      }
      if (std::exchange(first, false)) text.insert(0, maker.header());
      std::error_code ec;
      if (p.in.is_open()) p.in.write(text, ec);
      if (stop_requested()) return;
      if (ec) p.in.close();
      if (!p.in.is_open()) lost.add("its standard input is closed");
    }
    if (!stop_requested()) p.in.close();
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
        throw std::system_error(ec, "standard output of " + leat::quoted(command->front()));
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
      bad.add(e.told());
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
      if (ec && ec != std::errc::timed_out) throw std::system_error(ec, leat::quoted(command->front()));
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
      signal(p, SIGTERM);
      if (p.child.wait(ec, *patience)) return;
      log_warning("stock", "{}: {} did not end within {} after SIGTERM: SIGKILL", name(), command->front(),
                  format_duration(*patience));
      if (signal(p, SIGKILL)) {
        (void)p.child.wait(ec);
      } else {
        log_error("stock", "{}: {} (process {}) cannot be killed, and is left behind", name(),
                  command->front(), p.child.pid());
      }
    }).get();
  }

  void run() override {
    if (command->empty() || command->front().empty()) throw setting_error("command: no program is named");
    line_options o = format.checked();
    o.longest = static_cast<std::size_t>(longest->bytes);
    running p{.child = net::child(*command, {.in = values.connected() ? net::stdio::pipe : net::stdio::null,
                                             .out = net::stdio::pipe,
                                             .err = net::stdio::pipe,
                                             .env = *environment,
                                             .cwd = *directory,
                                             .own_group = true})};
    if (values.connected()) p.in = std::move(p.child.in());
    p.out = std::move(p.child.out());
    p.err = std::move(p.child.err());
    p.logs = spawn("exec errors", [&] { log_errors(p); });
    if (values.connected()) p.writes = spawn("exec input", [&] { write_input(p, line_maker(o, *field)); });
    std::optional<net::exit_status> how;
    try {
      if (read_output(p, o)) how = wait_for_end(p);
    } catch (...) {
      end(p);
      throw;
    }
    if (!how) return end(p);
    (void)p.talks.wait_until(*patience);
    if (!how->ok()) throw std::runtime_error(leat::quoted(command->front()) + ' ' + how->text());
  }
};
LEAT_PROCESS(exec, "runs another program: records are lines of its input and output");

}  // namespace
}  // namespace leat::stock
