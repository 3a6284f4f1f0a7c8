// SPDX-License-Identifier: BSL-1.0
//
// States that outlive the program: written by one run, loaded by the next.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <leat/process/state_file.hpp>
#include <leat/process/state_store.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace state_folder_test {

struct totals {
  std::int64_t count = 100;
  std::vector<std::string> words = {};
};
LEAT_MESSAGE(totals, count, words);
struct plain {
  int n = 0;
};

std::atomic<int> loaded{-1};

class sums : public process {
  in<number> values{this, "values", optional_port};
  setting<int> adds{this, "adds", 5, "so often"};
  setting<bool> fails{this, "fails", false, "once, in the middle"};
  state<totals> kept{this, "kept"};
  state<int> runs{this, "runs"};
  void run() override {
    totals t = kept.load();
    if (runs.load() == 0 || !fails) loaded = static_cast<int>(t.count);
    runs.save(runs.load() + 1);
    for (int i = 0; i < adds; ++i) {
      ++t.count;
      t.words.push_back(std::to_string(t.count));
      kept.save(t);
      if (fails && runs.load() == 1 && i == 2) throw std::runtime_error("in the middle");
    }
  }
};
class undescribed : public process {
  state<plain> kept{this, "kept"};
  void run() override {}
};

// Saves 1, and 2 when it is told to.
std::atomic<int> step{0};
class two_steps : public process {
  state<int> n{this, "n"};
  setting<bool> second{this, "second", false, "saves 7 after the other's second step"};
  void run() override {
    if (second) {
      CHECK(eventually([] { return step == 2; }));
      n.save(7);
    } else {
      n.save(1);
      CHECK(eventually([] { return step == 1; }));
      n.save(2);
      step = 2;
    }
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};

struct folder {
  std::string path = (std::filesystem::temp_directory_path() / "leat-states-XXXXXX").string();
  folder() { REQUIRE(::mkdtemp(path.data())); }
  ~folder() { std::filesystem::remove_all(path); }
  std::string text(const std::string& more = {}, const std::string& every = "1h") const {
    return "[service]\nname = \"s\"\n[process.p]\nuse = \"sums\"\nrestart = { backoff = [\"1ms\", \"1ms\"] "
           "}\nstate = { folder = \"" +
           path + "/deep/er\", every = \"" + every + "\" }\n" + more;
  }
  std::string file(const std::string& state = "kept", int replica = 0) const {
    return path + "/deep/er/s.p." + std::to_string(replica) + '.' + state + ".state";
  }
  totals content() const { return from_cbor<totals>(unpack_state(read_whole_file(file())).value); }
};

std::string errors_of(const std::string& text) {
  const config::checked c = config::check_text("t.toml", "leat = 1\n" + text, program_catalog());
  return c.plan ? "" : render(c.found, c.sources);
}

std::string failure_of(const std::string& text) {
  try {
    (void)run_plan(plan_of(text));
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace state_folder_test
using namespace state_folder_test;
LEAT_PROCESS_AS("sums", sums, "adds up");
LEAT_PROCESS_AS("two-steps", two_steps, "saves in steps");
LEAT_PROCESS_AS("undescribed", undescribed, "has a state without a description");

TEST_CASE("what one program saved, the next one loads") {
  const folder f;
  for (int run = 0; run < 3; ++run) {
    const ledger l = run_plan(plan_of(f.text()));
    CHECK_FALSE(l.failed);
    CHECK(loaded == 100 + 5 * run);
    CHECK(f.content().count == 105 + 5 * run);
    CHECK(f.content().words.size() == static_cast<std::size_t>(5 * (run + 1)));
  }
  struct stat st{};
  REQUIRE(::stat(f.file().c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
}

TEST_CASE("a restart within the program goes on from memory, and the file has all of it") {
  const folder f;
  const ledger l = run_plan(plan_of(f.text("config = { fails = true }\n", "0s")));
  CHECK_FALSE(l.failed);
  CHECK(f.content().count == 108);
}

TEST_CASE("a file is written at once, then not before it is due again, and at the end") {
  const folder f;
  step = 0;
  const auto number_in = [&](const std::string& process) {
    const std::string file = f.path + "/s." + process + ".0.n.state";
    return std::filesystem::exists(file) ? from_cbor<int>(unpack_state(read_whole_file(file)).value) : 0;
  };
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\ndrain = \"10ms\"\n[process.p]\nuse = \"two-steps\"\nstate = { folder = \"" +
      f.path +
      "\", every = \"1h\" }\n[process.q]\nuse = \"two-steps\"\nconfig = { second = true }\nstate = { folder "
      "= \"" +
      f.path + "\", every = \"0s\" }\n");
  (void)run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return number_in("p") == 1; }));
    step = 1;
    // The writer has looked at both when it has written the second one.
    CHECK(eventually([&] { return number_in("q") == 7; }));
    CHECK(number_in("p") == 1);
    (void)stop.send(15);
  });
  CHECK(number_in("p") == 2);
}

TEST_CASE("each replica has files of its own") {
  const folder f;
  (void)run_plan(plan_of(f.text("replicas = 3\n")));
  for (int i = 0; i < 3; ++i)
    for (const char* const state : {"kept", "runs"}) CHECK(std::filesystem::exists(f.file(state, i)));
}

