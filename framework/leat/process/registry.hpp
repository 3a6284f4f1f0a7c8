// SPDX-License-Identifier: BSL-1.0
//
// The process classes and messages of this program, by name: the catalog that configurations are checked
// against, and the factory that services are made with.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <leat/process/macros.hpp>
#include <leat/process/process.hpp>

namespace leat {

class catalog;

namespace processes {

using construct_fn = std::unique_ptr<process> (*)();
std::unique_ptr<process> make(construct_fn construct, std::string_view class_name, const process_options& o);
void release(process& p, const process_options& o);
// What is registered from now on comes from there; the text must stay. Returns the last one.
std::string_view exchange_origin(std::string_view origin) noexcept;

// One sentence for what cannot be made, instead of what the standard library says about it.
template <class P>
std::unique_ptr<process> construct_one() {
  constexpr bool is_process = std::is_convertible_v<P*, process*>;
  constexpr bool is_concrete = !std::is_abstract_v<P>;
  static_assert(is_process, "a process class derives from leat::process, publicly");
  static_assert(
      !is_process || is_concrete,
      "a process class must override all pure virtual functions: does it have `void run() override`?");
  if constexpr (is_process && is_concrete) {
    static_assert(std::is_default_constructible_v<P>,
                  "a process class needs a public constructor without arguments: pass parameters as "
                  "settings, members of type leat::setting");
    if constexpr (std::is_default_constructible_v<P>) return std::make_unique<P>();
  }
  return nullptr;
}

// The name of a class, in a section of its own: by it others find out which programs and plug-ins have the class,
// without running them. Plain bytes, all of one size.
struct class_note {
  char name[48] = {};
  char library[16] = {};  // "stock": it is one of the ready-made

  constexpr class_note(std::string_view class_name, std::string_view of) {
    for (std::size_t i = 0; i < class_name.size() && i + 1 < sizeof name; ++i) name[i] = class_name[i];
    for (std::size_t i = 0; i < of.size() && i + 1 < sizeof library; ++i) library[i] = of[i];
  }
};
static_assert(sizeof(class_note) == 64);

}  // namespace processes

// Made by LEAT_PROCESS; lives as long as the program. A class in a static library is only there if something
// else of its file is used, or the library is an object library.
class process_class {
 public:
  process_class(std::string_view name, std::string_view help, processes::construct_fn construct,
                std::size_t object_size) noexcept;
  process_class(const process_class&) = delete;
  process_class& operator=(const process_class&) = delete;

  const std::string_view name;
  const std::string_view help;
  const std::size_t object_size;
  const std::string_view origin;  // "plug-in 'climate' (libclimate.so)"; empty: this program

  // A fresh object, with its settings read and its ports connected; those that are not named are nil. Throws
  // setting_error or wiring_error with all that is wrong, and what the class's constructors throw.
  std::unique_ptr<process> make(const process_options& o) const {
    return processes::make(construct_, name, o);
  }

  // In the order of the ports of the class's schema. Null: there is no such port. Describes the class.
  const port_type* find_port_type(std::string_view port) const;
  // What class_schema says of it.
  const class_schema& schema() const;

  const process_class* const next;  // among all

 private:
  friend class class_registry;
  const processes::construct_fn construct_;
};

// By name; of two classes with one name, the one that the linker put first. Null: none.
const process_class* find_process_class(std::string_view name);

// All classes and messages that are linked into this program, and of the plug-ins that are loaded. The next
// call after that, here or above, makes one object of each new class to see what it has.
const catalog& program_catalog();

// What is wrong with the classes themselves, for the start of a program to report: names that are taken
// twice, classes that cannot be constructed, defaults out of range.
std::vector<std::string> catalog_problems();

// An object of a class that need not be registered.
template <class P>
std::unique_ptr<P> make(const process_options& o = {}) {
  return std::unique_ptr<P>(static_cast<P*>(processes::make(&processes::construct_one<P>, {}, o).release()));
}

}  // namespace leat

// Which library the classes of a file belong to; nothing for those of programs.
#ifndef LEAT_CLASS_LIBRARY
#define LEAT_CLASS_LIBRARY ""
#endif

#define LEAT_PROCESS_AS(text, type, help)                                                          \
  namespace {                                                                                      \
  const ::leat::process_class LEAT_UNIQUE(leat_process_){                                          \
      text, help, &::leat::processes::construct_one<type>, sizeof(type)};                          \
  [[gnu::used, gnu::section("leat_classes")]] constexpr ::leat::processes::class_note LEAT_UNIQUE( \
      leat_note_)(text, LEAT_CLASS_LIBRARY);                                                       \
  }                                                                                                \
  static_assert(true)

// At namespace scope: from now on `use = "type"` works in TOML.
#define LEAT_PROCESS(type, help) LEAT_PROCESS_AS(::leat::shapes::unqualified(#type), type, help)
