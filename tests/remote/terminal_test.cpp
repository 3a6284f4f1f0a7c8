// SPDX-License-Identifier: BSL-1.0
//
// `leat top` at a terminal of its own: what it draws, and that it leaves the terminal as it was however it ends.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include <memory>
#include <string_view>

#include <leat/base/clock.hpp>

#include "remote/fake_deployment.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

extern char** environ;

namespace leat::remote {
namespace {

using namespace test;

constexpr int patience_ms = 45'000;
const std::string end_of_screen = "\033[?25h\033[?1049l";

// A program with a controlling terminal, as in a window of somebody's.
class at_terminal {
 public:
  at_terminal(std::vector<std::string> argv, std::vector<std::string> environment, unsigned short width = 80,
              unsigned short height = 24) {
    fd_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
    REQUIRE(::grantpt(fd_) == 0);
    REQUIRE(::unlockpt(fd_) == 0);
    resize(width, height);
    const std::string name = ::ptsname(fd_);
    theirs_ = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(theirs_ >= 0);
    REQUIRE(::tcgetattr(theirs_, &before_) == 0);
    for (char** e = environ; *e; ++e) {
      const std::string key(*e, std::strcspn(*e, "="));
      bool given = key == "ASAN_OPTIONS" || key == "RUNTIME_DIRECTORY" || key == "NO_COLOR";
      for (const std::string& x : environment) given = given || x.starts_with(key + '=') || x == key;
      if (!given) environment.emplace_back(*e);
    }
    environment.push_back(leat::test::leaks_once(argv.front()));
    std::vector<char*> words, variables;
    for (std::string& a : argv) words.push_back(a.data());
    for (std::string& e : environment)
      if (e.find('=') != std::string::npos) variables.push_back(e.data());
    words.push_back(nullptr);
    variables.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      ::ioctl(theirs_, TIOCSCTTY, 0);
      for (const int fd : {0, 1, 2}) ::dup2(theirs_, fd);
      ::execve(words[0], words.data(), variables.data());
      ::_exit(127);
    }
  }
  ~at_terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(theirs_);
    ::close(fd_);
  }
  at_terminal(const at_terminal&) = delete;
  at_terminal& operator=(const at_terminal&) = delete;

  void type(std::string_view bytes) const { (void)!::write(fd_, bytes.data(), bytes.size()); }
  void signal(int number) const { ::kill(pid_, number); }
  void resize(unsigned short width, unsigned short height) const {
    winsize size{};
    size.ws_col = width;
    size.ws_row = height;
    ::ioctl(fd_, TIOCSWINSZ, &size);
  }
  // Waits until it has said this after what was asked for before.
  bool says(const std::string& text) {
    for (;;) {
      if (const std::size_t at = said.find(text, seen_); at != std::string::npos) {
        seen_ = at + text.size();
        return true;
      }
      if (!read(patience_ms)) return false;
    }
  }
  bool raw() const {
    termios t{};
    ::tcgetattr(theirs_, &t);
    return (t.c_lflag & (ICANON | ECHO)) == 0;
  }
  bool as_before() const {
    termios t{};
    ::tcgetattr(theirs_, &t);
    return t.c_lflag == before_.c_lflag && t.c_iflag == before_.c_iflag && t.c_oflag == before_.c_oflag;
  }
  // Until it is suspended. A signal that continues it sooner would be lost.
  bool stopped() const {
    int status = 0;
    return ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
  }
  // Its exit code; -1: a signal.
  int end() {
    int status = 0;
    for (const time_point until = now() + std::chrono::milliseconds(patience_ms); now() < until;) {
      read(10);
      if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
      pid_ = -1;
      while (read(0)) {
      }
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return -2;
  }

  std::string said;

 private:
  bool read(int ms) {
    pollfd p{fd_, POLLIN, 0};
    if (::poll(&p, 1, ms) != 1) return false;
    char data[8192];
    const ssize_t n = ::read(fd_, data, sizeof data);
    if (n <= 0) return false;
    said.append(data, static_cast<std::size_t>(n));
    return true;
  }

  int fd_ = -1, theirs_ = -1;
  termios before_{};
  pid_t pid_ = -1;
  std::size_t seen_ = 0;
};

std::vector<std::string> top_words() {
  return {leat::test::program_path("leat"), "top", "-d", "climate", "--interval", "100ms"};
}

}  // namespace