TEST_CASE("a torn file and that of another are set aside, and the state begins anew") {
  const folder f;
  (void)run_plan(plan_of(f.text()));
  const std::vector<std::uint8_t> whole = read_whole_file(f.file());
  std::filesystem::resize_file(f.file(), whole.size() / 2);
  CHECK_FALSE(run_plan(plan_of(f.text())).failed);
  CHECK(loaded == 100);
  CHECK(read_whole_file(f.file() + ".bad-1").size() == whole.size() / 2);
  state_content other = unpack_state(whole);
  other.whose = "t/p/0/kept";
  replace_file(f.file(), pack_state(other));
  CHECK_FALSE(run_plan(plan_of(f.text())).failed);
  CHECK(loaded == 100);
  CHECK(std::filesystem::exists(f.file() + ".bad-2"));
  std::ofstream(f.file()) << "not ours";
  CHECK_FALSE(run_plan(plan_of(f.text())).failed);
  CHECK(loaded == 100);
  CHECK(std::filesystem::exists(f.file() + ".bad-3"));
  // Those are left alone.
  CHECK_FALSE(run_plan(plan_of(f.text())).failed);
  CHECK(loaded == 105);
}

TEST_CASE("a folder is one program's at a time") {
  const folder f;
  std::filesystem::create_directories(f.path + "/deep/er");
  int ready[2], end[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(end) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string shell = "exec 9<>" + f.path + "/deep/er/leat.lock; flock -n 9; echo $$ >&9; echo x >&" +
                              std::to_string(ready[1]) + "; read line <&" + std::to_string(end[0]);
    ::execl("/bin/sh", "sh", "-c", shell.c_str(), nullptr);
    ::_exit(127);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(failure_of(f.text()) == "t.toml:7: process 'p': the folder of states '" + f.path +
                                    "/deep/er' is in use by another program (pid " + std::to_string(child) +
                                    "): end that one, or give each a folder of its own");
  REQUIRE(::write(end[1], "\n", 1) == 1);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(failure_of(f.text()).empty());
  for (const int fd : {ready[0], ready[1], end[0], end[1]}) ::close(fd);
}

TEST_CASE("one folder may be written in several ways in one program") {
  const folder f;
  CHECK(
      failure_of(f.text("[process.q]\nuse = \"sums\"\nstate = { folder = \"" + f.path + "/./deep/er/\" }\n"))
          .empty());
}

TEST_CASE("a folder that cannot be made, or a file that cannot be read, is an error at the start") {
  const folder f;
  std::ofstream(f.path + "/deep") << "a file";
  CHECK(failure_of(f.text()) == "t.toml:7: process 'p': the folder of states '" + f.path +
                                    "/deep/er' cannot be made: Not a directory");
  std::filesystem::remove(f.path + "/deep");
  std::filesystem::create_directories(f.file());
  CHECK(failure_of(f.text()) ==
        "t.toml:7: process 'p': '" + f.file() + "' is not a regular file: Invalid argument");
}

TEST_CASE("a folder that everybody can write to is warned of") {
  const folder f;
  struct warnings {
    std::mutex lock;
    std::string text;
  } told;
  set_log_sink(
      [](void* to, log_level, std::string_view, std::string_view text) {
        auto& all = *static_cast<warnings*>(to);
        const std::lock_guard hold(all.lock);
        all.text += std::string(text) + '\n';
      },
      &told);
  CHECK(failure_of(f.text()).empty());
  const std::string part = "t.toml:7: process 'p': everybody can write to the folder of states '" + f.path +
                           "/deep/er', and so change them: chmod o-w it, or name a folder of its own";
  CHECK(told.text.find(part) == std::string::npos);
  REQUIRE(::chmod((f.path + "/deep/er").c_str(), 0777) == 0);
  CHECK(failure_of(f.text()).empty());
  set_log_sink(nullptr, nullptr);
  CHECK(told.text.find(part) != std::string::npos);
}

TEST_CASE("a file that cannot be written is no reason to lose what was saved before") {
  const folder f;
  (void)run_plan(plan_of(f.text()));
  std::filesystem::create_directories(f.file() + ".new");  // in the way
  const ledger l = run_plan(plan_of(f.text()));
  CHECK(l.failed);
  CHECK(f.content().count == 105);
  std::filesystem::remove(f.file() + ".new");
  CHECK_FALSE(run_plan(plan_of(f.text())).failed);
  CHECK(f.content().count == 110);
}

TEST_CASE("the check finds a state that cannot be written, and a class without any") {
  const std::string rest = "state = { folder = \"/tmp/x\" }\n";
  const std::string undescribed =
      errors_of("[service]\nname = \"s\"\n[process.p]\nuse = \"undescribed\"\n" + rest);
  CHECK(undescribed.find(
            "t.toml:6:20: error: state 'kept' of 'undescribed' cannot be written to a file: its type is "
            "not described: LEAT_MESSAGE and LEAT_SETTINGS do that") != std::string::npos);
  const std::string none = errors_of("[service]\nname = \"s\"\n[process.p]\nuse = \"waits\"\n" + rest);
  CHECK(none.find("t.toml:6:20: error: 'waits' saves no state: there is nothing to write") !=
        std::string::npos);
  CHECK(errors_of("[service]\nname = \"s\"\n[process.p]\nuse = \"sums\"\nstate = { every = \"1s\" }\n")
            .find("'folder'") != std::string::npos);
  CHECK(errors_of("[service]\nname = \"s\"\n[process.p]\nuse = \"sums\"\nstate = { folder = \"\" }\n")
            .find("'folder' must name a folder") != std::string::npos);
}
