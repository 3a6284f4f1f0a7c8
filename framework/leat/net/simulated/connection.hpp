// SPDX-License-Identifier: BSL-1.0
//
// A simulated connection as TCP has it: two ends, bytes on their way, ends of streams, resets. Pure: no threads, no
// clocks. What is to be seen at an end is a function of the moment that is passed in; nothing happens by itself, so an
// end that has nothing to do asks when that may change (next_read, next_write), and sleeps until then or until the
// other end has done something.
//
// # Rules
// - An end may have `window` bytes out that the other has not read. The word that they were read takes its way back:
//   a reader that is slow, or far, stops the writer.
// - A read gets what has arrived, then the end (0) or the error, once; after an error reads get 0, writes EPIPE.
// - close with bytes unread, or on their way here, resets the other end; else it sees the end after the last byte.
// - vanish says nothing: the other end is half-open. It finds out when it sends (a reset comes back), or by the probe
//   that is sent after a minute of silence, or by its own deadline.
// - A cut in either direction that lasts for link::patience ends both: ETIMEDOUT.
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <leat/net/bytes.hpp>
#include <leat/net/simulated/link.hpp>

namespace leat::net::simulated {

class connection {
 public:
  static constexpr std::int64_t probes_after = 60'000'000'000;
  static constexpr std::size_t segment_size = 1460;  // where bandwidth makes a difference

  // `forth` carries from end 0 to end 1. Both outlive it.
  connection(link& forth, link& back, std::size_t window, std::int64_t now) noexcept
      : ends_{end(forth, now), end(back, now)}, window_(window) {}

  // Bytes, or less than 0: an error, negated (-EAGAIN: nothing yet).
  ssize_t read(int me, mutable_bytes into, std::int64_t now);
  ssize_t write(int me, const_bytes from, std::int64_t now);
  // When a call that says EAGAIN now may say something else; never: when the other end does something.
  std::int64_t next_read(int me, std::int64_t now) const noexcept;
  std::int64_t next_write(int me, std::int64_t now) const noexcept;

  void shutdown_write(int me, std::int64_t now);
  void shutdown_read(int me) noexcept { ends_[me].reads_no_more = true; }
  void close(int me, std::int64_t now);
  void vanish(int me, std::int64_t now);
  // A close that resets the other end.
  void abort(int me, std::int64_t now);
  // By what is between them: both are told at once.
  void reset(std::int64_t now) noexcept;
  // A link has been cut, or healed: what was on its way goes anew.
  void reroute(std::int64_t now);

  bool has_unread(int me, std::int64_t now) const noexcept {
    const end& e = ends_[me];
    return !e.incoming.empty() && e.incoming.front().due <= now;
  }
  bool runs_over(const link& l) const noexcept { return ends_[0].out == &l || ends_[1].out == &l; }

 private:
  struct segment {
    std::int64_t due;
    std::string bytes;
    std::size_t read = 0;
  };
  struct credit {
    std::int64_t due;
    std::size_t bytes;
  };
  struct end {
    end(link& l, std::int64_t now) noexcept : out(&l), since(now) {}

    link* out;                          // carries what it writes
    std::deque<segment> incoming = {};  // in the order of their arrival
    std::deque<credit> credits = {};    // what the other has read, on its way here
    std::size_t unread = 0;             // written by it and not known to be read
    std::int64_t last_due = 0;          // of what it has written: nothing overtakes it
    std::int64_t fin_due = never;       // the other's end of stream arrives here
    std::int64_t reset_due = never, reset_cause = 0;
    std::int64_t since;  // the connection's beginning
    bool reset_wanted = false;
    bool wrote_fin = false, sent_fin = false, reads_no_more = false, closed = false;
    int error = 0;
    bool told = false;
  };

  end& other(int me) noexcept { return ends_[1 - me]; }
  const end& other(int me) const noexcept { return ends_[1 - me]; }
  std::int64_t fails_at(int me) const noexcept;
  // The error that is to be told now, or 0.
  int failure(int me, std::int64_t now) noexcept;
  bool has_failed(int me, std::int64_t now) const noexcept {
    return ends_[me].error != 0 || fails_at(me) <= now;
  }
  void send_reset(int to, std::int64_t sent, std::int64_t arrives);
  void take_credits(end& e, std::int64_t now) noexcept;

  end ends_[2];
  const std::size_t window_;
};

}  // namespace leat::net::simulated
