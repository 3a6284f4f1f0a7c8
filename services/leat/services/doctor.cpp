// SPDX-License-Identifier: BSL-1.0
#include <leat/services/doctor.hpp>

#include <linux/capability.h>
#include <linux/membarrier.h>
#include <netdb.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <leat/base/units.hpp>
#include <leat/control/json_writer.hpp>

namespace leat::services {
namespace {

constexpr std::uint64_t no_limit = machine_facts::no_limit;
using grade = remedy::grade;

std::uint64_t limit_of(int which) {
  rlimit l{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &l) != 0 || l.rlim_cur == RLIM_INFINITY)
    return no_limit;
  return l.rlim_cur;
}

std::optional<std::uint64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  std::uint64_t n = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (wrong != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return n;
}

// The cgroup's own file, if there are cgroups of the second version.
std::optional<std::uint64_t> in_cgroup(const char* file) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) return number_in("/sys/fs/cgroup" + line.substr(3) + '/' + file);
  return std::nullopt;
}

std::uint64_t capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &head, data) != 0) return 0;
  return data[0].effective | static_cast<std::uint64_t>(data[1].effective) << 32;
}

std::string bytes_text(std::uint64_t n) {
  if (n == no_limit) return "unlimited";
  const char* unit = "B";
  auto size = static_cast<double>(n);
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  std::array<char, 40> text{};
  (void)std::snprintf(text.data(), text.size(), size < 10 ? "%.1f %s" : "%.0f %s", size, unit);
  return text.data();
}
std::string count_text(std::uint64_t n) { return n == no_limit ? "unlimited" : std::to_string(n); }

std::uint64_t replicas_of(const config::plan& p) {
  std::uint64_t n = 0;
  for (const config::process_plan& x : p.processes) n += x.replicas;
  return n;
}

// ":80", "0.0.0.0:80", "80": its port.
std::optional<unsigned> port_of(std::string_view address) {
  const std::string_view text = address.substr(address.rfind(':') + 1);  // npos + 1 is 0
  unsigned n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc() || end != text.data() + text.size() || n > 65535) return std::nullopt;
  return n;
}

void examine_limits(const machine_facts& m, const config::plan* plan, std::vector<remedy>& to) {
  // Each replica may have a few, each client of a door one, and Leat itself some.
  const std::uint64_t files = 64 + (plan ? 8 * replicas_of(*plan) + 2 * plan->control.clients : 192);
  const std::uint64_t wanted_files = std::max<std::uint64_t>(1024, files);
  if (m.files < files)
    to.push_back({grade::lacking, "open files: " + count_text(m.files),
                  "this deployment may need " + std::to_string(files),
                  "LimitNOFILE=" + std::to_string(wanted_files) + " in its unit, or `ulimit -n " +
                      std::to_string(wanted_files) + "`"});
  else
    to.push_back(
        {grade::good, "open files: " + count_text(m.files), "at least " + std::to_string(files), ""});
  // One for each P and each process with its own, sysmon, the log, and some for calls that block and for hangs.
  std::uint64_t threads = m.cpus.size() + 16;
  if (plan) {
    if (plan->runtime.procs) threads = *plan->runtime.procs + 16;
    threads += plan->runtime.max_quarantined;
    for (const config::process_plan& p : plan->processes) threads += p.thread.own ? p.replicas : 0;
  }
  if (m.tasks < threads)
    to.push_back(
        {grade::lacking, "threads: " + count_text(m.tasks),
         "a deployment like this may need " + std::to_string(threads),
         "TasksMax=" + std::to_string(threads + 16) + " in its unit; `ulimit -u` and the cgroup's pids.max"});
  else
    to.push_back({grade::good, "threads: " + count_text(m.tasks), "at least " + std::to_string(threads), ""});
  if (!plan) return;
  const std::uint64_t memory = plan->memory.total();
  if (m.memory < memory)
    to.push_back({grade::lacking, "memory: " + bytes_text(m.memory),
                  "stacks, rings and pools of this deployment take " + bytes_text(memory),
                  "MemoryMax= of its unit, or fewer replicas, smaller `stack` and `capacity`"});
  else
    to.push_back(
        {grade::good, "memory: " + bytes_text(m.memory), "the plan takes " + bytes_text(memory), ""});
  if (m.address_space != no_limit && m.address_space < memory + (std::uint64_t{256} << 20))
    to.push_back({grade::lacking, "address space: " + bytes_text(m.address_space),
                  "stacks are reserved before they are used",
                  "LimitAS=infinity in its unit, or `ulimit -v unlimited`"});
  if (plan->runtime.lock_memory && !m.may_lock && m.locked_memory < memory + (std::uint64_t{64} << 20))
    to.push_back({grade::lacking, "locked memory: " + bytes_text(m.locked_memory), "memory = { lock = true }",
                  "LimitMEMLOCK=infinity in its unit, or AmbientCapabilities=CAP_IPC_LOCK"});
}

