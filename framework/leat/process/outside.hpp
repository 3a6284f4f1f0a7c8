// SPDX-License-Identifier: BSL-1.0
//
// What a class uses outside of the program: `leat simulate` cannot simulate it, and asks for a stand-in before it
// starts anything. One line beside LEAT_PROCESS:
//
//   LEAT_USES_OUTSIDE("my-sensor", leat::outside::device, "it reads an I2C bus");
//
// A class that says nothing is simulated as it is.
#pragma once
#include <cstdint>
#include <string_view>

#include <leat/process/macros.hpp>

namespace leat {

enum class outside : std::uint8_t {
  device,  // sockets, ports, other programs: it needs a stand-in
  files,   // it writes real files: only where a [simulate.NAME] says so
};

// Made by static objects, of plug-ins too, which stay for as long as the program.
class outside_use {
 public:
  outside_use(std::string_view class_name, outside what, std::string_view why) noexcept;
  outside_use(const outside_use&) = delete;
  outside_use& operator=(const outside_use&) = delete;

  outside what() const noexcept { return what_; }
  std::string_view why() const noexcept { return why_; }
  // Null: the class says nothing.
  static const outside_use* of(std::string_view class_name) noexcept;

 private:
  const std::string_view name_, why_;
  const outside what_;
  const outside_use* const next_;
};

}  // namespace leat

#define LEAT_USES_OUTSIDE(text, what, why) \
  [[maybe_unused]] static const ::leat::outside_use LEAT_UNIQUE(leat_outside_) { text, what, why }
