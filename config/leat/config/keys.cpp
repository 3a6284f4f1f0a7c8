// SPDX-License-Identifier: BSL-1.0
#include <leat/config/keys.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include <leat/base/check.hpp>
#include <leat/base/full.hpp>
#include <leat/base/runtime_keys.hpp>

namespace leat::config {

namespace {

using namespace std::chrono_literals;
using kind = value_kind;
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
  return {shape, setting_schema{.name = name, .kind = kind::table, .help = help}, {}, otherwise};
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
  return {.name = name,
          .kind = kind::size,
          .least = size_of(runtime_options::min_stack),
          .most = size_of(runtime_options::max_stack)};
}

// The fields have no defaults here: what a process leaves out is the supervisor's.
setting_schema restart() {
  setting_schema backoff{.name = "backoff", .kind = kind::list};
  backoff.element.push_back(duration("", 0ns, 1h));
  setting_schema s{.name = "restart", .kind = kind::table};
  s.fields.push_back(with_help(choice("when", {"always", "failure", "never"}),
                               "after which ends it is started again; default failure"));
  s.fields.push_back(with_help(choice("strategy", {"one-for-one", "one-for-all", "rest-for-one"}),
                               "what is restarted with it: nothing, all of the service, those that come "
                               "after it; default one-for-one"));
  s.fields.push_back(with_help(integer("burst", 0, 1'000'000), "most restarts in `window`; default 30"));
  s.fields.push_back(with_help(duration("window", 1ms, 24h), "default \"5m\""));
  s.fields.push_back(
      with_help(std::move(backoff),
                "first and longest pause before a restart; it doubles; default [\"100ms\", \"10s\"]"));
  return s;
}

setting_schema thread() {
  setting_schema s{.name = "thread", .kind = kind::table};
  s.fields.push_back(with_help(boolean("own") | false, "a thread of its own"));
  s.fields.push_back(with_help(integer("cpu", 0, 1023), "pinned to this CPU; needs `own`"));
  s.fields.push_back(with_help(integer("priority", 1, 99), "SCHED_FIFO priority; needs `own`"));
  return s;
}

setting_schema state() {
  setting_schema s{.name = "state", .kind = kind::table};
  setting_schema folder = text("folder");
  folder.required = true;
  s.fields.push_back(
      with_help(std::move(folder), "where; made if it is not there, and one program's at a time"));
  s.fields.push_back(with_help(duration("every", 0ns, 24h) | 1s,
                               "a state that is saved more often is written so often; and at the end"));
  return s;
}

std::string validate_sync(const std::string& given) {
  if (given == "each" || given == "never") return {};
  const std::optional<nanoseconds> d = parse_duration(given).value;
  return d && *d >= 1ms && *d <= 1h ? "" : "must be \"each\", \"never\" or a duration from \"1ms\" to \"1h\"";
}

setting_schema store() {
  setting_schema s{.name = "store", .kind = kind::table};
  setting_schema folder = text("folder"), sync = text("sync") | "1s";
  folder.required = true;
  sync.validate_text = validate_sync;
  s.fields.push_back(
      with_help(std::move(folder), "where; made if it is not there, and one program's at a time"));
  setting_schema max{
      .name = "max", .kind = kind::size, .least = size_of(4 * kilo), .most = size_of(mega * mega)};
  s.fields.push_back(with_help(std::move(max) | byte_size{64 * mega}, "bytes of values that it holds"));
  s.fields.push_back(with_help(choice("full", {"block", "drop-oldest"}) | "block",
                               "what a send does when it holds that much"));
  s.fields.push_back(
      with_help(std::move(sync),
                "how old a value may get before it is on the disk; \"each\": a send returns when it "
                "is, \"never\": as the system likes"));
  return s;
}

setting_schema memory() {
  setting_schema s{.name = "memory", .kind = kind::table};
  s.fields.push_back(with_help(boolean("lock") | false, "keep all memory in RAM"));
  s.fields.push_back(
      with_help({.name = "max", .kind = kind::size, .least = size_of(64 * kilo)},
                "most that stacks, rings and pools may take together; looked at before the start"));
  return s;
}

// A function for each: one for all would need more than the stack of a G where sanitizers widen frames.
[[gnu::noinline]] key_section top_section() {
  setting_schema plugins{.name = "plugins", .kind = kind::list};
  plugins.element.push_back(text(""));
  setting_schema version = integer("leat", grammar_version, grammar_version);
  version.required = true;
  return {
      "",
      "at the top",
      {setting(version, "version of this grammar"),
       special(key_shape::services, "services", "",
               "service files of a deployment, relative to its own folder; `{ file = \"plant.toml\", name = "
               "\"north\", with = { bus = \"/dev/ttyS1\" } }` is a use of a file under another name and with "
               "parameters"),
       setting(plugins,
               "shared objects with process classes, relative to its own folder; loaded first, "
               "also by a check"),
       special(key_shape::section, "service", "", "the service that this file describes"),
       special(key_shape::named_section, "process", "", "its processes"),
       special(key_shape::named_section, "channel", "", "its channels"),
       special(key_shape::named_section, "template", "",
               "processes and channels to be used several times; see [templates.md](templates.md)"),
       special(key_shape::named_section, "simulate", "",
               "stand-ins that `leat simulate` uses instead of processes; NAME is a process of this file, or "
               "`\"service/process\"`; `*` stands for any characters"),
       special(key_shape::uses, "use", "", "`[use.TEMPLATE.NAME]`: a use of a template, with its parameters"),
       special(key_shape::section, "runtime", "", "the scheduler, once per deployment"),
       special(key_shape::section, "supervisor", "", "defaults for all processes"),
       special(key_shape::section, "control", "", "how the running deployment is seen and steered"),
       special(key_shape::overrides, "override", "",
               "`[override.SERVICE.process.NAME]`, `[override.SERVICE.channel.NAME]`, "
               "`[override.SERVICE.service]`: keys that replace those of the service's file, "
               "tables key by key; `unset = [\"config.window\"]` in one takes keys away; `*` in a name "
               "stands for any characters")}};
}

[[gnu::noinline]] key_section service_section() {
  return {"service",
          "[service]",
          {setting(text("name"), "the file's name without .toml", "letters, digits, - and _"),
           setting(duration("drain", 0ns, 24h) | 10s, "longest time to empty channels at shutdown"),
           special(key_shape::parameters, "param", "none",
                   "parameters of the file, as of a template; a deployment gives them by `with`")}};
}

[[gnu::noinline]] key_section template_section() {
  return {
      "template",
      "[template.NAME]",
      {special(
           key_shape::parameters, "param", "none",
           "parameter = its type, or `{ type = \"number\", default = 1.0, help = \"...\" }`; `\"${NAME}\"` "
           "in the template is what a use gives for it"),
       special(key_shape::named_section, "process", "", "its processes, as `[template.NAME.process.NAME]`"),
       special(key_shape::named_section, "channel", "", "its channels, as `[template.NAME.channel.NAME]`"),
       special(key_shape::named_section, "simulate", "",
               "stand-ins of its processes, as `[template.NAME.simulate.NAME]`")}};
}

[[gnu::noinline]] key_section use_section() {
  setting_schema each{.name = "for_each", .kind = kind::list};
  return {
      "use",
      "[use.TEMPLATE.NAME]",
      {setting(each, "one use, called NAME",
               "a use for each element: a name, or a table with `name` and parameters; all other keys of the "
               "table are parameters")}};
}

[[gnu::noinline]] key_section process_section() {
  setting_schema use = text("use");
  use.required = true;
  constexpr std::string_view supervisor = "as in [supervisor]";
  constexpr std::string_view longest = "as in [supervisor], or as the class asks, if longer";
  return {
      "process",
      "[process.NAME]",
      {setting(use, "process class, by its registered name"),
       setting(boolean("enabled") | true,
               "false: it is not there, nor are channels that nobody else has to do with"),
       special(key_shape::class_config, "config", "", "the settings of the class; see `leat describe CLASS`"),
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
       setting(duration("hang", 1ms, 24h), longest, "longest run without entering the runtime"),
       setting(duration("grace", 0ns, 1h), longest, "from being asked to stop until it is thrown out"),
       setting(duration("watchdog", 1ms, 24h), longest, "longest time without receiving or sending"),
       setting(boolean("critical") | false, "the program counts as alive only while it makes progress"),
       setting(restart(), supervisor, "how it is restarted"),
       special(key_shape::deliveries, "delivery", "at-most-once",
               "`\"at-least-once\"`: a value that was being handled at a failure is handed out again; for "
               "all in ports, or a table by port"),
       setting(integer("attempts", 1, 1'000'000) | 3,
               "failures on one value before it is given up; with at-least-once"),
       setting(state(), "as long as the service",
               "what it saves in its `leat::state`s is written to files, and loaded at the next start"),
       setting(text("dead_letter"), "such values are logged", "channel for values that are given up")}};
}

[[gnu::noinline]] key_section simulate_section() {
  return {"simulate",
          "[simulate.NAME]",
          {setting(text("use"), "as the process", "the class that stands in for it"),
           setting(boolean("enabled"), "as the process", "false: in a simulation the process is not there"),
           special(key_shape::class_config, "config", "", "the settings of that class"),
           special(key_shape::ports, "in", "ports of the same name",
                   "port = channel, as of a process; a port that the class does not have is let go"),
           special(key_shape::ports, "out", "ports of the same name", "the same"),
           special(key_shape::maps, "map", "as of the process", "the same, of ports for records")}};
}

[[gnu::noinline]] key_section channel_section() {
  return {
      "channel",
      "[channel.NAME]",
      {setting(text("type"), "what its ports say", "name of the message type; must agree with the ports"),
       setting(integer("capacity", 0, 1 << 24) | 64,
               "values it holds, with `key` for each replica; 0: sender and receiver meet"),
       setting(choice("full", to_names(full_names)) | "block", "what a send does when it is full"),
       setting(text("key"), "none",
               "field of its messages, as `\"sensor\"` or `\"where.room\"`: values of one key go to one "
               "replica of "
               "a reader, in order; with full = \"latest\" the latest of each key is kept"),
       setting(integer("keys", 1, 1 << 20) | 1024,
               "with `key` and full = \"latest\": so many keys have a value at once, for each replica; with "
               "one more "
               "the value that has waited longest is dropped"),
       setting(choice("fanout", {"compete", "copy"}) | "compete",
               "whether each value goes to one reader or to every reading process"),
       special(key_shape::policies, "reader", "as `full`",
               "with fanout = \"copy\": what happens when this reader (a process, a service, or "
               "`service/process`) is full"),
       setting(boolean("export") | false, "other services may read it as `\"service/name\"`"),
       setting(boolean("inject") | false,
               "`leat inject` may send into it although it has one writer and one reader, which costs each "
               "value some nanoseconds; channels with more take injected values anyway"),
       setting(store(), "in memory",
               "values outlive the program: kept in a file until a reader has acknowledged them; see "
               "[stores.md](stores.md)"),
       setting(choice("unknown", {"drop", "error"}), "drop, with a warning",
               "fields of a record that its message does not have: left out, counted and logged once, or the "
               "record is refused and its sender fails")}};
}

template <class T>
key_info key_of(const runtime_key<T>& key) {
  using limit = typename runtime_key<T>::limit;
  const auto value_of = [&](const limit& l) {
    if constexpr (std::is_same_v<limit, std::optional<bool>> ||
                  std::is_same_v<limit, std::optional<nanoseconds>>) {
      return value(*l);
    } else {
      return key.kind == kind::size ? size_of(*l) : value(static_cast<std::int64_t>(*l));
    }
  };
  setting_schema s{.name = key.name, .kind = key.kind};
  if (key.least) s.least = value_of(key.least);
  if (key.most) s.most = value_of(key.most);
  if (key.word) return word_or(key.word, std::move(s), key.help);
  s.default_value = value_of(limit(runtime_options{}.*key.member));
  return setting(std::move(s), key.help);
}

[[gnu::noinline]] key_section runtime_section() {
  setting_schema cpus{.name = "cpus", .kind = kind::list};
  cpus.element.push_back(integer("", 0, 1023));
  std::vector<key_info> keys;
  for_each_runtime_key([&](const auto& key) { keys.push_back(key_of(key)); });
  keys.push_back(setting(cpus, "as the process", "CPUs that the Ms may use"));
  keys.push_back(setting(memory(), "no limit", "limits of memory"));
  return {"runtime", "[runtime]", std::move(keys)};
}

[[gnu::noinline]] key_section supervisor_section() {
  return {
      "supervisor",
      "[supervisor]",
      {setting(duration("hang", 1ms, 24h) | 2s, "longest run without entering the runtime"),
       setting(duration("grace", 0ns, 1h) | 200ms, "from being asked to stop until it is thrown out"),
       setting(duration("watchdog", 1ms, 24h), "no limit", "longest time without receiving or sending"),
       setting(restart(), "when = \"failure\"", "how processes are restarted"),
       setting(choice("on_limit", {"stop-service", "exit"}) | "stop-service",
               "after more than `burst` restarts in `window`"),
       setting(choice("on_deadlock", {"report", "restart"}) | "report",
               "when processes wait only for one another"),
       setting(duration("host_hang", 100ms, 24h) | 10s, "longest time that the host itself may make no step"),
       setting(choice("on_host_hang", {"exit", "dump"}) | "exit",
               "then: end with status 70, or write all Gs and go on")}};
}

// "127.0.0.1:9464", "[::1]:9464", "9464".
std::string validate_control_address(const std::string& text) {
  constexpr const char* wanted =
      "must be \"ADDRESS:PORT\" with an address of this machine, as \"127.0.0.1:9464\", or a port";
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoul(port) > 65535 || colon == 0)
    return wanted;
  return {};
}

