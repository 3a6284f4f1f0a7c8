// SPDX-License-Identifier: BSL-1.0
//
// Registers of a Modbus device: what they hold, and which are read together. Without a bus.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace leat::modbus {

enum class table : std::uint8_t { holding, input, coil, discrete };
LEAT_ENUM(table, holding, input, coil, discrete);
enum class type : std::uint8_t { bit, u16, i16, u32, i32, u64, i64, f32, f64 };
LEAT_ENUM(type, bit, u16, i16, u32, i32, u64, i64, f32, f64);
// Of a value ABCD, whose first byte is its highest: how the device sends it.
enum class order : std::uint8_t { abcd, cdab, badc, dcba };
LEAT_ENUM(order, abcd, cdab, badc, dcba);

struct register_setting {
  std::string name;
  int number = 0;  // as requests count, from 0
  modbus::table table = table::holding;
  std::optional<modbus::type> type = {};  // none: bit of coils and discrete inputs, else u16
  modbus::order order = order::abcd;
  double scale = 1;
  double offset = 0;
  std::optional<int> unit = {};  // none: that of the process
};
LEAT_SETTINGS(register_setting, name, number, table, type, order, scale, offset, unit);

type type_of(const register_setting& r) noexcept;
bool is_bit_table(table t) noexcept;
// Words, or bits.
std::size_t width_of(const register_setting& r) noexcept;

// Raw times `scale` plus `offset`; an integer if these are 1 and 0. `words` are as many as its width; a bit is one
// of 0 or 1.
field_value decode(const register_setting& r, std::span<const std::uint16_t> words);
// "" or why not: no number, or one that it cannot hold.
std::string encode(const register_setting& r, const field_value& v, std::vector<std::uint16_t>& words);

// One request.
struct block {
  int unit = 1;
  modbus::table table = table::holding;
  int first = 0;
  int count = 0;
  std::vector<std::size_t> registers = {};  // which of those given
};
// Registers that follow one another are read at once, as far as a request allows; none between them is asked for,
// since a device may refuse all for one that it does not have.
std::vector<block> blocks_of(const std::vector<register_setting>& all, int unit);

// As base/schema.hpp says, of a list of registers.
std::vector<setting_diagnostic> validate_registers(const value& all);
// The same for those that are written.
std::vector<setting_diagnostic> validate_writable(const value& all);

}  // namespace leat::modbus
