// SPDX-License-Identifier: BSL-1.0
//
// Runs a program on one record after the other. Keeps what previous, rate and windows remember, where fields were in
// the last record, and the errors that there were.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leat/expression/memory.hpp>
#include <leat/expression/program.hpp>
#include <leat/expression/rules.hpp>
#include <leat/process/record.hpp>

namespace leat::expression {

const char* to_string(evaluation_error f) noexcept;  // "division by zero"

// One G.
class evaluator {
 public:
  explicit evaluator(std::shared_ptr<const program> p);

  // Good until the next run, and as long as the record is.
  operand run(const record& r, const record_times& when) {
    execute(r, when);
    return stack_.front();
  }
  bool is_true(const record& r, const record_times& when) {
    execute(r, when);
    return stack_.front().is_true();
  }

  std::uint64_t errors(evaluation_error f) const noexcept { return counts_[static_cast<std::size_t>(f)]; }
  // A kind of error that has come up and was not asked for yet; each comes once.
  std::optional<evaluation_error> new_error() noexcept;
  // The first of its kind, in words: "field 'value' is missing".
  const std::string& first_of(evaluation_error f) const noexcept {
    return first_[static_cast<std::size_t>(f)];
  }
  const program& of() const noexcept { return *program_; }
  // Bytes that the places of texts take.
  std::size_t kept_texts() const noexcept { return kept_; }

 private:
  void execute(const record& r, const record_times& when);
  void run(const code& c, const record& r, const record_times& when);
  const field_value* find(std::size_t path, const record& r) noexcept;
  operand load(std::size_t path, const record& r, bool quiet, const span& at);
  operand called(const instruction& i, const operand* arguments, const span& at);
  operand among(const operand* v, std::size_t n) const noexcept;
  operand in_list(const operand& v, const operand& list, const span& at);
  operand binary_of(binary what, const operand& a, const operand& b, std::string& text, const span& at);
  text_room room_in(std::string& text) const noexcept;
  void count_text(const std::string& text, std::size_t room_before, const operand& made) noexcept;
  void free_texts();
  void settle(operand& v, const span& at);
  void feed(const instruction& i, const operand* arguments, const record_times& when, const span& at);
  operand failed(evaluation_error f, const span& at, std::string_view detail = {});
  std::string_view source(const span& at) const noexcept;

  std::shared_ptr<const program> program_;
  std::vector<operand> constants_;
  std::vector<operand> stack_;
  std::vector<operand> slots_;
  std::vector<std::string> texts_;
  std::size_t made_ = 0;  // bytes of texts in this run
  std::size_t kept_ = 0;  // by the places of texts
  std::vector<memory> memories_;
  std::vector<std::size_t> positions_;  // by path: of its field, or of its first step
  std::string key_;
  std::array<std::uint64_t, error_kinds> counts_{};
  std::array<std::string, error_kinds> first_{};
  std::array<bool, error_kinds> told_{};
};

}  // namespace leat::expression