void examine_kernel(const machine_facts& m, std::vector<remedy>& to) {
  if (m.membarrier)
    to.push_back({grade::good, "membarrier(2): there", "", ""});
  else
    to.push_back({grade::advice, "membarrier(2): not there", "channels and locks take the dearer way",
                  "a kernel with CONFIG_MEMBARRIER, or SystemCallFilter= that allows it"});
  if (m.overcommit == 2)
    to.push_back({grade::advice, "vm.overcommit_memory = 2",
                  "address space that is only reserved is counted as used", "sysctl vm.overcommit_memory=0"});
  if (m.maps < 65530)
    to.push_back({grade::advice, "vm.max_map_count = " + count_text(m.maps),
                  "each stack of its own size is a mapping", "sysctl vm.max_map_count=65530"});
}

void examine_program(const machine_facts& m, std::vector<remedy>& to) {
  const char* const because = "threads of processes that hang run on behind a fence, none is ever stopped";
  switch (m.unsettled) {
    case sched::unsettled::none: to.push_back({grade::good, "allocator: marked", "", ""}); break;
    case sched::unsettled::own_allocator:
      to.push_back({grade::advice, "allocator: this program's own, without marks", because,
                    "an allocator that is a shared library, linked or by LD_PRELOAD"});
      break;
    case sched::unsettled::static_c_library:
      to.push_back({grade::advice, "C library: linked statically", because, "a program without -static"});
      break;
    case sched::unsettled::static_cxx_library:
      to.push_back(
          {grade::advice, "C++ library: linked statically", because, "a program without -static-libstdc++"});
      break;
  }
}

void examine_cpus(const machine_facts& m, const config::plan& plan, std::vector<remedy>& to) {
  const auto may_use = [&](unsigned cpu) {
    return std::find(m.cpus.begin(), m.cpus.end(), cpu) != m.cpus.end();
  };
  for (std::size_t i = 0; i < plan.runtime.cpus.size(); ++i)
    if (!may_use(plan.runtime.cpus[i]))
      to.push_back({grade::lacking, "CPU " + std::to_string(plan.runtime.cpus[i]) + ": not for this program",
                    "'cpus' names it, " + plan.where(plan.runtime.cpus_at[i]),
                    "AllowedCPUs= of its unit, or another CPU"});
  for (const config::process_plan& p : plan.processes) {
    const std::string who = "process '" + p.name + "', " + plan.where(p.at);
    if (p.thread.cpu && !may_use(*p.thread.cpu))
      to.push_back({grade::lacking, "CPU " + std::to_string(*p.thread.cpu) + ": not for this program", who,
                    "AllowedCPUs= of its unit, or another `cpu`"});
    if (p.thread.priority && *p.thread.priority > 0 && !m.may_set_priority &&
        m.rt_priority < *p.thread.priority)
      to.push_back({grade::lacking, "real-time priority: at most " + std::to_string(m.rt_priority),
                    who + " wants " + std::to_string(*p.thread.priority),
                    "LimitRTPRIO=" + std::to_string(*p.thread.priority) +
                        " in its unit, or AmbientCapabilities=CAP_SYS_NICE"});
  }
}

void examine_port(const machine_facts& m, const std::string& address, const std::string& who,
                  std::vector<remedy>& to) {
  const std::optional<unsigned> port = port_of(address);
  if (!port || *port == 0 || *port >= m.first_free_port || m.may_bind_low_ports) return;
  to.push_back({grade::lacking, "port " + std::to_string(*port) + ": for privileged programs only", who,
                "AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit, or sysctl "
                "net.ipv4.ip_unprivileged_port_start=" +
                    std::to_string(*port)});
}

}  // namespace

