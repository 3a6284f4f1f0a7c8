// SPDX-License-Identifier: BSL-1.0
#include <sys/wait.h>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <leat/process/state_store.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

// As exec keeps it.
struct kept_group {
  std::int64_t group = 0, by = 0, since = 0;
};
LEAT_SETTINGS(kept_group, group, by, since);

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

TEST_CASE("a program that is killed before its patience is over is not said to have had it") {
  log_reader log;
  runtime_options o = with_procs(2);
  o.grace = 30ms;  // then everybody is insisted on, also the G that waits for the program
  leat::run(o, [] {
    const leat::channel<int> ready(1);
    leat::go([ready] {
      rig deaf("exec");
      const auto out = deaf.channel("out");
      shell(deaf, "trap '' TERM; echo ready; while :; do sleep 0.05; done").set("patience", 1h).start();
      (void)out.recv_until(patience);
      ready.send(1);
      (void)deaf.wait(deadline::never());
    });
    CHECK(ready.recv_until(patience));
  });
  CHECK(log.has("to end after SIGTERM, instead of 1h: SIGKILL"));
  CHECK(!log.has("did not end within 1h"));
  while (::waitpid(-1, nullptr, 0) > 0) {  // nobody was left to wait for it
  }
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

TEST_CASE("a program that an earlier object has left running is ended before it is started again") {
  // The earlier one is not behind a fence here, so both use the state.
  if (fiber::under_tsan) return;
  run_clean(with_procs(2), [] {
    log_reader log;
    const auto states = std::make_shared<state_store>();
    const auto started = [&](rig& r) {
      r.set("command", std::vector<std::string>{"sh", "-c", "echo $$; exec sleep 1000"}).keep_in(states);
      const leat::channel<record> out = r.channel("out");
      r.start();
      const auto line = out.recv_until(patience);
      REQUIRE(line);
      return static_cast<pid_t>(line->number("line").value_or(std::stod(*line->text("line"))));
    };
    // As if it had been quarantined: it is still there when the next one starts.
    rig first("exec"), second("exec");
    const pid_t one = started(first), two = started(second);
    CHECK(one != two);
    CHECK(log.has("(process " + std::to_string(one) + ") is still there: SIGKILL"));
    CHECK(::kill(one, 0) != 0);
    CHECK(first.wait() == ended::failed);
    CHECK(::kill(two, 0) == 0);
    CHECK(second.stop() == ended::returned);
  });
}

TEST_CASE("a group that another program has noted is a stranger's, and left alone") {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::setpgid(0, 0);
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(127);
  }
  REQUIRE(stranger > 0);
  ::setpgid(stranger, stranger);
  run_clean(with_procs(2), [&] {
    log_reader log;
    for (const std::vector<std::uint8_t>& kept :
         {to_cbor(std::int64_t{stranger}), to_cbor(kept_group{stranger, 1, 1}),
          to_cbor(kept_group{stranger, ::getpid(), 1})}) {
      const auto states = std::make_shared<state_store>();
      state_store::keeping k;
      k.read.push_back({"group", kept});
      states->keep(std::move(k));
      rig r("exec");
      r.set("command", strings{"true"}).keep_in(states).start();
      CHECK(r.wait() == ended::returned);
    }
    CHECK_FALSE(log.has("is still there: SIGKILL"));
  });
  CHECK(::waitpid(stranger, nullptr, WNOHANG) == 0);
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
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

TEST_CASE("a program that does not read makes its sender wait; what is in hand at the end is told") {
  at_procs([] {
    log_reader log;
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
    r.destroy();
    CHECK(log.has("exec: lost 1 record: it was stopped"));
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

TEST_CASE("a program that fails is started again, later and later, and goes on with the next record") {
  at_procs([] {
    log_reader log;
    rig r("exec");
    const auto in = r.channel("values", 0), out = r.channel("out");
    shell(r, "read l || exit 0; echo \"$l\"; exit 3").set("restart", "failure").set("retry", 1ms);
    r.set("retry_most", 1h).start();
    for (std::size_t i = 1; i <= 4; ++i) {
      CHECK(in.send_until({{"line", std::to_string(i)}}, patience) == send_status::sent);
      const auto got = out.recv_until(patience);
      REQUIRE(got);
      CHECK(*got->text("line") == std::to_string(i));
      // What is sent before may go to the one that is about to end.
      CHECK(eventually([&] { return log.count("\"sh\" exited with 3: starts it again in") == i; }));
    }
    for (const char* pause : {"1ms", "2ms", "4ms", "8ms"})
      CHECK(log.count(std::string("again in ") + pause) == 1);
    in.close();
    CHECK(r.wait() == ended::returned);  // by a program that found nothing more to read
    CHECK(no_child_is_left());
  });
}

TEST_CASE("one that is always wanted is started again until it is stopped, or nobody reads it") {
  at_procs([] {
    rig r("exec");
    const auto out = r.channel("out", 1);
    shell(r, "echo on").set("restart", "always").set("retry", 1ms).start();
    for (int i = 0; i < 3; ++i) CHECK(out.recv_until(patience));
    CHECK(r.stop() == ended::returned);

    rig unread("exec");
    const auto closed = unread.channel("out", 1);
    shell(unread, "echo on").set("restart", "always").set("retry", 1ms).start();
    CHECK(closed.recv_until(patience));
    closed.close();
    CHECK(unread.wait() == ended::returned);

    log_reader log;
    rig slow("exec");  // a stop does not wait for the pause
    shell(slow, "exit 1").set("restart", "failure").set("retry", 1h).start();
    CHECK(eventually([&] { return log.has("starts it again in 1h"); }));
    CHECK(slow.stop() == ended::returned);
    CHECK(no_child_is_left());
  });
}

TEST_CASE("a line that a program did not take is for the next one, under a head of its own") {
  at_procs([] {
    const temp_folder folder;
    // The first one closes its input, and ends when it is told to.
    const std::string script = "cd " + folder.path() +
                               "; [ -e second ] && exec cat; exec 0<&-; echo closed,closed; "
                               "while [ ! -e second ]; do sleep 0.01; done; exit 1";
    rig r("exec");
    const auto in = r.channel("values"), out = r.channel("out");
    shell(r, script).set("format", "csv").set("columns", strings{"a", "b"}).set("restart", "failure");
    r.set("retry", 1ms).set("bad", "drop").start();
    CHECK(out.recv_until(patience));
    in.send({{"a", 1}, {"b", "x"}});
    CHECK(eventually([&] { return in.size() == 0; }));
    in.send({{"a", 2}, {"b", "y"}});
    in.close();
    std::ofstream(folder / "second") << "";
    CHECK(r.wait() == ended::returned);
    const auto all = drained(out);  // the line of names is a row to one that has been given them
    CHECK(texts_of(all, "a") == strings{"a", "1", "2"});

    log_reader log;
    std::filesystem::remove(folder / "second");
    rig stops("exec");
    const auto in2 = stops.channel("values", 0);
    const auto out2 = stops.channel("out");
    shell(stops, script).set("restart", "failure").set("patience", 10ms).start();
    CHECK(out2.recv_until(patience));
    in2.send({{"line", "x"}});
    CHECK(stops.stop() == ended::returned);
    stops.destroy();
    CHECK(log.has("exec: lost 1 record: it was stopped"));
    CHECK(no_child_is_left());
  });
}

}  // namespace
}  // namespace leat::stock::test
