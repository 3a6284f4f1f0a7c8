// SPDX-License-Identifier: BSL-1.0
#include <atomic>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/file.hpp>
#include <leat/net/listener.hpp>
#include <leat/net/standard.hpp>
#include <leat/net/udp.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/line_endpoint.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/links.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(line_writer)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class while_away { wait, drop };
LEAT_ENUM(while_away, wait, drop);

// So much is written at once, if it is there.
constexpr std::size_t piece = std::size_t{64} << 10;

// Reads a connection to its end, so that the other side can go on writing, and its end is seen.
class ear {
 public:
  explicit ear(net::stream& s)
      : task_(spawn("line peer's ear", [this, &s] {
          char bytes[512];
          std::error_code ec;
          while (s.read_some(bytes, ec) > 0) {
          }
          if (!stop_requested()) gone_.store(true, std::memory_order_release);  // pairs with gone()
        })) {}
  bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> gone_{false};
  task<void> task_;
};

// What all peers of a listener get; each begins with the header.
struct shared_lines {
  std::shared_ptr<const std::string> header, text;
};

class line_writer : public process {
  record_in values{this, "values", needs_by(fields_for_lines), "one line for each record"};
  setting<std::string> to{
      this, "to", required,
      "\"stdout\", \"file:PATH\", \"serial:DEVICE?baud=9600\", \"tcp:HOST:PORT\", "
      "\"tcp-listen:ADDRESS:PORT\", \"udp:HOST:PORT\", \"unix:PATH\" or \"unix-listen:PATH\"",
      validated_by(validate_writing)};
  format_settings format{this};
  setting<std::string> field{this, "field", "line", "the field that format = \"text\" writes",
                             validated_by(validate_field_name)};
  setting<bool> header{this, "header", true, "csv begins with a line that names the columns"};
  setting<bool> append{this, "append", true, "to what is in the file; false: it is emptied first"};
  setting<while_away> away{this, "away", while_away::wait,
                           "what becomes of records while there is no connection"};
  setting<std::int64_t> peers{this, "peers", 64, "connections at a time, where it listens",
                              between(1, 65536)};
  setting<std::int64_t> per_address{this, "per_address", 0,
                                    "of them from one address; 0: three quarters of `peers`, from 16 on",
                                    between(0, 65536)};
  setting<std::int64_t> behind{this, "behind", 256,
                               "lines that wait for a slow one of them; then the oldest are dropped for it",
                               between(1, 1'000'000)};
  link_settings links{this};
  rejects bad{this, "a record that cannot be written as a line"};
  errors told{this,
              {{"a record without the field that is written, or with a line break in it (format = \"text\")",
                "cannot be written, as above"},
               {"a value that is none of the columns (csv)", "left out, counted and logged"},
               {"a connection or device that is lost, or takes nothing for the time `timeout`",
                "logged, made again, and what was being written is written again; meanwhile as `away` says"},
               {"a peer of a listener that is slow",
                "the oldest of its lines are dropped above `behind`, which is logged when it ends"},
               {"more connections than `peers`", "wait until one has ended"},
               {"more connections from one address than `per_address`", "closed at once"},
               {"a standard output that nobody reads", "logged, and it ends"},
               {"a full disk, or a file that cannot be opened or written", "the process fails"},
               {"a file that ends within a line", "logged, and that line is ended first"},
               {"a datagram that cannot be sent", "lost, counted and logged"},
               {"an address that is taken, or not one of this machine", "the process fails"}}};
  complaints left_out{*this, "left out"};
  complaints lost{*this, "lost", complaints::ledger::lost};
  std::optional<line_maker> maker;
  std::uint64_t gathered = 0;  // records of the text in hand

  void add(const record& r, std::string& text) {
    if (std::string why = maker->add(r, text); !why.empty()) return bad.add(std::move(why));
    if (maker->left_out() > 0)
      left_out.add("'" + maker->first_left_out() + "', which is none of the columns", maker->left_out());
  }

