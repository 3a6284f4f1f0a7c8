// SPDX-License-Identifier: BSL-1.0
#include <leat/services/controls.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <leat/config/suggest.hpp>
#include <leat/control/json_writer.hpp>
#include <leat/expression/expression.hpp>
#include <leat/process/message.hpp>
#include <leat/process/record.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/time.hpp>

namespace leat::services {

using control::json_writer;
using control::outcome;
using control::refused;

namespace {

constexpr std::size_t tap_room = 1024;
constexpr std::size_t most_dumped = std::size_t{16} << 20;

// Of an expression that somebody at the door wants: it takes little of the service.
constexpr std::size_t filter_text = std::size_t{64} << 10, filter_keys = 64, filter_memories = 16,
                      filter_remembers = std::size_t{2} << 20;

}  // namespace

outcome controls::no_such(const char* what, std::string_view name,
                          const std::vector<std::string>& there) const {
  std::string several;
  for (const std::string& full : there)
    if (full.ends_with('/' + std::string(name))) several += (several.empty() ? "'" : ", '") + full + "'";
  if (!several.empty())
    return refused("404 Not Found", std::string("which ") + what + " '" + std::string(name) +
                                        "' is meant is not clear: name its service, too: " + several);
  std::vector<std::string_view> names(there.begin(), there.end());
  return refused("404 Not Found", std::string("there is no ") + what + " '" + std::string(name) + "'" +
                                      config::did_you_mean(config::nearest(name, names)));
}

std::vector<std::size_t> controls::replicas_named(std::string_view name) const {
  const std::vector<std::string>& names = observer_.names();
  std::vector<std::size_t> exact, by_process, by_short;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const config::process_plan& p = host_.plan().processes[process_of_[i]];
    if (names[i] == name) exact.push_back(i);
    if (host_.plan().full_name(p) == name) by_process.push_back(i);
    if (p.name == name) by_short.push_back(i);
  }
  if (!exact.empty()) return exact;
  if (!by_process.empty()) return by_process;
  // Without its service only if no other service has one.
  for (const std::size_t i : by_short)
    if (process_of_[i] != process_of_[by_short.front()]) return {};
  return by_short;
}

std::vector<std::string> controls::process_names() const {
  std::vector<std::string> all;
  for (const config::process_plan& p : host_.plan().processes) all.push_back(host_.plan().full_name(p));
  return all;
}

std::vector<std::string> controls::channel_names() const {
  std::vector<std::string> all;
  for (const config::channel_plan& c : host_.plan().channels) all.push_back(host_.plan().full_name(c));
  return all;
}

std::optional<config::index> controls::channel_named(std::string_view name) const {
  const std::vector<config::channel_plan>& all = host_.plan().channels;
  std::optional<config::index> by_short;
  for (config::index i = 0; i < all.size(); ++i) {
    if (host_.plan().full_name(all[i]) == name) return i;
    if (all[i].name != name) continue;
    if (by_short) return std::nullopt;
    by_short = i;
  }
  return by_short;
}

outcome controls::process(std::string_view name) {
  const std::vector<std::size_t> found = replicas_named(name);
  if (found.empty()) return no_such("process", name, process_names());
  const config::process_plan& p = host_.plan().processes[process_of_[found.front()]];
  const std::shared_ptr<const value> changed = host_.settings(process_of_[found.front()]).all_set();
  json_writer w;
  w.object([&] {
    w.member("name", observer_.names()[found.front()]);
    w.member("class", p.type->name);
    w.member("at", host_.plan().where(p.at));
    w.list("settings", [&] {
      for (const setting_schema& s : p.type->settings) {
        const value* v = changed ? changed->find(s.name) : nullptr;
        if (!v) v = p.settings.find(s.name);
        const value shown = v ? shown_value(s, *v) : value();
        w.object([&] {
          w.member("name", s.name);
          w.member("text", v ? to_text(shown) : std::string());
          const value_kind kind = shown.kind();
          if (kind == value_kind::none)
            w.member_null("value");
          else if (kind == value_kind::boolean || kind == value_kind::integer || kind == value_kind::real)
            w.member_raw("value", to_text(shown));
          else if (kind == value_kind::text)
            w.member("value", shown.get<std::string>());
          else
            w.member("value", to_text(shown));
          w.member("live", s.live);
          w.member("secret", s.secret);
          w.member("help", s.help);
        });
      }
    });
    w.list("ports", [&] {
      for (const config::port_plan& port : p.ports)
        w.object([&] {
          w.member("name", port.schema->name);
          w.member("direction", to_string(port.schema->direction));
          w.list("channels", [&] {
            for (const config::index c : port.channels)
              w.element(host_.plan().full_name(host_.plan().channels[c]));
          });
        });
    });
    w.member("trace", observer_.trace(found.front()));
  });
  return {"200 OK", w.take()};
}

