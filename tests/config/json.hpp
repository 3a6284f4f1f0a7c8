// SPDX-License-Identifier: BSL-1.0
//
// A strict reader of JSON, to check what is written. Numbers and literals are kept as text.
#pragma once

#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::config::test {

struct json {
  enum class kind { object, array, text, word } type = kind::word;
  std::map<std::string, json> members = {};
  std::vector<json> elements = {};
  std::string text = {};

  const json* find(const std::string& name) const {
    const auto found = members.find(name);
    return found == members.end() ? nullptr : &found->second;
  }
  // "a/b/c"
  const json* at(std::string_view path) const {
    const json* here = this;
    while (here && !path.empty()) {
      const std::size_t slash = path.find('/');
      here = here->find(std::string(path.substr(0, slash)));
      path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return here;
  }
};

class json_reader {
 public:
  // Empty when it is not JSON.
  static std::optional<json> read(std::string_view text) {
    json_reader r(text);
    json out;
    if (!r.value(out)) return std::nullopt;
    r.blanks();
    if (r.at_ != text.size()) return std::nullopt;
    return out;
  }

 private:
  explicit json_reader(std::string_view text) : text_(text) {}

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) return false;
      const char escaped = text_[at_++];
      if (escaped == 'u') {
        for (int i = 0; i < 4; ++i, ++at_)
          if (at_ >= text_.size() || !std::isxdigit(static_cast<unsigned char>(text_[at_]))) return false;
        out += '?';
      } else if (std::string_view("\"\\/bfnrt").find(escaped) == std::string_view::npos) {
        return false;
      } else {
        out += escaped;
      }
    }
    return false;
  }

  bool value(json& out) {
    blanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"') {
      out.type = json::kind::text;
      return string(out.text);
    }
    if (take('{')) {
      out.type = json::kind::object;
      if (take('}')) return true;
      do {
        std::string name;
        json member;
        if (!string(name) || !take(':') || !value(member)) return false;
        if (!out.members.emplace(name, std::move(member)).second) return false;
      } while (take(','));
      return take('}');
    }
    if (take('[')) {
      out.type = json::kind::array;
      if (take(']')) return true;
      do {
        if (!value(out.elements.emplace_back())) return false;
      } while (take(','));
      return take(']');
    }
    while (at_ < text_.size() && std::string_view(",]} \n").find(text_[at_]) == std::string_view::npos)
      out.text += text_[at_++];
    if (out.text == "true" || out.text == "false" || out.text == "null") return true;
    return !out.text.empty() && out.text.find_first_not_of("0123456789+-.e") == std::string::npos;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace leat::config::test