  // At least one record, and all that wait behind it, unless the next receive would acknowledge what is not
  // written yet. False: there are no more.
  bool gather(std::string& text, deadline until = deadline::never()) {
    std::optional<record> r;
    const recv_status s = values.recv(r, until);
    const bool more = !values.at_least_once();
    for (; r; r = more && text.size() < piece ? values.try_recv() : std::nullopt) {
      const std::size_t before = text.size();
      add(*r, text);
      gathered += text.size() > before;
    }
    return s == recv_status::received || s == recv_status::timeout;
  }

  std::string header_line() const { return *header ? maker->header() : std::string(); }

  // Write is given all lines, the header before the first.
  template <class Write>
  void write_all(bool with_header, Write write) {
    std::string text;
    while (gather(text)) {
      if (text.empty()) continue;
      if (std::exchange(with_header, false)) text.insert(0, header_line());
      write(text);
      forget(text);
    }
  }

  void write_standard() {
    try {
      net::stream out = net::open_standard(net::standard::output);
      return write_all(true, [&](const std::string& text) { out.write(text); });
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::broken_pipe)
        return log_warning("stock", "{}: nobody reads stdout any more", name());
      if (e.code() != std::errc::operation_not_permitted) throw std::system_error(e.code(), "stdout");
    }
    write_all(true, [](const std::string& text) { write_plain(1, text); });
  }

  void write_file(const line_endpoint& where) {
    using net::open_mode;
    net::file f(where.path, open_mode::read | open_mode::write | open_mode::create |
                                (*append ? open_mode::create : open_mode::truncate));
    const std::uint64_t size = f.size();
    char last = '\n';
    if (size > 0) (void)f.read_at(size - 1, {&last, 1});
    if (last != '\n') {
      log_warning("stock", "{}: {} ends within a line, which ends now", name(), where.path);
      f.append("\n");
    }
    write_all(size == 0, [&](const std::string& text) { f.append(text); });
  }

  // Until there is a connection; again: after a pause. False: nothing is left to write, or it was stopped.
  bool connect(link& l, std::string& text, bool again) {
    for (; again || !l.open(); again = false) {
      for (const deadline next = l.pause(); !next.expired();) {
        if (*away == while_away::drop && !text.empty()) drop(text, "there was no connection");
        if (!text.empty()) {
          if (sleep_until(next.at()) == sleep_result::stopped) return false;
        } else if (!gather(text, next)) {
          return false;
        }
      }
    }
    return true;
  }
  void drop(std::string& text, std::string why) {
    lost.add(std::move(why), gathered);
    forget(text);
  }
  void forget(std::string& text) {
    text.clear();
    gathered = 0;
  }

  // True: nothing is left to write, or it was stopped. False: the connection is lost, and the text, or a part
  // of it, may not have come through.
  bool write_on(net::stream& s, std::string& text, std::string& why) {
    const ear hears(s);
    for (bool fresh = true;;) {
      if (text.empty() && !gather(text)) return true;
      if (text.empty()) continue;
      if (hears.gone()) {
        why = "it was closed";
        return false;
      }
      std::error_code ec;
      if (fresh) s.write(header_line(), ec, *links.timeout);
      if (!ec) s.write(text, ec, *links.timeout);
      if (ec) {
        why = ec.message();
        return stop_requested();
      }
      fresh = false;
      forget(text);
    }
  }

  void write_link(const line_endpoint& where) {
    std::string text, why;
    link l(*this, where, links);
    for (bool again = false; connect(l, text, again); again = true) {
      const time_point begin = leat::now();
      if (write_on(l.stream(), text, why)) return;
      if (leat::now() - begin >= *links.retry) l.worked();
      l.lost(why);
    }
  }

  void write_to_peer(net::stream& peer, const in<shared_lines>& lines) const {
    struct account {
      const line_writer& owner;
      const std::string peer;
      const in<shared_lines>& lines;
      ~account() {
        if (const std::uint64_t missed = lines.stats().dropped)
          log_warning("stock", "{}: {} was too slow for {} lines", owner.name(), peer, missed);
      }
    } at_end{*this, peer.peer().text(), lines};
    const ear hears(peer);
    for (bool fresh = true; !hears.gone();) {
      std::optional<shared_lines> next;
      const recv_status s = lines.recv(next, 1s);
      if (s == recv_status::timeout) continue;
      if (!next) return;
      if (std::exchange(fresh, false)) peer.write(*next->header, *links.timeout);
      peer.write(*next->text, *links.timeout);
    }
  }

  void write_peers(const line_endpoint& where) {
    net::listener at = net::listen(where.address);
    log_info("stock", "{}: listens on {}", name(), at.local().text());
    const auto most = static_cast<std::size_t>(*behind);
    const channel<shared_lines> lines(broadcast, most, {.full = full::drop_oldest});
    wait_group here;
    auto server = spawn("lines", [&] {
      net::serve(at,
                 [&](net::stream& peer) {
                   const in<shared_lines> mine = lines.subscribe(most, full::drop_oldest);
                   here.add();
                   struct leaving {
                     wait_group& from;
                     ~leaving() { from.done(); }
                   } end{here};
                   write_to_peer(peer, mine);
                 },
                 {.limit = static_cast<std::size_t>(*peers),
                  .name = "line peer",
                  .per_address = places_per_address(*per_address, *peers)});
    });
    auto head = std::make_shared<const std::string>();
    for (const record& r : taken(this, values)) {
      if (server.done()) return server.get();
      std::string text;
      add(r, text);
      if (text.empty()) continue;
      if (head->empty()) head = std::make_shared<const std::string>(header_line());
      if (lines.send({head, std::make_shared<const std::string>(std::move(text))}) == send_status::stopped)
        return;
    }
    lines.close();
    if (!stop_requested()) (void)here.wait_until(*links.timeout);
  }

  void write_datagrams(const line_endpoint& where) {
    net::udp_socket s = net::dial_udp(where.address, *links.timeout);
    for (const record& r : values) {
      std::string text;
      add(r, text);
      if (text.empty()) continue;
      std::error_code ec;
      s.send(text, ec, *links.timeout);
      const bool again = stop_requested() && values.holds_last();
      if (ec && !again) lost.add(stop_requested() ? "it was stopped" : ec.message());
      if (stop_requested()) return;
    }
  }

  void run() override {
    // What was taken and not written, by a stop, a failure or because nobody reads it. Of the first two, what is
    // delivered at least once comes again.
    struct account {
      line_writer& of;
      const int throwing = std::uncaught_exceptions();
      ~account() {
        const bool failed = std::uncaught_exceptions() > throwing;
        if (of.gathered == 0 || ((failed || stop_requested()) && of.values.at_least_once())) return;
        of.lost.add(stop_requested() ? "it was stopped"
                    : failed         ? "it failed"
                                     : "nobody takes it",
                    of.gathered);
      }
    } at_end{*this};
    write();
  }

  void write() {
    const line_endpoint where = parse_endpoint("to", *to, direction::write);
    maker.emplace(format.checked(), *field);
    switch (where.medium) {
      case medium::standard: return write_standard();
      case medium::file: return write_file(where);
      case medium::serial:
      case medium::tcp:
      case medium::unix_socket: return write_link(where);
      case medium::tcp_listen:
      case medium::unix_listen: return write_peers(where);
      case medium::udp: return write_datagrams(where);
    }
  }
};
LEAT_PROCESS_AS("line-writer", line_writer, "writes each record as a line to a file, a port, a connection");
LEAT_USES_OUTSIDE("line-writer", outside::device, "it writes to a file, a port or a connection");

}  // namespace
}  // namespace leat::stock
