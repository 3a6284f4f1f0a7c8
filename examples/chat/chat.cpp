// SPDX-License-Identifier: BSL-1.0
//
// A chat room: what one says, all others read.
//
// A connection has two Gs: one reads its lines and sends them to the room, a broadcast channel; one writes
// what the room sends. Each reader of the room has a queue of its own that drops the oldest line when it is
// full, so a client that does not read loses lines, and then, when a write has waited too long, its place.
// Nobody else waits for it.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <leat/leat.hpp>
#include <leat/net.hpp>

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_line = 1000, longest_nick = 20, queued_lines = 256;
constexpr std::chrono::seconds time_to_greet = 30s, time_to_speak = 30min, time_to_write = 10s;

struct line {
  std::shared_ptr<const std::string> text;  // one for all readers
  const void* from = nullptr;               // who does not get it
};

class room {
 public:
  void say(const void* from, std::string text) {
    lines_.send({std::make_shared<const std::string>(std::move(text) + "\n"), from});
  }
  leat::in<line> join() { return lines_.subscribe(queued_lines, leat::full::drop_oldest); }

  bool take_nick(const std::string& nick) {
    std::scoped_lock hold(lock_);
    return nicks_.insert(nick).second;
  }
  void leave(const std::string& nick) {
    std::scoped_lock hold(lock_);
    nicks_.erase(nick);
  }

 private:
  leat::channel<line> lines_{leat::broadcast, queued_lines};
  leat::mutex lock_;
  std::set<std::string> nicks_;
};

bool is_nick(std::string_view text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !text.empty() && text.size() <= longest_nick &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

// What could steer another's terminal becomes blanks.
void make_harmless(std::string& text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
}

// Empty: the client went away.
std::string greet(leat::net::stream& peer, room& r) {
  const leat::deadline until = time_to_greet;
  peer.write("Your name?\n", until);
  while (auto nick = peer.read_line(until)) {
    if (!is_nick(*nick)) {
      peer.write("1 to 20 letters, digits, - or _, please.\n", until);
    } else if (!r.take_nick(*nick)) {
      peer.write("That name is taken.\n", until);
    } else {
      return *nick;
    }
  }
  return {};
}

void write_lines(leat::net::stream& peer, const leat::in<line>& lines) {
  std::uint64_t told = 0;
  while (auto l = lines.recv()) {
    const std::uint64_t lost = lines.stats().dropped;
    if (lost > told)
      peer.write("* " + std::to_string(lost - std::exchange(told, lost)) + " lines lost\n", time_to_write);
    if (l->from != &peer) peer.write(*l->text, time_to_write);
  }
}

void talk(leat::net::stream& peer, room& r) {
  peer.line_limit(longest_line);
  struct guest {
    room& r;
    const std::string nick;
    ~guest() {
      if (!nick.empty()) r.leave(nick);
    }
  } me{r, greet(peer, r)};
  if (me.nick.empty()) return;
  const leat::in<line> lines = r.join();
  r.say(&peer, "* " + me.nick + " is here");
  leat::task_group writer;  // after what it uses
  writer.go([&] {
    try {
      peer.write("Welcome, " + me.nick + ".\n", time_to_write);
      write_lines(peer, lines);
    } catch (const std::system_error&) {
      peer.shutdown();  // it does not read: ends the loop below
    }
  });
  try {
    while (auto said = peer.read_line(time_to_speak)) {
      make_harmless(*said);
      r.say(&peer, me.nick + ": " + *said);
    }
  } catch (const std::system_error&) {
    // Reset, too long a line, or nothing said for too long.
  }
  r.say(&peer, "* " + me.nick + " has left");
}

}  // namespace

int main(int argc, char** argv) try {
  return leat::run([&] {
    leat::net::listener at = leat::net::listen(argc > 1 ? argv[1] : "127.0.0.1:7001");
    std::fprintf(stderr, "chat: on %s\n", at.local().text().c_str());
    room r;
    leat::task_group group;
    group.go([&, quit = leat::signals(SIGINT, SIGTERM)] {
      if (quit.recv()) at.shutdown();
    });
    leat::net::serve(at, [&](leat::net::stream& peer) { talk(peer, r); }, {.name = "guest"});
  });
} catch (const std::exception& e) {
  std::fprintf(stderr, "chat: %s\n", e.what());
  return 1;
}