std::string validate_control_name(const std::string& text) {
  constexpr std::string_view others = "-_.";
  const bool good = std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
  if (text.empty() || text.size() > 64 || text[0] == '.' || !good)
    return "must be at most 64 letters, digits, '-', '_' and '.', and not begin with '.'";
  return {};
}

[[gnu::noinline]] key_section control_section() {
  setting_schema listen = text("listen");
  listen.validate_text = validate_control_address;
  setting_schema name = text("name");
  name.validate_text = validate_control_name;
  setting_schema hosts{.name = "hosts", .kind = kind::list};
  hosts.element.push_back(text(""));
  return {
      "control",
      "[control]",
      {setting(std::move(name), "the first file's name without .toml",
               "of the deployment, for `leat -d NAME`"),
       setting(boolean("socket") | true,
               "a Unix socket for `leat ps`, `leat top` and the other verbs, for this user and root"),
       setting(std::move(listen), "no TCP",
               "also by TCP, with the inspector page; who connects there may only look, unless "
               "`token_file` is given"),
       setting(std::move(hosts), "this machine's names and addresses",
               "what browsers may call the TCP door; anything else is refused"),
       setting(text("token_file"), "nobody may change anything by TCP",
               "a file whose first line opens the rest of the TCP door, as `Authorization: Bearer`"),
       setting(
           integer("clients", 1, 10'000) | 64,
           "connections at a time, of each door; from 16 on, three quarters of them from one address by TCP"),
       setting(duration("blame_after", 100ms, 24h) | 5s,
               "how long somebody holds up others until the log says who")}};
}

std::vector<key_section> make_sections() {
  std::vector<key_section> out;
  for (const auto make :
       {top_section, service_section, process_section, channel_section, template_section, use_section,
        simulate_section, runtime_section, supervisor_section, control_section})
    out.push_back(make());
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
  if (k.shape == key_shape::word_or) return '`' + in_quotes(k.word) + '`';
  if (k.type.default_value) return '`' + to_text(k.type.default_value) + '`';
  if (k.type.required) return "must be given";
  return std::string(k.otherwise);
}

std::string type_text(const key_info& k) {
  switch (k.shape) {
    case key_shape::word_or: return describe_type(k.type) + " or " + in_quotes(k.word);
    case key_shape::class_config: return "table of the class's settings";
    case key_shape::ports: return "table of ports";
    case key_shape::policies: return "table of readers, each as `full`";
    case key_shape::deliveries: return "one of \"at-most-once\" \"at-least-once\", or a table of ports";
    case key_shape::maps: return "table of ports, each a table of fields";
    case key_shape::section: return "table";
    case key_shape::named_section: return "tables by name";
    case key_shape::overrides: return "tables by service";
    case key_shape::services: return "list of text or tables";
    case key_shape::parameters: return "table of parameters";
    case key_shape::uses: return "tables by template and name";
    case key_shape::setting: break;
  }
  return k.type.kind == kind::table ? "table" : describe_type(k.type);
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
