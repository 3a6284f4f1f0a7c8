// SPDX-License-Identifier: BSL-1.0
#include <sys/wait.h>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

rig& shell(rig& r, const std::string& script) { return r.set("command", strings{"sh", "-c", script}); }

std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

// Neither running nor waiting to be reaped.
bool no_child_is_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

// Not one that has ended, although nobody has reaped it yet.
bool is_alive(const std::string& pid_file) {
  int pid = 0;
  std::string number, name, state;
  if (!(std::ifstream(pid_file) >> pid)) return false;
  return (std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> number >> name >> state) && state != "Z";
}

TEST_CASE("records go through another program and come back") {
  at_procs([] {
    rig r("exec");
    const auto in = r.channel("values", 1), out = r.channel("out", 1);
    r.set("command", strings{"cat"}).set("format", "json").start();
    auto sender = spawn([&] {
      for (int i = 0; i < 500; ++i) in.send({{"n", i}, {"pad", std::string(500, 'x')}});
      in.close();
    });
    int right = 0;
    for (int i = 0; i < 500; ++i)
      if (const auto x = out.recv_until(patience)) right += x->number("n") == i;
    CHECK(right == 500);
    CHECK(r.wait() == ended::returned);
    sender.join();
    CHECK(no_child_is_left());
  });
}

TEST_CASE("a program without an input gets none, and its last line counts") {
  at_procs([] {
    rig r("exec");
    const auto out = r.channel("out");
    shell(r, "cat; echo one; printf two").set("field", "line").start();
    CHECK(r.wait() == ended::returned);
    CHECK(texts_of(drained(out), "line") == strings{"one", "two"});
  });
}

TEST_CASE("its arguments are not for a shell, its directory and environment are its own") {
  at_procs([] {
    const temp_folder folder;
    rig r("exec");
    const auto out = r.channel("out");
    r.set("command", strings{"sh", "-c", "echo \"$1\"; echo $COLOUR; pwd -P", "sh", "$HOME; exit 9"});
    r.set("environment", strings{"COLOUR=green"}).set("directory", folder.path()).start();
    CHECK(r.wait() == ended::returned);
    CHECK(texts_of(drained(out), "line") ==
          strings{"$HOME; exit 9", "green", std::filesystem::canonical(folder.path()).string()});
  });
}

TEST_CASE("a program that fails fails its process, after its last words are in the log") {
  at_procs([] {
    log_reader log;
    const auto why = [](const std::string& script) {
      rig r("exec");
      const auto out = r.channel("out");
      shell(r, script).start();
      return r.failure();
    };
    CHECK(why("echo too hot >&2; printf 'and cold' >&2; exit 3") == "\"sh\" exited with 3");
    CHECK(log.has("exec: too hot"));
    CHECK(log.has("exec: and cold"));
    CHECK(why("kill -9 $$") == "\"sh\" killed by signal 9 (Killed)");
    const auto cannot = [](const strings& command) {
      rig r("exec");
      r.set("command", command).start();
      return r.failure();
    };
    CHECK(cannot({"no-such-program-of-leat"}).ends_with("No such file or directory"));
    CHECK(cannot({}).ends_with("setting 'command': no program is named"));
    CHECK(no_child_is_left());
  });
}

TEST_CASE("what it prints goes to the log when nobody reads it") {
  at_procs([] {
    log_reader log;
    rig r("exec");
    shell(r, "echo hello; head -c 5000 /dev/zero | tr '\\0' x; echo").start();
    CHECK(r.wait() == ended::returned);
    CHECK(log.has("exec: hello"));
    CHECK(log.has("exec: (a long line)"));
  });
}

