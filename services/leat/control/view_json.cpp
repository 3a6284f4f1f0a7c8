// SPDX-License-Identifier: BSL-1.0
#include <leat/control/view_json.hpp>

#include <leat/control/json_writer.hpp>

namespace leat::control {
namespace {

void write(json_writer& w, const process_view& p) {
  w.object([&] {
    w.member("name", p.name);
    w.member("process", p.process);
    w.member("replica", p.replica);
    w.member("service", p.service);
    w.member("class", p.type);
    w.member("at", p.at);
    w.member("state", p.state);
    if (p.waits) {
      w.object("waits", [&] {
        w.member("for", p.waits->reason);
        w.member("channel", p.waits->channel);
        w.member("peer", p.waits->peer);
        w.member("since", p.waits->since);
      });
    } else {
      w.member_null("waits");
    }
    w.member("incarnation", p.incarnation);
    w.member("restarts", p.restarts);
    w.member("failures", p.failures);
    w.member("overruns", p.overruns);
    w.member("quarantined", p.quarantined);
    w.member("redelivered", p.redelivered);
    w.member("dead_letters", p.dead_letters);
    if (p.last_failure) {
      w.object("last_failure", [&] {
        w.member("text", p.last_failure->text);
        w.member("ago", p.last_failure->ago);
      });
    } else {
      w.member_null("last_failure");
    }
    w.member("cpu", p.cpu);
    w.member("critical", p.critical);
    w.member("in", p.in);
    w.member("out", p.out);
    w.member("live", p.live);
  });
}

void write(json_writer& w, const channel_view& c) {
  w.object([&] {
    w.member("name", c.name);
    w.member("reader", c.reader);
    w.member("at", c.at);
    w.member("message", c.message);
    w.member("capacity", c.capacity);
    w.member("length", c.length);
    w.member("full", c.full);
    w.member("copy", c.copy);
    w.member("kind", c.kind);
    w.member("sent", c.sent);
    w.member("received", c.received);
    w.member("dropped", c.dropped);
    w.member("refused", c.refused);
    w.member("lost", c.lost);
    w.member("rejected", c.rejected);
    w.member("injected", c.injected);
    w.member("high_water", c.high_water);
    w.member("rate_in", c.rate_in);
    w.member("rate_out", c.rate_out);
    w.member("rate_dropped", c.rate_dropped);
    if (c.rate_out > 0 || c.length == 0)
      w.member("wait", c.length == 0 ? 0.0 : static_cast<double>(c.length) / c.rate_out);
    else
      w.member_null("wait");
    w.member("full_for", c.full_for);
    w.member("senders_blocked", c.senders_blocked);
    w.member("writers", c.writers);
    w.member("readers", c.readers);
    if (!c.store) return;
    w.object("store", [&] {
      w.member("values", c.store->values);
      w.member("bytes", c.store->bytes);
      w.member("restored", c.store->restored);
      w.member("written", c.store->written);
      w.member("unreadable", c.store->unreadable);
      w.member("failures", c.store->failures);
      w.member("failing", c.store->failing);
    });
  });
}

void write(json_writer& w, const blame_view& b) {
  w.object([&] {
    w.member("culprit", b.culprit);
    w.member("class", b.type);
    w.member("at", b.at);
    w.member("victims", b.victims);
    w.member("channel", b.channel);
    w.member("full_for", b.full_for);
    w.member("kind", b.kind);
    w.member("doing", b.doing);
    w.member("share", b.share);
    w.member("text", b.text);
  });
}

}  // namespace

std::string to_json(const deployment_view& v, bool may_change) {
  json_writer w;
  w.object([&] {
    w.member("leat", v.version);
    w.member("api", 1);
    w.member("deployment", v.name);
    w.member("pid", v.pid);
    w.list("files", [&] {
      for (const file_view& f : v.files)
        w.object([&] {
          w.member("path", f.path);
          w.member("digest", f.digest);
        });
    });
    w.member("since", v.since);
    w.member("uptime", v.uptime);
    w.member("at", v.uptime);
    w.member("phase", v.phase);
    w.member("healthy", v.healthy);
    w.member("why", v.why);
    w.member("may_change", may_change);
    w.object("runtime", [&] {
      w.member("procs", v.runtime.procs);
      w.member("threads", v.runtime.threads);
      w.member("fenced", v.runtime.fenced);
      w.member("frozen", v.runtime.frozen);
      w.member("gs", v.runtime.gs);
      w.member("cpu", v.runtime.cpu);
      w.member("rss", v.runtime.rss);
      if (const auto delay = v.runtime.delay.recent())
        w.object("delay", [&] {
          w.member("p50", delay->p50);
          w.member("p99", delay->p99);
        });
      else
        w.member_null("delay");
    });
    w.list("services", [&] {
      for (const service_view& s : v.services)
        w.object([&] {
          w.member("name", s.name);
          w.member("phase", s.phase);
          w.member("alive", s.alive);
        });
    });
    w.list("processes", [&] {
      for (const process_view& p : v.processes) write(w, p);
    });
    w.list("channels", [&] {
      for (const channel_view& c : v.channels) write(w, c);
    });
    w.list("blame", [&] {
      for (const blame_view& b : v.blame) write(w, b);
    });
  });
  return w.take();
}

}  // namespace leat::control
