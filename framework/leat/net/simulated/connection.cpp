// SPDX-License-Identifier: BSL-1.0
#include <leat/net/simulated/connection.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace leat::net::simulated {

std::int64_t connection::fails_at(int me) const noexcept {
  const end& e = ends_[me];
  return std::min({e.reset_due, e.out->gives_up_at(e.since), other(me).out->gives_up_at(e.since)});
}

int connection::failure(int me, std::int64_t now) noexcept {
  end& e = ends_[me];
  if (e.error == 0 && fails_at(me) <= now) e.error = e.reset_due <= now ? ECONNRESET : ETIMEDOUT;
  if (e.error == 0 || e.told) return 0;
  e.told = true;
  return e.error;
}

void connection::take_credits(end& e, std::int64_t now) noexcept {
  for (; !e.credits.empty() && e.credits.front().due <= now; e.credits.pop_front())
    e.unread -= e.credits.front().bytes;
}

ssize_t connection::read(int me, mutable_bytes into, std::int64_t now) {
  end& e = ends_[me];
  std::size_t n = 0;
  while (n < into.size && !e.incoming.empty() && e.incoming.front().due <= now) {
    segment& s = e.incoming.front();
    const std::size_t part = std::min(into.size - n, s.bytes.size() - s.read);
    std::memcpy(into.data + n, s.bytes.data() + s.read, part);
    s.read += part;
    n += part;
    if (s.read == s.bytes.size()) e.incoming.pop_front();
  }
  if (n > 0) {
    end& writer = other(me);
    std::int64_t due = e.out->carry_control(now);
    if (!writer.credits.empty()) due = std::max(due, writer.credits.back().due);
    // Those of one moment are one.
    if (!writer.credits.empty() && writer.credits.back().due == due)
      writer.credits.back().bytes += n;
    else
      writer.credits.push_back({due, n});
    return static_cast<ssize_t>(n);
  }
  if (e.reads_no_more || e.fin_due <= now) return 0;
  if (const int error = failure(me, now)) return -error;
  return e.error != 0 ? 0 : -EAGAIN;
}

std::int64_t connection::next_read(int me, std::int64_t now) const noexcept {
  const end& e = ends_[me];
  if (e.reads_no_more || has_failed(me, now)) return now;
  std::int64_t at = std::min(e.fin_due, fails_at(me));
  if (!e.incoming.empty()) at = std::min(at, e.incoming.front().due);
  return std::max(at, now);
}

ssize_t connection::write(int me, const_bytes from, std::int64_t now) {
  end& e = ends_[me];
  if (e.wrote_fin) return -EPIPE;
  if (!e.error && e.out->draw(e.out->rates().reset)) {
    ++e.out->counts().resets;
    reset(now);
  }
  if (const int error = failure(me, now)) return -error;
  if (e.error != 0) return -EPIPE;
  take_credits(e, now);
  const std::size_t n = std::min(from.size, window_ - std::min(window_, e.unread));
  if (n == 0) return -EAGAIN;
  end& reader = other(me);
  e.unread += n;
  e.out->counts().bytes += n;
  if (reader.closed) {
    send_reset(me, now, e.out->carry_control(now));
    return static_cast<ssize_t>(n);
  }
  const std::size_t most = e.out->limits_bandwidth() ? segment_size : n;
  for (std::size_t done = 0; done < n;) {
    const std::size_t part = std::min(most, n - done);
    e.last_due = std::max(e.last_due, e.out->carry(now, part));
    reader.incoming.push_back({e.last_due, std::string(from.data + done, part)});
    done += part;
  }
  return static_cast<ssize_t>(n);
}

std::int64_t connection::next_write(int me, std::int64_t now) const noexcept {
  const end& e = ends_[me];
  if (e.wrote_fin || has_failed(me, now)) return now;
  std::size_t out = e.unread;
  std::int64_t at = fails_at(me);
  for (const credit& c : e.credits) {
    if (c.due > now) {
      at = std::min(at, c.due);
      break;
    }
    out -= c.bytes;
  }
  return out < window_ ? now : std::max(at, now);
}

void connection::shutdown_write(int me, std::int64_t now) {
  end& e = ends_[me];
  if (e.wrote_fin) return;
  e.wrote_fin = true;
  if (e.error != 0) return;
  e.sent_fin = true;
  e.last_due = std::max(e.last_due, e.out->carry_control(now));
  other(me).fin_due = e.last_due;
}

// What leaves the end at `sent` is answered so when it comes to the other one at `arrives`.
void connection::send_reset(int to, std::int64_t sent, std::int64_t arrives) {
  end& e = ends_[to];
  const std::int64_t due = arrives == never ? never : other(to).out->carry_control(arrives);
  if (e.reset_wanted && e.reset_due <= due) return;
  e.reset_wanted = true;
  e.reset_cause = sent;
  e.reset_due = due;
}

void connection::close(int me, std::int64_t now) {
  end& e = ends_[me];
  if (e.closed) return;
  e.closed = true;
  if (!e.incoming.empty()) send_reset(1 - me, now, std::max(now, e.incoming.front().due));
  const bool arrived = !e.incoming.empty() && e.incoming.front().due <= now;
  e.incoming.clear();
  if (!arrived) shutdown_write(me, now);
  e.wrote_fin = true;
}

void connection::abort(int me, std::int64_t now) {
  end& e = ends_[me];
  e.closed = e.wrote_fin = true;
  e.incoming.clear();
  send_reset(1 - me, now, now);
}

void connection::vanish(int me, std::int64_t now) {
  end& e = ends_[me];
  if (e.closed) return;
  e.closed = e.wrote_fin = true;
  e.error = ECONNABORTED;
  const auto on_its_way =
      std::find_if(e.incoming.begin(), e.incoming.end(), [&](const segment& s) { return s.due > now; });
  if (on_its_way != e.incoming.end()) send_reset(1 - me, now, on_its_way->due);
  e.incoming.clear();
  const std::int64_t probe = now + probes_after;
  send_reset(1 - me, probe, other(me).out->carry_control(probe));
}

void connection::reset(std::int64_t now) noexcept {
  for (end& e : ends_) e.reset_due = std::min(e.reset_due, now);
}

void connection::reroute(std::int64_t now) {
  for (int i = 0; i < 2; ++i) {
    end& e = ends_[i];
    end& from = other(i);
    std::int64_t last = 0;
    for (segment& s : e.incoming) {
      if (s.due > now) s.due = std::max(last, from.out->carry(now, s.bytes.size()));
      last = s.due;
    }
    from.last_due = last;
    if (from.sent_fin && e.fin_due > now)
      from.last_due = e.fin_due = std::max(last, from.out->carry_control(now));
    last = 0;
    for (credit& c : e.credits) {
      if (c.due > now) c.due = std::max(last, from.out->carry_control(now));
      last = c.due;
    }
    // One that is lost is sent again for what it answers, which is sent again too.
    if (e.reset_wanted && e.reset_due > now) {
      const std::int64_t sent = std::max(now, e.reset_cause);
      const std::int64_t arrives = e.out->carry_control(sent);
      e.reset_due = arrives == never ? never : from.out->carry_control(arrives);
    }
  }
}

}  // namespace leat::net::simulated
