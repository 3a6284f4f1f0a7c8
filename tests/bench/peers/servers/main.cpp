// SPDX-License-Identifier: BSL-1.0
//
// tcp_echo by a bare epoll loop per thread (leat-peer-epoll) and by Asio's callbacks (leat-peer-asio), with
// the flags and JSON lines of leat-bench that peers/run uses. The server is a process of its own; this one is
// the client.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../echo_client.hpp"
#include "../echo_servers.hpp"

// Serves for ever, on so many threads.
void serve(int listener, int threads);
extern const char* const peer_name;

namespace {

using namespace leat::bench;

echo_result measure(int procs, int milliseconds, bool pinned) {
  std::uint16_t port = 0;
  const int listener = listening_socket(port);
  const pid_t parent = ::getpid();
  const pid_t server = ::fork();
  if (server == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (pinned) pin_to(0);
    serve(listener, procs);
    ::_exit(1);
  }
  if (pinned) pin_to(1);
  const echo_result r = server < 0 ? echo_result{} : run_echo_client(port, 64, milliseconds);
  if (server > 0) {
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
  }
  ::close(listener);
  return r;
}

int usage() {
  std::fprintf(stderr,
               "usage: leat-peer-%s --list | --only tcp_echo|tcp_echo_pinned --procs N [--reps N] [--quick] "
               "--json FILE\n",
               peer_name);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string name;
  int procs = 1;
  int reps = 1;
  bool quick = false;
  const char* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      std::puts("tcp_echo ns 1,2\ntcp_echo_pinned ns 1");
      return 0;
    }
    if (word == "--quick") {
      quick = true;
      continue;
    }
    if (++i == argc) return usage();
    if (word == "--only") {
      name = argv[i];
    } else if (word == "--procs") {
      procs = std::atoi(argv[i]);
    } else if (word == "--reps") {
      reps = std::atoi(argv[i]);
    } else if (word == "--json") {
      json = argv[i];
    } else {
      return usage();
    }
  }
  const bool pinned = name == "tcp_echo_pinned";
  if ((!pinned && name != "tcp_echo") || procs < 1 || procs > 64 || reps < 1) return usage();
  std::FILE* const out = json ? std::fopen(json, "a") : stdout;
  if (!out) return std::perror(json), 2;
  for (int rep = 0; rep < reps; ++rep) {
    const echo_result r = measure(procs, quick ? 300 : 2000, pinned);
    if (r.requests_per_second <= 0)
      return std::fprintf(stderr, "leat-peer-%s: the client failed\n", peer_name), 1;
    const auto line = [&](const char* sub, const char* unit, double value) {
      std::fprintf(
          out,
          "{\"name\":\"%s%s\",\"procs\":%d,\"unit\":\"%s\",\"median\":%.9g,\"quick\":%s,\"peer\":\"%s\"}\n",
          name.c_str(), sub, procs, unit, value, quick ? "true" : "false", peer_name);
    };
    line("", "ns", 1e9 / r.requests_per_second);
    line(".p99", "us", r.p99_us);
  }
  return std::fclose(out) == 0 ? 0 : 1;
}
