// SPDX-License-Identifier: BSL-1.0
//
// Expressions as settings of stock classes: how they are checked, and how they run. Not installed.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/expression/expression.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/process.hpp>
#include <leat/process/record.hpp>
#include <leat/process/record_port.hpp>
#include <leat/process/settings.hpp>
#include <leat/stock/support.hpp>

namespace leat::stock {

// Validators of a text.
std::vector<setting_diagnostic> validate_condition(const value& text);
// The same, but it may be empty.
std::vector<setting_diagnostic> validate_optional_condition(const value& text);
// Of a table of expressions.
std::vector<setting_diagnostic> validate_new_fields(const value& table);
// "pump {sensor} is at {round(value)} degrees": a text with expressions in it.
std::vector<setting_diagnostic> validate_message(const value& text);

// What is wrong with the expression in this setting; nothing if it is not there, or empty.
void check_condition(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                     std::vector<setting_diagnostic>& wrong);
void check_message(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                   std::vector<setting_diagnostic>& wrong);
// Each may use those before it, and all of these come out.
void check_new_fields(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                      std::vector<setting_diagnostic>& wrong);
std::vector<record_field> with_new_fields(const value& settings, std::string_view name,
                                          const std::vector<record_field>* came_in);

// An expression that runs. Each kind of error is logged once, and how many there were at the end. One G.
class running_expression {
 public:
  // `what`: which setting. Throws setting_error.
  running_expression(const process& owner, std::string what, std::string_view source,
                     const expression::compile_options& how);
  running_expression(running_expression&&) = default;
  ~running_expression();

  expression::operand run(const record& r, const expression::record_times& when) {
    const expression::operand out = evaluator_.run(r, when);
    if (const auto e = evaluator_.new_error()) [[unlikely]]
      tell(*e);
    return out;
  }
  bool is_true(const record& r, const expression::record_times& when) { return run(r, when).is_true(); }
  // Then it must see every record.
  bool remembers() const noexcept { return !evaluator_.of().memories.empty(); }

 private:
  void tell(expression::evaluation_error f);

  const process* owner_;
  std::string what_;
  expression::evaluator evaluator_;
};

// A text with expressions in it.
class running_message {
 public:
  running_message(const process& owner, const std::string& what, std::string_view source,
                  const expression::compile_options& how);
  std::string text(const record& r, const expression::record_times& when);
  // For a record whose text nobody wants.
  void see(const record& r, const expression::record_times& when);

 private:
  struct piece {
    std::string text;
    std::optional<running_expression> value;
  };
  std::vector<piece> pieces_;
};

// Settings of all classes with expressions: what windows go by, and which time records have.
struct expression_settings {
  explicit expression_settings(process* owner, std::string_view port = "values");
  // For one record. `told` hears of a time that cannot be used.
  expression::record_times when(const record& r, complaints& told) const;
  expression::compile_options options(expression::kinds wanted) const {
    return {.wanted = wanted, .key = *keys.key, .most_keys = keys.limit()};
  }

  // Null: it is missing, or there is no key.
  const field_value* key_in(const record& r) const noexcept { return key_path.find(r); }

  key_settings keys;
  field_setting<> time;
  field_path key_path = field_path::named(*keys.key), time_path = field_path::named(*time);
};

}  // namespace leat::stock