machine_facts look_at_machine() {
  machine_facts m;
  m.files = limit_of(RLIMIT_NOFILE);
  m.tasks = std::min(::geteuid() == 0 ? no_limit : limit_of(RLIMIT_NPROC),
                     in_cgroup("pids.max").value_or(no_limit));
  m.address_space = limit_of(RLIMIT_AS);
  m.locked_memory = limit_of(RLIMIT_MEMLOCK);
  const std::uint64_t priority = limit_of(RLIMIT_RTPRIO);
  m.rt_priority = priority == no_limit ? 99 : priority;
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  m.memory = std::min(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                      in_cgroup("memory.max").value_or(no_limit));
  const std::uint64_t caps = capabilities();
  m.may_set_priority = (caps >> CAP_SYS_NICE & 1) != 0;
  m.may_lock = (caps >> CAP_IPC_LOCK & 1) != 0;
  m.may_bind_low_ports = (caps >> CAP_NET_BIND_SERVICE & 1) != 0;
  m.first_free_port =
      static_cast<unsigned>(number_in("/proc/sys/net/ipv4/ip_unprivileged_port_start").value_or(1024));
  const long offers = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  m.membarrier = offers > 0 && (offers & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
  m.overcommit = static_cast<int>(number_in("/proc/sys/vm/overcommit_memory").value_or(0));
  m.maps = number_in("/proc/sys/vm/max_map_count").value_or(no_limit);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (unsigned i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &allowed)) m.cpus.push_back(i);
  m.unsettled = sched::why_unsettled();
  return m;
}

std::vector<remedy> examine(const machine_facts& m, const config::plan* plan) {
  std::vector<remedy> all;
  examine_limits(m, plan, all);
  examine_kernel(m, all);
  examine_program(m, all);
  all.push_back({grade::good, "CPUs: " + std::to_string(m.cpus.size()), "", ""});
  if (!plan) return all;
  examine_cpus(m, *plan, all);
  if (!plan->control.listen.empty())
    examine_port(m, plan->control.listen, "[control] listen, " + plan->where(plan->control.listen_at), all);
  for (const config::process_plan& p : plan->processes)
    if (const value* const listen = p.settings.find("listen"))
      if (const auto* text = listen->get_if<std::string>())
        examine_port(m, *text, "process '" + p.name + "', " + plan->where(p.at), all);
  return all;
}

std::vector<remedy> examine_folders(const config::plan& plan) {
  std::vector<remedy> all;
  const auto look = [&](const std::string& folder, const std::string& who) {
    if (folder.empty()) return;
    // What is not there is made at the start, in the last folder above that is.
    std::error_code ec;
    std::filesystem::path there = std::filesystem::absolute(folder, ec).lexically_normal();
    while (there.has_relative_path() && ::access(there.c_str(), F_OK) != 0 &&
           (errno == ENOENT || errno == ENOTDIR))
      there = there.parent_path();
    const bool is_folder = std::filesystem::is_directory(there, ec);
    if (is_folder && ::access(there.c_str(), W_OK | X_OK) == 0) {
      all.push_back({grade::good, folder + ": can be written", who, ""});
      return;
    }
    const int why = is_folder ? errno : ENOTDIR;
    all.push_back(
        {grade::lacking, folder + ": " + there.string() + ": " + std::strerror(why), who,
         why == EROFS ? "ReadWritePaths=" + there.string() + " in its unit, or a folder on another disk"
         : is_folder  ? "StateDirectory= in its unit, or `chown` of the folder to the user of the service"
                      : "another path"});
  };
  for (const config::process_plan& p : plan.processes) {
    if (p.state) look(p.state->folder, "state of process '" + p.name + "', " + plan.where(p.state->at));
    // The recorder's.
    const value* const folder = p.settings.find("folder");
    if (const auto* const text = folder ? folder->get_if<std::string>() : nullptr)
      look(*text, "process '" + p.name + "', setting 'folder', " + plan.where(p.at));
  }
  for (const config::channel_plan& c : plan.channels)
    if (c.store) look(c.store->folder, "store of channel '" + c.name + "', " + plan.where(c.store->at));
  return all;
}