std::string dump_text(std::size_t most) {
  struct file {
    int fd = ::memfd_create("leat-dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ~file() {
      if (fd >= 0) (void)::close(fd);
    }
  } const to;
  // It does not grow beyond this: a write that would be refused ends the dump.
  if (to.fd < 0 || ::ftruncate(to.fd, static_cast<off_t>(most)) != 0 ||
      ::fcntl(to.fd, F_ADD_SEALS, F_SEAL_GROW) != 0)
    return "the dump cannot be kept; SIGQUIT writes it to standard error\n";
  leat::dump_in_full(to.fd);
  const off_t end = ::lseek(to.fd, 0, SEEK_CUR);
  std::string text(static_cast<std::size_t>(std::max<off_t>(end, 0)), '\0');
  const ssize_t n = ::pread(to.fd, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  constexpr std::size_t longest_piece = 4096;
  if (text.size() + longest_piece > most)
    text += "it ends here, for its size; SIGQUIT writes all of it to standard error\n";
  return text;
}

// It reads files and takes locks, and for many Gs it takes its time.
std::string controls::dump() {
  return leat::blocking([] { return dump_text(most_dumped); });
}

std::unique_ptr<csp::tap_view> controls::tap(std::string& name, double most_per_second, outcome& why) {
  const std::optional<config::index> c = channel_named(name);
  if (!c) {
    why = no_such("channel", name, channel_names());
    return nullptr;
  }
  name = host_.plan().full_name(host_.plan().channels[*c]);
  const any_channel& channel = host_.wires().whole(*c);
  if (!channel.type().write_json) {
    why = refused("409 Conflict", "the values of channel '" + name + "' (" +
                                      describe_content(channel.type()) + ") have no text");
    return nullptr;
  }
  auto view = csp::tap::look(channel.state(), channel.type().write_json, tap_room, most_per_second);
  if (!view)
    why = refused("503 Service Unavailable", "too many look into channel '" + name + "' already (" +
                                                 std::to_string(csp::tap::most_views) + ")");
  return view;
}

control::tap_filter controls::filter(std::string_view text, std::size_t of, outcome& why) {
  const expression::compiled made =
      expression::compile(text, {.wanted = expression::truth,
                                 .most_keys = filter_keys,
                                 .longest_text = filter_text,
                                 .most_memories = filter_memories,
                                 .most_remembered = filter_remembers / std::max<std::size_t>(of, 1)});
  if (!made.result) {
    const expression::wrong_part& w = made.found.front();
    control::json_writer j;
    j.object([&] {
      j.member("error", "where: " + expression::render(text, w));
      j.member("offset", w.offset);
      j.member("length", w.length);
    });
    why = {"400 Bad Request", j.take()};
    return {};
  }
  // std::function wants what can be copied.
  return [run = std::make_shared<expression::evaluator>(made.result)](std::string_view value) {
    record r;
    try {
      // What is no object has the name `value`.
      r = value.starts_with('{') ? from_json<record>(value)
                                 : from_json<record>("{\"value\":" + std::string(value) + '}');
    } catch (const message_error&) {
      return false;
    }
    return run->is_true(r, {.now = moment_now()});
  };
}

}  // namespace leat::services
