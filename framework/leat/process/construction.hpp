// SPDX-License-Identifier: BSL-1.0
//
// What a process is being constructed with. Its base class takes it over from the thread that constructs it,
// so that the members find it; nothing parks in between. Not installed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/process/process.hpp>

namespace leat {

struct construction {
  std::string_view class_name = {};
  const process_options* options = nullptr;
  std::shared_ptr<const value> set = {};  // what was set since the service began; null: nothing
  // Not null: the object is made to be described; it gets no values and no channels.
  class_schema* describes = nullptr;
  std::vector<const port_type*>* types = nullptr;

  std::vector<std::string> setting_errors = {};
  std::vector<std::string> wiring_errors = {};
  std::vector<std::string> names = {};  // of settings that were registered

  // Throws setting_error or wiring_error.
  void check() const;
};

namespace processes {

std::unique_ptr<process> construct(std::unique_ptr<process> (*make)(), construction& with);
construction* take_construction() noexcept;

// "'climate/filter' of class 'smooth'"
std::string who(std::string_view class_name, const std::string& name);

}  // namespace processes
}  // namespace leat
