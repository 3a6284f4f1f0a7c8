// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/listener.hpp>
#include <leat/net/standard.hpp>
#include <leat/net/udp.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/followed_file.hpp>
#include <leat/stock/http_guard.hpp>
#include <leat/stock/line_endpoint.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/links.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(line_reader)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class start_at { begin, end };
LEAT_ENUM(start_at, begin, end);

constexpr std::size_t piece = std::size_t{64} << 10;
// Somebody who connects and says nothing does not hold a place for ever.
constexpr nanoseconds silence_of_peers = 5min;

constexpr const char* no_first_line =
    "columns: must be given, since a datagram has no first line that could name them";

std::vector<setting_diagnostic> validate_datagrams(const value& settings) {
  const std::string *from = text_in(settings, "from"), *format = text_in(settings, "format");
  const value::list* const columns = list_in(settings, "columns");
  if (!from || !format || !columns || !columns->empty()) return {};
  if (!from->starts_with("udp:") || *format != "csv") return {};
  return {{no_first_line, settings.find("from")}};
}

class line_reader : public process {
  record_out values{this, "values", sends_by(fields_of_lines), "one record for each line"};
  setting<std::string> from{this, "from", required,
                            "\"stdin\", \"file:PATH\", \"serial:DEVICE?baud=9600\", \"tcp:HOST:PORT\", "
                            "\"tcp-listen:ADDRESS:PORT\", \"udp:ADDRESS:PORT\", \"unix:PATH\" or "
                            "\"unix-listen:PATH\"",
                            validated_by(validate_reading)};
  format_settings format{this};
  setting<line_encoding> encoding{this, "encoding", line_encoding::utf8,
                                  "utf8: a line that is not UTF-8 or has a zero byte is bad; any: none is"};
  setting<byte_size> longest{this, "longest", byte_size{std::size_t{64} << 10},
                             "bytes of a line; a longer one is bad, and skipped",
                             between(byte_size{1}, byte_size{std::size_t{16} << 20})};
  setting<bool> follow{this, "follow", false,
                       "of a file: waits for more at its end, and goes on with one that takes its name"};
  setting<start_at> start{this, "start", start_at::begin, "where in a file that it follows it begins"};
  setting<nanoseconds> poll{this, "poll", 250ms, "how often it looks for more in a file that it follows",
                            between<nanoseconds>(1ms, 1h)};
  setting<std::optional<nanoseconds>> silence{
      this, "silence", std::nullopt,
      "a connection that brings nothing for so long is given up; 0: none is. Unless given: 5m where it "
      "listens, else 0",
      between<nanoseconds>(0s, 8760h)};
  setting<std::int64_t> peers{this, "peers", 64, "connections at a time, where it listens",
                              between(1, 65536)};
  setting<std::int64_t> per_address{this, "per_address", 0,
                                    "of them from one address; 0: three quarters of `peers`, from 16 on",
                                    between(0, 65536)};
  link_settings links{this};
  settings_validator together{this, validate_datagrams};
  rejects bad{this, "a line, or a record in it, that is wrong"};
  errors told{
      this,
      {{"a line longer than `longest`, one that is not UTF-8 or has a zero byte", "is wrong, as above"},
       {"JSON that is none, a row of csv with another number of fields, quotes that do not end",
        "is wrong, as above"},
       {"a record that does not fit the message of the channel", "is wrong, as above"},
       {"a connection or device that is lost, or silent for the time `silence`", "logged, and made again"},
       {"a peer of a listener that is lost or silent", "its place is free for another"},
       {"more connections than `peers`",
        "of those that have sent nothing yet the first one is closed; if there is none, they wait"},
       {"more connections from one address than `per_address`", "closed at once"},
       {"a peer that begins with a request of HTTP (\"tcp-listen\")",
        "logged, and closed: none of it is a line"},
       {"a file that is not there", "the process fails; with follow = true it waits for it"},
       {"a file that is cut or replaced, with follow = true", "logged, and read from its beginning"},
       {"a file that is a folder, a pipe or a device", "the process fails"},
       {"an address that is taken, or not one of this machine", "the process fails"},
       nobody_reads,
       channel_is_full}};
  passes pass{this};

  enum class over : std::uint8_t { ended, lost, enough };

  bool take(line_event e) {
    if (e.bad.empty()) {
      try {
        return pass(values, std::move(e.value));
      } catch (const message_error& wrong) {
        e.bad = wrong.what();  // no such message as the channel carries
      }
    }
    bad.add_input(e.told());
    return true;
  }

  // `enough`: no more lines are wanted. `lost`: `why` says how.
  over read(net::stream& s, line_parser& to, std::string& why, nanoseconds otherwise = 0s,
            net::guest* who = nullptr, http_guard* guard = nullptr) const {
    std::vector<char> bytes(piece);
    if (who) who->idle();
    const nanoseconds longest_silence = silence->value_or(otherwise);
    for (;;) {
      std::error_code ec;
      const std::size_t n =
          s.read_some(bytes, ec, longest_silence > 0ns ? deadline(longest_silence) : deadline::never());
      if (stop_requested()) return over::enough;
      if (ec == std::errc::timed_out) {
        why = "nothing came for " + format_duration(longest_silence);
        return over::lost;
      }
      if (ec) {
        why = ec.message();
        return over::lost;
      }
      if (n == 0) {
        why = "it was closed";
        if (guard && !to.feed(guard->rest())) return over::enough;
        return to.finish() ? over::ended : over::enough;
      }
      if (who) std::exchange(who, nullptr)->busy();
      std::string_view came(bytes.data(), n);
      if (guard) {
        came = guard->pass(came);
        if (guard->refuses()) {
          why = "it speaks HTTP, and not lines";
          return over::lost;
        }
      }
      if (!to.feed(came)) return over::enough;
    }
  }

