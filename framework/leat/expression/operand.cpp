// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/operand.hpp>

#include <array>

namespace leat::expression {

field_value operand::value() const {
  switch (kind_) {
    case expression::kind::missing:
    case expression::kind::null: return {};
    case expression::kind::boolean: return field_value(integer_ != 0);
    case expression::kind::integer: return field_value(integer_);
    case expression::kind::real: return field_value(real_);
    case expression::kind::text: return field_value(text());
    case expression::kind::duration: return field_value(nanoseconds(integer_));
    case expression::kind::moment: return field_value(leat::moment(nanoseconds(integer_)));
    default: return *whole_;
  }
}

std::string in_words(kinds k) {
  struct named {
    kinds all;
    const char* name;
  };
  static constexpr std::array names = {
      named{numeric, "a number"},      named{kind::integer, "a whole number"},
      named{kind::real, "a number"},   named{kind::boolean, "a boolean"},
      named{kind::text, "a text"},     named{kind::duration, "a duration"},
      named{kind::moment, "a moment"}, named{kind::list, "a list"},
      named{kind::table, "a table"},   named{kind::null, "null"},
  };
  if ((k & anything) == anything) return "any value";
  std::vector<std::string> words;
  for (const named& n : names) {
    if ((k & n.all) != n.all) continue;
    words.emplace_back(n.name);
    k = k.without(n.all);
  }
  // What is null besides is not what anybody asks for.
  if (words.size() > 1 && words.back() == "null") words.pop_back();
  if (words.empty()) return "nothing";
  std::string out = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) out += (i + 1 < words.size() ? ", " : " or ") + words[i];
  return out;
}

}  // namespace leat::expression
