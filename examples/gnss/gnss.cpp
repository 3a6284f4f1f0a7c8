// SPDX-License-Identifier: BSL-1.0
//
// Positions from a satellite receiver at a serial port (NMEA 0183), with a parser that has a bug on purpose.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/net.hpp>

using namespace std::chrono_literals;

struct sentence {
  std::string text;
};
LEAT_MESSAGE(sentence, text);

struct fix {
  std::string utc;  // as the receiver says it: 123519.00
  double latitude, longitude;
  int satellites;
};
LEAT_MESSAGE(fix, utc, latitude, longitude, satellites);

class receiver : public leat::process {
  leat::out<sentence> sentences{this, "sentences", "what it says, line by line"};
  leat::setting<std::string> port{this, "port", leat::required, "serial port, or a pty that plays one"};
  leat::setting<unsigned> baud{this, "baud", 9600, "bits per second", leat::between(1200u, 4000000u)};
  leat::setting<std::chrono::milliseconds> silence{this, "silence", 10s, "longest time without a line"};

  // A port that is not there, is pulled out or falls silent is a failure: the supervisor tries again.
  void run() override {
    leat::net::stream line = leat::net::open_serial(*port, {.baud = *baud});
    while (std::optional<std::string> text = line.read_line(*silence))
      if (sentences.send({std::move(*text)}) == leat::send_status::closed) return;
    throw std::runtime_error(*port + " has ended");
  }
};
LEAT_PROCESS(receiver, "reads lines from a serial port");

class parser : public leat::process {
  leat::in<sentence> sentences{this, "sentences", "NMEA 0183"};
  leat::out<fix> fixes{this, "fixes", "positions that the receiver is sure of"};

  static bool sum_is_right(std::string_view s) {
    const std::size_t star = s.rfind('*');
    if (s.empty() || s[0] != '$' || star == std::string_view::npos || s.size() != star + 3) return false;
    unsigned char sum = 0;
    for (const char c : s.substr(1, star - 1))
      sum = static_cast<unsigned char>(sum ^ static_cast<unsigned char>(c));
    unsigned wanted = 0;
    return std::from_chars(s.data() + star + 1, s.data() + s.size(), wanted, 16).ec == std::errc{} &&
           sum == wanted;
  }

  // The bug: it looks for the next comma from where the last one was; without one it never gets on.
  static std::vector<std::string_view> split(std::string_view s) {
    std::vector<std::string_view> out;
    std::size_t begin = 0;
    while (begin < s.size()) {
      std::size_t comma = s.find(',', begin);
      if (comma == std::string_view::npos && s.find("TXT") != std::string_view::npos) continue;
      comma = std::min(comma, s.size());
      out.push_back(s.substr(begin, comma - begin));
      begin = comma + 1;
    }
    return out;
  }

  // "4807.038", "N" is 48 degrees and 7.038 minutes.
  static double degrees(std::string_view text, std::string_view side) {
    double v = 0;
    if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc{})
      throw std::invalid_argument("no angle: '" + std::string(text) + "'");
    const double whole = static_cast<double>(static_cast<int>(v / 100));
    const double angle = whole + (v - 100 * whole) / 60;
    return side == "S" || side == "W" ? -angle : angle;
  }

  void run() override {
    for (const sentence& s : sentences) {
      if (!sum_is_right(s.text)) continue;
      const std::vector<std::string_view> part = split(std::string_view(s.text).substr(0, s.text.size() - 3));
      if (part.size() < 8 || !part[0].ends_with("GGA") || part[6] == "0") continue;
      int satellites = 0;
      std::from_chars(part[7].data(), part[7].data() + part[7].size(), satellites);
      fixes.send({std::string(part[1]), degrees(part[2], part[3]), degrees(part[4], part[5]), satellites});
    }
  }
};
LEAT_PROCESS(parser, "positions from NMEA sentences; hangs at a TXT sentence");

class chart : public leat::process {
  leat::in<fix> fixes{this, "fixes", "to be shown"};

  void run() override {
    for (const fix& f : fixes) {
      std::printf("%s  %.5f %.5f  (%d satellites)\n", f.utc.c_str(), f.latitude, f.longitude, f.satellites);
      std::fflush(stdout);
    }
  }
};
LEAT_PROCESS(chart, "prints positions");

int main(int argc, char** argv) { return leat::main(argc, argv); }
