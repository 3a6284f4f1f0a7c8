// SPDX-License-Identifier: BSL-1.0
//
// What a dump of all Gs says of the processes of a service.
#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include <leat/leat.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

class chooses : public process {
  in<number> a{this, "a"};
  in<number> b{this, "b"};
  void run() override {
    bool open = true;
    while (open && select(on_recv(a, [&](std::optional<number> n) { open = n.has_value(); }),
                          on_recv(b, [&](std::optional<number> n) { open = n.has_value(); })) >= 0) {
    }
  }
};
LEAT_PROCESS(chooses, "waits for either");

class silent : public process {
  out<number> a{this, "a"};
  out<number> b{this, "b"};
  out<number> c{this, "c"};
  void run() override { (void)sleep_for(1h); }
};
LEAT_PROCESS(silent, "sends nothing");

config::plan plan_with_waits() {
  return plan_of(R"(
[service]
name = "climate"
drain = "20ms"
[process.fast]
use = "counter"
out = { values = "full" }
[process.slow]
use = "waits"
in = { values = "full" }
[channel.full]
capacity = 3
[process.silent]
use = "silent"
out = { a = "one", b = "other", c = "empty" }
[process.chooses]
use = "chooses"
in = { a = "one", b = "other" }
[process.reads]
use = "noting"
replicas = 2
in = { values = "empty" }
[channel.one]
[channel.other]
capacity = 5
[channel.empty]
capacity = 7
)");
}

std::string dumped(void (*how)(int) noexcept) {
  return blocking([&] {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file);
    how(::fileno(file));
    std::rewind(file);
    std::string text;
    char part[4096];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
    (void)std::fclose(file);
    return text;
  });
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("a dump names process, class, line, the channel it waits at and what that holds") {
  const config::plan p = plan_with_waits();
  (void)run_plan(p, [](const channel<int>& stop) {
    std::string full;
    const bool shown = eventually([&] {
      full = dumped(dump_in_full);
      return has(full,
                 "'climate/fast' (counter, t.toml:6): waiting for send at channel 'climate/full' (3 of 3), "
                 "since ") &&
             has(full,
                 "'climate/reads/0' (noting, t.toml:20): waiting for receive at channel 'climate/empty' (0 "
                 "of 7), since ") &&
             has(full, "'climate/reads/1' (noting, t.toml:20): waiting for receive at channel") &&
             has(full,
                 "'climate/chooses' (chooses, t.toml:17): waiting for select at channel 'climate/one' (0 "
                 "of ") &&
             has(full, ", 'climate/other' (0 of 5), since ") &&
             has(full, "'climate/slow' (waits, t.toml:9): waiting for sleep, since ");
    });
    CHECK_MESSAGE(shown, full);
    // Without locks and memory, as sysmon and handlers have it: all but the cases of a select.
    const std::string plain = dumped(dump);
    CHECK_MESSAGE(
        has(plain, "'climate/fast' (counter, t.toml:6): waiting for send at channel 'climate/full' (3 of 3)"),
        plain);
    CHECK_MESSAGE(has(plain, "'climate/chooses' (chooses, t.toml:17): waiting for select, since "), plain);
    stop.send(15);
    stop.send(15);
  });
}

TEST_CASE("dumps may be taken while services come and go") {
  std::atomic<bool> over{false};
  std::thread dumps([&] {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    while (!over) {
      dump_in_full(nowhere);
      dump(nowhere);
    }
    ::close(nowhere);
  });
  for (int i = 0; i < 20; ++i) {
    const config::plan p = plan_of(R"(
[service]
name = "s"
[process.from]
use = "counter"
config = { count = 200 }
out = { values = "between" }
[process.to]
use = "noting"
in = { values = "between" }
[channel.between]
)");
    (void)run_plan(p);
    CHECK(notes.total == 200);
  }
  over = true;
  dumps.join();
}
