// SPDX-License-Identifier: BSL-1.0
//
// `leat ps`: what runs here, since when, from which files, healthy or not.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <leat/base/value.hpp>
#include <leat/remote/asking.hpp>
#include <leat/remote/table.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/token.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {
namespace {

constexpr std::size_t most_compared = std::size_t{16} << 20;

struct descriptor {
  explicit descriptor(int fd) : fd(fd) {}
  ~descriptor() {
    if (fd >= 0) (void)::close(fd);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  const int fd;
};

// What a file that a deployment names is now, beside the digest of then: a remark, or nothing. FNV-1a of 64 bits, as
// the deployment has it of the bytes that it read. A deployment may name anything: what is no file, such as a pipe or a
// device, is not opened, and what is very long is not read.
std::string remark_on(const std::string& path, std::uint64_t then) {
  const descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.fd < 0) return errno == ENOENT || errno == ENOTDIR ? " (not there now)" : " (cannot be read)";
  struct stat s{};
  if (::fstat(place.fd, &s) != 0 || !S_ISREG(s.st_mode)) return " (not a file now)";
  if (static_cast<std::uint64_t>(s.st_size) > most_compared) return {};
  const descriptor in(
      ::open(("/proc/self/fd/" + std::to_string(place.fd)).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.fd < 0) return " (cannot be read)";
  std::uint64_t hash = 0xcbf29ce484222325;
  char data[16384];
  std::size_t all = 0;
  ssize_t n = 0;
  while (all <= most_compared && (n = ::read(in.fd, data, sizeof data)) > 0) {
    all += static_cast<std::size_t>(n);
    for (ssize_t i = 0; i < n; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3;
  }
  if (n < 0) return " (cannot be read)";
  return hash != then ? " (changed since)" : "";
}

// The files of a deployment behind a TCP door are those of its machine.
std::string file_text(const endpoint& at, const file_state& f) {
  std::uint64_t then = 0;
  const auto r = std::from_chars(f.digest.data(), f.digest.data() + f.digest.size(), then, 16);
  const bool known = !f.digest.empty() && r.ec == std::errc() && r.ptr == f.digest.data() + f.digest.size();
  if (!known || at.path.empty() || !f.path.starts_with('/')) return f.path;
  return f.path + remark_on(f.path, then);
}

struct found_deployment {
  endpoint at;
  std::optional<told_state> told = {};
  std::string error = {};
};

std::vector<found_deployment> look_around(const request& r) {
  std::vector<endpoint> all =
      r.deployment.empty() && r.token_file.empty() ? running_deployments() : std::vector{deployment_of(r)};
  if (all.empty()) all.push_back(find_deployment({}));  // which says that there is none
  std::vector<found_deployment> found;
  for (endpoint& e : all) {
    found_deployment& d = found.emplace_back(found_deployment{std::move(e)});
    const asked a = ask(d.at, {.target = "/v1/state"}, std::chrono::seconds(2));
    if (a.nobody && r.deployment.empty()) {
      found.pop_back();  // it has ended meanwhile
    } else if (!a.error.empty() || a.status != 200) {
      d.error = a.error.empty() ? error_of(a.status, a.body) : a.error;
    } else {
      try {
        d.told = read_told_state(d.at, a.body);
      } catch (const failure& f) {
        d.error = f.what();
      }
    }
  }
  return found;
}

std::string entry_json(const found_deployment& d) {
  std::string text = "{\"name\":" + in_quotes(d.at.name) + ",\"socket\":" + in_quotes(d.at.path);
  if (!d.told) return text + ",\"error\":" + in_quotes(d.error) + '}';
  for (const char* const key :
       {"leat", "api", "deployment", "pid", "files", "since", "uptime", "phase", "healthy", "why"})
    if (const json* const v = d.told->tree.find(key))
      text += std::string(",\"") + key + "\":" + std::string(v->source(d.told->text));
  return text + '}';
}

int list_names(const request& r) {
  std::vector<std::string> names;
  // Shares of a channel, and deployments in two folders, have one name.
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (r.names) {
    for (const endpoint& e : running_deployments()) add(printable(e.name));
  } else {
    const told_state t = ask_state(deployment_of(r));
    if (r.processes)
      for (const process_state& p : t.state.processes) add(p.name);
    if (r.channels)
      for (const channel_state& c : t.state.channels) add(c.name);
  }
  for (const std::string& n : names) print(n + '\n');
  return 0;
}

}  // namespace

int ps(const request& r) {
  if (r.names || r.processes || r.channels) return list_names(r);
  const std::vector<found_deployment> found = look_around(r);
  if (r.json) {
    std::vector<std::string> all;
    all.reserve(found.size());
    for (const found_deployment& d : found) all.push_back(entry_json(d));
    print('[' + joined(all, ",\n ") + "]\n");
  }
  int status = 0;
  table t(
      {{"DEPLOYMENT"}, {"PID", true}, {"PHASE"}, {"UP", true}, {"PROCESSES", true}, {"HEALTH"}, {"FILES"}});
  std::string remarks;
  for (const found_deployment& d : found) {
    const std::string name = printable(d.at.name);
    if (!d.told) {
      t.add({name, "-", "-", "-", "-", "unknown", "-"});
      remarks += name + ": " + printable(d.error) + '\n';
      status = exit_failed;
      continue;
    }
    const deployment_state& s = d.told->state;
    std::vector<std::string> files;
    for (const file_state& f : s.files) files.push_back(file_text(d.at, f));
    t.add({name, std::to_string(s.pid), s.phase, elapsed_text(s.uptime), std::to_string(s.processes.size()),
           s.healthy ? "healthy" : "NOT HEALTHY", joined(files, ", ")});
    if (!s.healthy && !s.why.empty()) remarks += name + ": " + s.why + '\n';
  }
  if (!r.json) print(t.text() + remarks);
  return status;
}

}  // namespace leat::remote