TEST_CASE("however top ends, the terminal is as it was") {
  const runtime_folder folder;
  const fake_deployment d(folder.socket("climate"));
  // Ctrl-C and Ctrl-\ are typed; the others come from elsewhere.
  for (const auto& [typed, number] :
       {std::pair("q", 0), {"\003", 0}, {"\034", 0}, {"", SIGTERM}, {"", SIGHUP}}) {
    const std::string keys = typed;  // a lambda cannot have a binding
    const int signal_number = number;
    CAPTURE(keys);
    CAPTURE(signal_number);
    at_terminal t(top_words(), folder.environment());
    REQUIRE(t.says("\033[?1049h"));
    REQUIRE(t.says("q quit"));
    CHECK(t.raw());
    if (number != 0) t.signal(number);
    t.type(keys);
    CHECK(t.end() == 0);
    CHECK(t.said.ends_with(end_of_screen));
    CHECK(t.as_before());
  }
}

TEST_CASE("top is suspended and comes back") {
  const runtime_folder folder;
  const fake_deployment d(folder.socket("climate"));
  at_terminal t(top_words(), folder.environment());
  REQUIRE(t.says("q quit"));
  t.signal(SIGTSTP);
  REQUIRE(t.says(end_of_screen));
  REQUIRE(t.stopped());
  CHECK(t.as_before());
  t.signal(SIGCONT);
  REQUIRE(t.says("\033[?1049h"));
  REQUIRE(t.says("q quit"));
  CHECK(t.raw());
  t.type("q");
  CHECK(t.end() == 0);
  CHECK(t.as_before());
}

TEST_CASE("keys change the screen, and a page about a process asks for more") {
  const runtime_folder folder;
  const fake_deployment d(folder.socket("climate"));
  at_terminal t(top_words(), folder.environment());
  REQUIRE(t.says("> probe"));
  t.type("\033[B");
  CHECK(t.says("> smooth/0"));
  t.type("/http\r");
  CHECK(t.says(">!post"));
  t.type("\r");
  CHECK(t.says("http_post::run() at http_post.cpp:61"));
  t.type("\033");
  CHECK(t.says("sort: plan"));
  t.type("s");
  CHECK(t.says("sort: cpu"));
  t.type("?");
  CHECK(t.says("leat top: what a running deployment does"));
  t.type("q");
  CHECK(t.end() == 0);
}

TEST_CASE("a window that changes its size is drawn anew") {
  const runtime_folder folder;
  const fake_deployment d(folder.socket("climate"));
  at_terminal t(top_words(), folder.environment());
  REQUIRE(t.says("q quit"));
  CHECK(t.said.find("CLASS") == std::string::npos);
  t.resize(200, 60);
  CHECK(t.says("\033[2J"));
  CHECK(t.says("CLASS"));
  CHECK(t.says("\033[60;1H"));
  t.type("q");
  CHECK(t.end() == 0);
}

TEST_CASE("a deployment that goes away is looked for, and found again") {
  const runtime_folder folder;
  auto d = std::make_unique<fake_deployment>(folder.socket("climate"));
  at_terminal t(top_words(), folder.environment());
  REQUIRE(t.says("q quit"));
  d.reset();
  CHECK(t.says("It went away"));
  std::string other = sample_state();
  other.replace(other.find("\"uptime\":812.4"), 14, "\"uptime\":3.0");
  d = std::make_unique<fake_deployment>(folder.socket("climate"), [other](const fake_request&) {
    return fake_deployment::answer{http_text(200, other)};
  });
  CHECK(t.says("running 3.0s"));
  t.type("q");
  CHECK(t.end() == 0);
}

TEST_CASE("a deployment that hangs does not keep the keys") {
  const runtime_folder folder;
  std::atomic<int> asked_for = 0;
  const fake_deployment d(folder.socket("climate"), [&](const fake_request&) {
    return asked_for++ == 0 ? fake_deployment::answer{http_text(200, sample_state())}
                            : fake_deployment::answer{"", true};
  });
  at_terminal t(top_words(), folder.environment());
  REQUIRE(t.says("q quit"));
  t.type("s");
  CHECK(t.says("sort: cpu"));
  CHECK(t.says("No answer"));
  t.type("\003");
  CHECK(t.end() == 0);
  CHECK(t.as_before());
}

TEST_CASE("without colour, and on a terminal that cannot be drawn on") {
  const runtime_folder folder;
  const fake_deployment d(folder.socket("climate"));
  std::vector<std::string> plain{"XDG_RUNTIME_DIR=" + folder.path(), "TERM=xterm", "NO_COLOR=1"};
  at_terminal t(top_words(), plain);
  REQUIRE(t.says("q quit"));
  CHECK(t.said.find("\033[31m") == std::string::npos);
  CHECK(t.said.find("\033[7m") == std::string::npos);
  t.type("q");
  CHECK(t.end() == 0);
  at_terminal dumb(top_words(), {"XDG_RUNTIME_DIR=" + folder.path(), "TERM=dumb"});
  CHECK(dumb.end() == 0);
  CHECK(dumb.said.find('\033') == std::string::npos);
  CHECK(dumb.said.find("PROCESS") != std::string::npos);
}

}  // namespace leat::remote