std::vector<remedy> examine_ports(const config::plan& plan) {
  std::vector<remedy> all;
  const auto look = [&](const std::string& address, const std::string& who) {
    const std::optional<unsigned> port = port_of(address);
    if (!port || *port == 0 || address.starts_with("unix:")) return;
    const std::size_t colon = address.rfind(':');
    std::string host = colon == std::string::npos ? std::string() : address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST;  // no name server is asked
    if (::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(*port).c_str(), &hints, &found) !=
        0)
      return;
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const int why = fd < 0 || ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
    if (fd >= 0) (void)::close(fd);
    ::freeaddrinfo(found);
    if (why == EADDRINUSE)
      all.push_back({grade::lacking, address + ": taken", who,
                     "`ss -ltnp` shows by whom, which may be this deployment; end it, or take another port"});
    else if (why == EADDRNOTAVAIL)
      all.push_back({grade::lacking, address + ": no address of this machine", who,
                     "another address (`ip addr` shows them), or After=network-online.target in its unit"});
    else if (why == 0)
      all.push_back({grade::good, address + ": free", who, ""});
  };
  if (!plan.control.listen.empty())
    look(plan.control.listen, "[control] listen, " + plan.where(plan.control.listen_at));
  for (const config::process_plan& p : plan.processes) {
    const value* const listen = p.settings.find("listen");
    if (const auto* const text = listen ? listen->get_if<std::string>() : nullptr)
      look(*text, "process '" + p.name + "', setting 'listen', " + plan.where(p.at));
  }
  return all;
}

std::vector<remedy> examine_files(const config::plan& plan) {
  std::vector<remedy> all;
  const auto look = [&](const std::string& path, const std::string& who) {
    if (::access(path.c_str(), R_OK) == 0) {
      all.push_back({grade::good, path + ": there", who, ""});
      return;
    }
    const int why = errno;
    all.push_back({grade::lacking, path + ": " + std::strerror(why), who,
                   why == EACCES
                       ? "SupplementaryGroups= of its unit with the file's group (`ls -l " + path + "`)"
                       : "plug it in, load its driver, or correct the path"});
  };
  if (!plan.control.token_file.empty())
    look(plan.control.token_file, "[control] token_file, " + plan.where(plan.control.token_file_at));
  for (const config::process_plan& p : plan.processes) {
    const auto* const settings = p.settings.get_if<value::table>();
    if (!settings) continue;
    for (const value_member& s : *settings)
      if (const auto* text = s.value.get_if<std::string>()) {
        std::string path = *text;
        for (const std::string_view scheme : {"serial:", "file:", "unix:"})
          if (path.starts_with(scheme)) path = path.substr(scheme.size(), path.find('?') - scheme.size());
        if (path.starts_with("/dev/"))
          look(path, "process '" + p.name + "', setting '" + s.key + "', " + plan.where(p.at));
      }
  }
  return all;
}

bool anything_lacking(const std::vector<remedy>& all) noexcept {
  return std::any_of(all.begin(), all.end(), [](const remedy& r) { return r.how == grade::lacking; });
}

std::string to_text(const std::vector<remedy>& all, bool colour) {
  constexpr std::string_view words[] = {"good", "advice", "LACKING"};
  constexpr std::string_view colours[] = {"\033[32m", "\033[33m", "\033[31m"};
  std::string text;
  for (const remedy& r : all) {
    const auto n = static_cast<std::size_t>(r.how);
    std::string word(words[n]);
    word.resize(8, ' ');
    text += colour ? std::string(colours[n]) + word + "\033[0m" : word;
    text += r.what;
    if (!r.because.empty()) text += "; " + r.because;
    text += '\n';
    if (!r.mend.empty()) text += "        mend: " + r.mend + '\n';
  }
  return text;
}

std::string to_json(const std::vector<remedy>& all) {
  constexpr std::string_view words[] = {"good", "advice", "lacking"};
  control::json_writer w;
  w.list([&] {
    for (const remedy& r : all)
      w.object([&] {
        w.member("grade", words[static_cast<std::size_t>(r.how)]);
        w.member("what", r.what);
        w.member("because", r.because);
        w.member("mend", r.mend);
      });
  });
  return w.take();
}

}  // namespace leat::services
