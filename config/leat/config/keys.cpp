// SPDX-License-Identifier: BSL-1.0
#include <leat/config/keys.hpp>

#include <chrono>
#include <iterator>
#include <utility>

#include <leat/base/check.hpp>

namespace leat::config {

namespace {

using namespace std::chrono_literals;
using kind = setting_kind;
using names = std::vector<std::string>;

value size_of(std::uint64_t bytes) { return value(byte_size{bytes}); }
constexpr std::uint64_t kilo = 1024, mega = 1024 * kilo;

template <std::size_t N>
names to_names(const std::string_view (&list)[N]) {
  return names(std::begin(list), std::end(list));
}

setting_schema with_help(setting_schema s, const char* help) {
  s.help = help;
  return s;
}
key_info setting(setting_schema s, std::string_view otherwise, const char* help) {
  return {key_shape::setting, with_help(std::move(s), help), {}, otherwise};
}
key_info setting(setting_schema s, const char* help) { return setting(std::move(s), {}, help); }
key_info word_or(std::string_view word, setting_schema s, const char* help) {
  return {key_shape::word_or, with_help(std::move(s), help), word, {}};
}
key_info special(key_shape shape, const char* name, std::string_view otherwise, const char* help) {
  return {shape, setting_schema{.name = name, .kind = kind::structure, .help = help}, {}, otherwise};
}

setting_schema duration(const char* name, nanoseconds least, nanoseconds most) {
  return {.name = name, .kind = kind::duration, .least = value(least), .most = value(most)};
}
setting_schema integer(const char* name, std::int64_t least, std::int64_t most) {
  return {.name = name, .kind = kind::integer, .least = value(least), .most = value(most)};
}
setting_schema boolean(const char* name) { return {.name = name, .kind = kind::boolean}; }
setting_schema choice(const char* name, names among) {
  return {.name = name, .kind = kind::enumeration, .names = std::move(among)};
}
setting_schema text(const char* name) { return {.name = name, .kind = kind::text}; }
template <class T>
setting_schema operator|(setting_schema s, T default_value) {
  s.default_value = value(std::move(default_value));
  return s;
}

setting_schema stack(const char* name) {
  return {.name = name, .kind = kind::size, .least = size_of(16 * kilo), .most = size_of(8 * mega)};
}

// The fields have no defaults here: what a process leaves out is the supervisor's.
setting_schema restart() {
  setting_schema backoff{.name = "backoff", .kind = kind::list};
  backoff.element.push_back(duration("", 0ns, 1h));
  setting_schema s{.name = "restart", .kind = kind::structure};
  s.fields.push_back(with_help(choice("when", {"always", "failure", "never"}),
                               "after which ends it is started again; default failure"));
  s.fields.push_back(with_help(choice("strategy", {"one-for-one", "one-for-all", "rest-for-one"}),
                               "what is restarted with it: nothing, all of the service, those that come "
                               "after it; default one-for-one"));
  s.fields.push_back(with_help(integer("burst", 0, 1'000'000), "most restarts in `window`; default 5"));
  s.fields.push_back(with_help(duration("window", 1ms, 24h), "default \"60s\""));
  s.fields.push_back(
      with_help(std::move(backoff),
                "first and longest pause before a restart; it doubles; default [\"100ms\", \"10s\"]"));
  return s;
}

setting_schema thread() {
  setting_schema s{.name = "thread", .kind = kind::structure};
  s.fields.push_back(with_help(boolean("own") | false, "a thread of its own"));
  s.fields.push_back(with_help(integer("cpu", 0, 1023), "pinned to this CPU; needs `own`"));
  s.fields.push_back(with_help(integer("priority", 1, 99), "SCHED_FIFO priority; needs `own`"));
  return s;
}

setting_schema memory() {
  setting_schema s{.name = "memory", .kind = kind::structure};
  s.fields.push_back(with_help(boolean("lock") | false, "keep all memory in RAM"));
  s.fields.push_back(
      with_help({.name = "max", .kind = kind::size, .least = size_of(64 * kilo)},
                "most that stacks, rings and pools may take together; looked at before the start"));
  return s;
}

std::vector<key_section> make_sections() {
  setting_schema services{.name = "services", .kind = kind::list};
  services.element.push_back(text(""));
  setting_schema plugins{.name = "plugins", .kind = kind::list};
  plugins.element.push_back(text(""));
  setting_schema cpus{.name = "cpus", .kind = kind::list};
  cpus.element.push_back(integer("", 0, 1023));
  setting_schema version = integer("leat", grammar_version, grammar_version);
  version.required = true;
  setting_schema use = text("use");
  use.required = true;
  constexpr std::string_view supervisor = "as in [supervisor]";

  std::vector<key_section> out;
  out.push_back({"",
                 "at the top",
                 {setting(version, "version of this grammar"),
                  setting(services, "service files of a deployment, relative to its own folder"),
                  setting(plugins,
                          "shared objects with process classes, relative to its own folder; loaded first, "
                          "also by a check"),
                  special(key_shape::section, "service", "", "the service that this file describes"),
                  special(key_shape::named_section, "process", "", "its processes"),
                  special(key_shape::named_section, "channel", "", "its channels"),
                  special(key_shape::section, "runtime", "", "the scheduler, once per deployment"),
                  special(key_shape::section, "supervisor", "", "defaults for all processes"),
                  special(key_shape::overrides, "override", "",
                          "`[override.SERVICE.process.NAME]`, `[override.SERVICE.channel.NAME]`, "
                          "`[override.SERVICE.service]`: keys that replace those of the service's file, "
                          "tables key by key")}});
  out.push_back({"service",
                 "[service]",
                 {setting(text("name"), "the file's name without .toml", "letters, digits, - and _"),
                  setting(duration("drain", 0ns, 24h) | 10s, "longest time to empty channels at shutdown")}});
  out.push_back(
      {"process",
       "[process.NAME]",
       {setting(use, "process class, by its registered name"),
        special(key_shape::class_config, "config", "",
                "the settings of the class; see `leat describe CLASS`"),
        special(key_shape::ports, "in", "",
                "port = channel, or a list of channels to read from; a channel is `\"name\"`, "
                "`\"process.port\"` (an unnamed channel) or `\"service/name\"`"),
        special(key_shape::ports, "out", "", "port = channel, or a list of channels to send to"),
        special(key_shape::maps, "map", "names as they are",
                "of a port for records: what the process calls a field = what the channel's messages call "
                "it; `map = { values = { value = \"celsius\" } }`"),
        setting(integer("replicas", 1, 65536) | 1, "so many run at once and share the ports"),
        setting(stack("stack"), "as in [runtime]", "stack of each replica"),
        setting(thread(), "own = false", "runs as a G among others unless it has a thread of its own"),
        setting(duration("hang", 1ms, 24h), supervisor, "longest run without entering the runtime"),
        setting(duration("grace", 0ns, 1h), supervisor, "from being asked to stop until it is thrown out"),
        setting(duration("watchdog", 1ms, 24h), supervisor, "longest time without receiving or sending"),
        setting(boolean("critical") | false, "the program counts as alive only while it makes progress"),
        setting(restart(), supervisor, "how it is restarted"),
        special(key_shape::deliveries, "delivery", "at-most-once",
                "`\"at-least-once\"`: a value that was being handled at a failure is handed out again; for "
                "all in ports, or a table by port"),
        setting(integer("attempts", 1, 1'000'000) | 3,
                "failures on one value before it is given up; with at-least-once"),
        setting(text("dead_letter"), "such values are logged", "channel for values that are given up")}});
  out.push_back(
      {"channel",
       "[channel.NAME]",
       {setting(text("type"), "what its ports say", "name of the message type; must agree with the ports"),
        setting(integer("capacity", 0, 1 << 24) | 64, "values it holds; 0: sender and receiver meet"),
        setting(choice("full", to_names(policy_names)) | "block", "what a send does when it is full"),
        setting(choice("fanout", {"compete", "copy"}) | "compete",
                "whether each value goes to one reader or to every reading process"),
        special(key_shape::policies, "reader", "as `full`",
                "with fanout = \"copy\": what happens when this reader (a process, a service, or "
                "`service/process`) is full"),
        setting(boolean("export") | false, "other services may read it as `\"service/name\"`")}});
  out.push_back(
      {"runtime",
       "[runtime]",
       {word_or("auto", integer("procs", 1, 1024), "P count; auto: the CPUs that it may use"),
        setting(integer("run_queue", 1, 1 << 20) | 256, "local queue capacity of a P"),
        word_or("auto", integer("spinning", 0, 1024), "most spinning Ms; auto: half of the busy Ps"),
        setting(integer("max_threads", 1, 1'000'000) | 10000, "most Ms"),
        setting(integer("max_quarantined", 0, 1'000'000) | 64,
                "most hung Gs taken away: kept stacks, frozen threads"),
        setting(duration("slice", 100us, 1h) | 10ms, "then the P is retaken"),
        setting(stack("stack") | byte_size{64 * kilo}, "default stack of a G"),
        setting(cpus, "as the process", "CPUs that the Ms may use"),
        setting(memory(), "no limit", "limits of memory"),
        word_or("off", duration("trace", 1ms, 24h), "a line about the scheduler, this often"),
        setting(duration("grace", 0ns, 1h) | 200ms, "for Gs that are left at the end"),
        setting(boolean("stack_census") | false, "measure stack use by name; costs a page fault per G")}});
  out.push_back(
      {"supervisor",
       "[supervisor]",
       {setting(duration("hang", 1ms, 24h) | 2s, "longest run without entering the runtime"),
        setting(duration("grace", 0ns, 1h) | 200ms, "from being asked to stop until it is thrown out"),
        setting(duration("watchdog", 1ms, 24h), "no limit", "longest time without receiving or sending"),
        setting(restart(), "when = \"failure\"", "how processes are restarted"),
        setting(choice("on_limit", {"stop-service", "exit"}) | "stop-service",
                "after more than `burst` restarts in `window`"),
        setting(choice("on_deadlock", {"report", "restart"}) | "report",
                "when processes wait only for one another")}});
  return out;
}

std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.insert(i, "\\");
  return text;
}

void append_row(std::string& out, const std::string& name, const std::string& type,
                const std::string& standard, const std::string& help) {
  out += "| `" + name + "` | " + cell(type) + " | " + cell(standard) + " | " + cell(help) + " |\n";
}

std::string default_text(const key_info& k) {
  if (k.shape == key_shape::word_or) return '`' + quoted(k.word) + '`';
  if (k.type.default_value) return '`' + to_text(k.type.default_value) + '`';
  if (k.type.required) return "must be given";
  return std::string(k.otherwise);
}

std::string type_text(const key_info& k) {
  switch (k.shape) {
    case key_shape::word_or: return describe_type(k.type) + " or " + quoted(k.word);
    case key_shape::class_config: return "table of the class's settings";
    case key_shape::ports: return "table of ports";
    case key_shape::policies: return "table of readers, each as `full`";
    case key_shape::deliveries: return "one of \"at-most-once\" \"at-least-once\", or a table of ports";
    case key_shape::maps: return "table of ports, each a table of fields";
    case key_shape::section: return "table";
    case key_shape::named_section: return "tables by name";
    case key_shape::overrides: return "tables by service";
    case key_shape::setting: break;
  }
  return k.type.kind == kind::structure ? "table" : describe_type(k.type);
}

}  // namespace

const key_info* key_section::find(std::string_view key) const noexcept {
  for (const key_info& k : keys)
    if (k.type.name == key) return &k;
  return nullptr;
}

const std::vector<key_section>& all_sections() {
  static const std::vector<key_section> sections = make_sections();
  return sections;
}

const key_section& section_of(std::string_view name) {
  for (const key_section& s : all_sections())
    if (s.name == name) return s;
  LEAT_UNREACHABLE("no such section of the grammar", "name", name);
}

std::string keys_markdown() {
  std::string out;
  for (const key_section& s : all_sections()) {
    out += "### " + (s.name.empty() ? "Top of a file" : '`' + std::string(s.heading) + '`') + "\n\n";
    out += "| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const key_info& k : s.keys) {
      append_row(out, k.type.name, type_text(k), default_text(k), k.type.help);
      if (k.shape != key_shape::setting) continue;
      for (const setting_schema& f : k.type.fields)
        append_row(out, k.type.name + '.' + f.name, describe_type(f),
                   f.default_value ? '`' + to_text(f.default_value) + '`' : "", f.help);
    }
    out += '\n';
  }
  return out;
}

}  // namespace leat::config
