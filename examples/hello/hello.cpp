// SPDX-License-Identifier: BSL-1.0
#include <cstdio>

#include <leat/leat.hpp>
#include <leat/main.hpp>

struct greeting {
  std::string text;
  int number;
};
LEAT_MESSAGE(greeting, text, number);

class greeter : public leat::process {
  leat::out<greeting> words{this, "words"};
  leat::setting<std::string> whom{this, "whom", "world", "who is greeted"};
  leat::setting<int> times{this, "times", 3, "how often", leat::between(1, 1000)};

  void run() override {
    for (int i = 1; i <= times; ++i) words.send({"hello, " + *whom, i});
  }
};
LEAT_PROCESS(greeter, "says hello some times");

class printer : public leat::process {
  leat::in<greeting> words{this, "words"};

  void run() override {
    for (const greeting& g : words) std::printf("%d: %s\n", g.number, g.text.c_str());
  }
};
LEAT_PROCESS(printer, "prints what it hears");

int main(int argc, char** argv) { return leat::main(argc, argv); }
