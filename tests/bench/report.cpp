// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace leat::bench {

namespace {

std::string number(double v) {
  std::array<char, 40> text;
  const double size = std::fabs(v);
  std::snprintf(text.data(), text.size(), "%.*f", size < 10 ? 2 : size < 1000 ? 1 : 0, v);
  return text.data();
}

std::string exact(double v) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.9g", v);
  return text.data();
}

std::string in_quotes(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code;
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string describe(const std::vector<verdict>& verdicts) {
  std::string text;
  for (const verdict& v : verdicts) {
    if (!text.empty()) text += "; ";
    text += v.bound + ": ";
    if (!v.problem.empty()) {
      text += "not judged, " + v.problem;
      continue;
    }
    text += v.met ? "met" : "MISSED";
    if (v.relative) text += " (" + number(v.value) + " x)";
  }
  return text;
}

}  // namespace

void print_table(std::FILE* out, const std::vector<figure>& figures) {
  using row = std::array<std::string, 7>;
  std::vector<row> rows{{"workload", "procs", "median", "min", "max", "unit", "bound"}};
  for (const figure& f : figures) {
    row r{f.name(), std::to_string(f.procs), "-", "-", "-", f.unit, ""};
    if (!f.values.empty()) {
      r[2] = number(f.median());
      r[3] = number(f.min());
      r[4] = number(f.max());
      r[6] = describe(judge(f, figures));
    } else {
      r[6] = (f.result == figure::outcome::skipped ? "skipped: " : "FAILED: ") + f.failure;
    }
    rows.push_back(std::move(r));
  }
  std::array<std::size_t, 7> width{};
  for (const row& r : rows) {
    for (std::size_t i = 0; i < r.size(); ++i) width[i] = std::max(width[i], r[i].size());
  }
  for (const row& r : rows) {
    std::string line;
    for (std::size_t i = 0; i < r.size(); ++i) {
      const std::string pad(width[i] - r[i].size(), ' ');
      const bool to_the_right = i >= 1 && i <= 4;
      line += to_the_right ? pad + r[i] : r[i] + pad;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::fprintf(out, "%s\n", line.c_str());
  }
  std::fflush(out);
}

std::string to_json(const figure& f, const std::vector<figure>& all, bool quick) {
  std::string text = "{\"name\":" + in_quotes(f.name()) + ",\"procs\":" + std::to_string(f.procs) +
                     ",\"unit\":" + in_quotes(f.unit) + ",\"median\":" + exact(f.median()) +
                     ",\"min\":" + exact(f.min()) + ",\"max\":" + exact(f.max()) +
                     ",\"reps\":" + std::to_string(f.values.size()) + ",\"values\":[";
  for (std::size_t i = 0; i < f.values.size(); ++i) text += (i != 0 ? "," : "") + exact(f.values[i]);
  text += std::string("],\"quick\":") + (quick ? "true" : "false") + ",\"peer\":\"leat\"";
  const std::vector<verdict> verdicts = judge(f, all);
  if (!verdicts.empty()) {
    text += ",\"bounds\":[";
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      text += std::string(i != 0 ? "," : "") + "{\"bound\":" + in_quotes(verdicts[i].bound);
      if (verdicts[i].problem.empty()) {
        text += ",\"value\":" + exact(verdicts[i].value) + ",\"met\":" + (verdicts[i].met ? "true" : "false");
      } else {
        text += ",\"problem\":" + in_quotes(verdicts[i].problem);
      }
      text += "}";
    }
    text += "]";
  }
  return text + "}";
}

}  // namespace leat::bench