TEST_CASE("a program is asked to end before it is made to") {
  at_procs([] {
    const temp_folder folder;
    const std::string said = folder / "said";
    rig polite("exec");
    const auto out = polite.channel("out");
    shell(polite, "trap 'echo bye >" + said + "; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
        .set("patience", 1h)
        .start();
    REQUIRE(out.recv_until(patience));
    CHECK(polite.stop() == ended::returned);
    CHECK(std::filesystem::exists(said));
    CHECK(no_child_is_left());

    log_reader log;
    rig deaf("exec");
    const auto out2 = deaf.channel("out");
    shell(deaf, "trap '' TERM; echo ready; while :; do sleep 0.05; done").set("patience", 20ms).start();
    REQUIRE(out2.recv_until(patience));
    CHECK(deaf.stop() == ended::returned);
    CHECK(log.has("did not end within 20ms after SIGTERM: SIGKILL"));
    CHECK(no_child_is_left());
  });
}

TEST_CASE("those that it has started are asked to end as well") {
  at_procs([] {
    const temp_folder folder;
    const std::string pid = folder / "pid";
    rig r("exec");
    const auto out = r.channel("out");
    shell(r, "sleep 1000 & echo $! >" + pid + "; echo ready; wait").start();
    REQUIRE(out.recv_until(patience));
    CHECK(is_alive(pid));
    CHECK(r.stop() == ended::returned);
    CHECK(eventually([&] { return !is_alive(pid); }));
  });
}

TEST_CASE("those that it has started do not outlive it, however it ends") {
  at_procs([] {
    const temp_folder folder;
    const std::string pid = folder / "pid";
    // In its group, deaf, and with none of its pipes open.
    const std::string deaf =
        "sh -c 'trap \"\" TERM; echo $$ >" + pid + "; echo ready; exec 1>&- 2>&-; exec sleep 1000' & ";
    const auto number = [&] {
      int n = 0;
      std::ifstream(pid) >> n;
      return n;
    };
    {
      rig stopped("exec");
      const auto out = stopped.channel("out");
      shell(stopped, deaf + "trap 'exit 0' TERM; while :; do sleep 0.05; done").start();
      REQUIRE(out.recv_until(patience));
      CHECK(number() > 1);
      CHECK(stopped.stop() == ended::returned);
    }
    CHECK(eventually([&] { return !is_alive(pid); }));
    {
      rig done("exec");
      const auto out = done.channel("out");
      shell(done, deaf + "sleep 0.1; exit 0").start();
      REQUIRE(out.recv_until(patience));
      CHECK(done.wait() == ended::returned);
    }
    CHECK(eventually([&] { return !is_alive(pid); }));
    CHECK(no_child_is_left());
  });
}

TEST_CASE("one that has ended is not waited for because others have its output") {
  at_procs([] {
    const temp_folder folder;
    const std::string pid = folder / "pid";
    log_reader log;
    rig r("exec");
    const auto out = r.channel("out");
    shell(r, "sleep 1000 & echo $! >" + pid + "; echo done").set("patience", 1ms).start();
    REQUIRE(out.recv_until(patience));
    CHECK(r.wait() == ended::returned);
    CHECK(log.has("others have its standard output open"));
    CHECK(eventually([&] { return !is_alive(pid); }));
  });
}

TEST_CASE("it ends when nobody reads it any more, and with what cannot be a message") {
  at_procs([] {
    rig r("exec");
    const auto out = r.channel("out", 1);
    r.set("command", strings{"yes"}).start();
    REQUIRE(out.recv_until(patience));
    out.close();
    CHECK(r.wait() == ended::returned);

    rig wrong("exec");
    const auto records = wrong.channel("out");
    shell(wrong, "echo '{]'; sleep 1000").set("format", "json").set("bad", "fail").start();
    CHECK(wrong.failure().ends_with("(bad = \"fail\")"));

    rig input("exec");
    const auto in = input.channel("values");
    input.set("command", strings{"cat"}).set("bad", "fail").start();
    in.send({{"value", 1}});
    CHECK(input.failure() == "field 'line' is missing (bad = \"fail\")");
    CHECK(no_child_is_left());
  });
}

TEST_CASE("a program that closes its input loses what comes, and that is told") {
  at_procs([] {
    log_reader log;
    rig r("exec");
    const auto in = r.channel("values", 1), out = r.channel("out");
    shell(r, "exec 0<&-; echo ready; while :; do sleep 0.05; done").start();
    REQUIRE(out.recv_until(patience));
    for (int i = 0; i < 10; ++i) CHECK(in.send_until({{"line", "x"}}, patience) == send_status::sent);
    CHECK(eventually([&] { return log.has("exec: lost: its standard input is closed"); }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a program that does not read makes its sender wait") {
  at_procs([] {
    rig r("exec");
    const auto in = r.channel("values", 1), out = r.channel("out");
    shell(r, "echo ready; while :; do sleep 0.05; done").start();
    REQUIRE(out.recv_until(patience));
    const record big{{"line", std::string(50000, 'x')}};
    // A pipe holds some; then no more is taken.
    std::uint64_t sent = 0;
    while (in.send_until(big, 500ms) == send_status::sent) ++sent;
    CHECK(sent < 100);
    CHECK(r.stop() == ended::returned);
    CHECK(no_child_is_left());
  });
}

TEST_CASE("no descriptor is left open, however it ends") {
  run_clean(with_procs(2), [] {
    const auto once = [](const std::string& script, bool stop) {
      rig r("exec");
      const auto in = r.channel("values"), out = r.channel("out");
      shell(r, script).start();
      if (stop) {
        (void)out.recv_until(patience);
        (void)r.stop();
      } else {
        (void)r.wait();
      }
    };
    once("exit 0", false);  // the runtime's own
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 5; ++i) {
      once("exit 0", false);
      once("exit 1", false);
      once("echo ready; cat", true);
      rig none("exec");
      none.set("command", strings{"no-such-program-of-leat"}).start();
      (void)none.wait();
    }
    CHECK(open_descriptors() == before);
    CHECK(no_child_is_left());
  });
}

}  // namespace
}  // namespace leat::stock::test