  void read_standard(line_parser& to) {
    try {
      net::stream in = net::open_standard(net::standard::input);
      std::string why;
      if (read(in, to, why) == over::lost) throw std::runtime_error("stdin: " + why);
      return;
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::operation_not_permitted) throw;
    }
    std::vector<char> bytes(piece);
    while (const std::size_t n = read_plain(0, bytes)) {
      checkpoint();
      if (!to.feed({bytes.data(), n})) return;
    }
    (void)to.finish();
  }

  void read_file(const line_endpoint& where, line_parser& to) {
    followed_file f(where.path);
    bool missing = !f.open();
    if (missing && !*follow)
      throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory), where.path);
    if (missing) log_warning("stock", "{}: waits for {}, which is not there", name(), where.path);
    if (!missing && *follow && *start == start_at::end) {
      f.to_end();
      to.begin(false);
    }
    std::vector<char> bytes(piece);
    for (;;) {
      if (stop_requested()) return;
      std::size_t n = 0;
      const followed_file::status s = f.read(bytes, n);
      if (s == followed_file::status::data) {
        if (!to.feed({bytes.data(), n})) return;
        continue;
      }
      if (!*follow) return void(to.finish());
      if (s == followed_file::status::fresh || s == followed_file::status::cut) {
        if (!to.finish()) return;
        to.begin();
        log_info("stock", "{}: {} {}", name(), where.path,
                 s == followed_file::status::cut ? "has been cut: reads from its beginning"
                                                 : "is another file: reads that one");
        missing = false;
        continue;
      }
      if (s == followed_file::status::missing && !std::exchange(missing, true))
        log_warning("stock", "{}: {} is gone; waits for another", name(), where.path);
      if (sleep_for(*poll) == sleep_result::stopped) return;
    }
  }

  void read_link(const line_endpoint& where, line_parser& to) {
    for (link l(*this, where, links);;) {
      if (l.open()) {
        std::string why;
        to.begin();
        const time_point begin = leat::now();
        const over how = read(l.stream(), to, why);
        if (how == over::enough) return;
        if (leat::now() - begin >= *links.retry) l.worked();
        l.lost(why);
      }
      if (sleep_for(l.pause()) == sleep_result::stopped) return;
    }
  }

  // A port belongs to one G; so what the connections bring goes through a channel to this one.
  void read_peers(const line_endpoint& where, const line_options& o) {
    net::listener at = net::listen(where.address);
    log_info("stock", "{}: listens on {}", name(), at.local().text());
    channel<line_event> events(16);
    auto server = spawn("lines", [&] {
      struct closer {
        channel<line_event>& events;
        ~closer() { events.close(); }
      } at_end{events};
      net::serve(at,
                 [&](net::stream& peer, net::guest& who) {
                   http_guard guard;
                   line_parser parser(
                       o, [&](line_event e) { return events.send(std::move(e)) == send_status::sent; });
                   std::string why;
                   if (read(peer, parser, why, silence_of_peers, &who,
                            where.medium == medium::tcp_listen ? &guard : nullptr) == over::lost)
                     log_info("stock", "{}: lost {}: {}", name(), peer.peer().text(), why);
                 },
                 {.limit = static_cast<std::size_t>(*peers),
                  .name = "line peer",
                  .per_address = places_per_address(*per_address, *peers),
                  .evict_idle = true});
    });
    while (auto e = events.recv())
      if (!take(std::move(*e))) return;
    if (!stop_requested()) server.get();
  }

  void read_datagrams(const line_endpoint& where, const line_options& o, line_parser& to) {
    if (o.form == line_form::csv && o.columns.empty()) throw setting_error(no_first_line);
    net::udp_socket s = net::bind_udp(where.address);
    log_info("stock", "{}: listens on {}", name(), s.local().text());
    std::vector<char> bytes(piece);
    for (;;) {
      std::error_code ec;
      const net::datagram d = s.receive_from(bytes, ec);
      if (stop_requested()) return;
      if (ec) throw std::system_error(ec, where.address);
      to.begin(false);
      if (!to.feed({bytes.data(), d.size}) || !to.finish()) return;
    }
  }

  void run() override {
    const line_endpoint where = parse_endpoint("from", *from, direction::read);
    line_options o = format.checked();
    o.encoding = *encoding;
    o.longest = static_cast<std::size_t>(longest->bytes);
    line_parser to(o, [this](line_event e) { return take(std::move(e)); });
    switch (where.medium) {
      case medium::standard: return read_standard(to);
      case medium::file: return read_file(where, to);
      case medium::serial:
      case medium::tcp:
      case medium::unix_socket: return read_link(where, to);
      case medium::tcp_listen:
      case medium::unix_listen: return read_peers(where, o);
      case medium::udp: return read_datagrams(where, o, to);
    }
  }
};
LEAT_PROCESS_AS("line-reader", line_reader, "makes a record of each line of a file, a port, a connection");
LEAT_USES_OUTSIDE("line-reader", outside::device, "it reads a file, a port or a connection");

}  // namespace
}  // namespace leat::stock
