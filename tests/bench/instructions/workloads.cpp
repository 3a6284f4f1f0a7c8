// SPDX-License-Identifier: BSL-1.0
//
// workloads NAME N: N operations of a workload on one P, for somebody who counts instructions (check.sh).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

void yields(long n) {
  const auto half = [n] {
    for (long i = 0; i < n / 2; ++i) leat::yield();
  };
  auto other = leat::spawn(half);
  half();
  other.join();
}

void pingpong(long n) {
  leat::channel<int> there, back;
  auto other = leat::spawn([&] {
    for (int v : there) back.send(v);
  });
  for (long i = 0; i < n; ++i) {
    there.send(1);
    (void)back.recv();
  }
  there.close();
  other.join();
}

void chan_buf(long n) {
  leat::channel<int> c(128, {.writers = 1, .readers = 1});
  auto other = leat::spawn([&] {
    for (long i = 0; i < n; ++i) c.send(static_cast<int>(i));
    c.close();
  });
  long sum = 0;
  for (int v : c) sum += v;
  other.join();
  if (sum == 0) std::abort();
}

void spawn(long n) {
  std::vector<leat::task<void>> batch;
  batch.reserve(1000);
  for (long done = 0; done < n; done += 1000) {
    for (int i = 0; i < 1000; ++i) batch.push_back(leat::spawn([] {}));
    for (auto& t : batch) t.join();
    batch.clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 2 ? argv[1] : "";
  void (*const run)(long) = name == "yield"      ? &yields
                            : name == "pingpong" ? &pingpong
                            : name == "chan_buf" ? &chan_buf
                            : name == "spawn"    ? &spawn
                                                 : nullptr;
  if (!run) return std::fputs("usage: workloads yield|pingpong|chan_buf|spawn N\n", stderr), 2;
  const long n = std::atol(argv[2]);
  // Under valgrind all takes fifty times as long: no P is to be retaken for that.
  leat::run({.procs = 1, .spinning = 0, .slice = std::chrono::hours(1)}, [&] { run(n); });
}
