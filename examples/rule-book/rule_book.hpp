// SPDX-License-Identifier: BSL-1.0
//
// A rule book that is asked: an actor, those who ask it, and what they hand on.
#pragma once
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

// A structure of settings: a table of the file. `sensor` must be given, the others have what stands here.
struct rule {
  std::string sensor;
  double above = 80;
  std::string say = "too high";
};
LEAT_SETTINGS(rule, (sensor, leat::required, leat::help{"whom it is about"}),
              (above, leat::between(-300, 3000), leat::help{"alarm above this"}), say);

// What is asked, and what is answered.
struct measurement {
  std::string sensor;
  double value;
};
LEAT_MESSAGE(measurement, sensor, value);
struct verdict {
  bool alarm;
  std::string text;
};
LEAT_MESSAGE(verdict, alarm, text);
struct new_limit {
  std::string sensor;
  double above;
};
LEAT_MESSAGE(new_limit, sensor, above);
struct old_limit {
  double above;
};
LEAT_MESSAGE(old_limit, above);
// What is only told.
struct complaint {
  std::string about;
};
LEAT_MESSAGE(complaint, about);
// What travels and is nobody's business on the way: it has a name and no fields, and may be move-only.
struct protocol {
  std::unique_ptr<std::vector<std::string>> lines;
};
LEAT_OPAQUE(protocol);

// The actor. One message at a time: its map needs no lock, and nobody else can reach it.
class rule_book : public leat::process {
  leat::inbox<complaint, ask<measurement, verdict>, ask<new_limit, old_limit>> inbox{this, "inbox"};
  leat::setting<std::vector<rule>> rules{this, "rules", leat::required, "what is in the book"};

  void run() override {
    std::map<std::string, rule> book;
    for (const rule& r : *rules) book[r.sensor] = r;
    int asked = 0, complaints = 0;
    inbox.handle([&](const complaint&) { ++complaints; },
                 [&](const measurement& m, leat::reply<verdict> answer) {
                   ++asked;
                   const auto found = book.find(m.sensor);
                   if (found == book.end()) return answer.fail();  // as if it were just forgotten
                   const bool alarm = m.value > found->second.above;
                   answer({alarm, alarm ? found->second.say : "fine"});
                 },
                 [&](const new_limit& l, leat::reply<old_limit> answer) {
                   rule& r = book[l.sensor];
                   answer({std::exchange(r.above, l.above)});
                 });
    // All who could ask have ended, or it is stopped.
    std::printf("the book was asked %d times, %d complaints\n", asked, complaints);
  }
};
LEAT_PROCESS(rule_book, "knows the rules, and answers");

class inspector : public leat::process {
  leat::client<measurement, verdict> book{this, "book"};
  leat::client<new_limit, old_limit> limits{this, "limits", leat::optional_port};
  leat::out<complaint> complaints{this, "complaints", leat::optional_port};
  leat::out<protocol> done{this, "done", leat::optional_port};
  leat::setting<std::vector<std::string>> lines{this, "lines", leat::required, "measurements, as JSON"};
  leat::setting<std::optional<double>> stricter{this, "stricter",
                                                leat::help{"the limit of all, for a second round"}};
  leat::setting<std::chrono::milliseconds> patience{this, "patience", std::chrono::seconds(10),
                                                    "for an answer"};

  void run() override {
    protocol p{std::make_unique<std::vector<std::string>>()};
    for (const std::string& line : *lines) p.lines->push_back(judge(line));
    if (stricter->has_value())
      for (const std::string& line : *lines) p.lines->push_back(again(line, **stricter));
    done.send(std::move(p));
  }

  std::string judge(const std::string& line) {
    try {
      const auto m = leat::from_json<measurement>(line);
      std::optional<verdict> v;
      const leat::ask_status how = book.ask(m, v, leat::deadline(*patience));
      if (how == leat::ask_status::answered) return m.sensor + ": " + leat::to_json(*v);
      complaints.send({m.sensor});
      return m.sensor + ": no verdict, " + to_string(how);
    } catch (const leat::message_error& e) {
      return line + ": " + e.what();  // with line, column and field
    }
  }

  std::string again(const std::string& line, double limit) {
    try {
      const auto m = leat::from_json<measurement>(line);
      if (!limits.ask({m.sensor, limit}, leat::deadline(*patience))) return m.sensor + ": the limit stays";
      return judge(line);
    } catch (const leat::message_error&) {
      return line + ": still wrong";
    }
  }
};
LEAT_PROCESS(inspector, "asks the book about each measurement");

class clerk : public leat::process {
  leat::in<protocol> protocols{this, "protocols"};

  void run() override {
    for (const protocol& p : protocols)
      for (const std::string& line : *p.lines) std::printf("%s\n", line.c_str());
  }
};
LEAT_PROCESS(clerk, "prints protocols");
