// SPDX-License-Identifier: BSL-1.0
//
// TOML files in, a checked plan or all that is wrong with them out. Opens no port and no device; reads
// nothing but the files, and environment variables that they name. Plug-ins are loaded by somebody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expanded.hpp>
#include <leat/config/plan.hpp>
#include <leat/config/plugin_file.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

struct options {
  // Empty: getenv.
  std::function<std::optional<std::string>(std::string_view name)> environment = {};
  std::size_t max_file_size = std::size_t{16} << 20;
  // Makes the classes of a plug-in part of the catalog. Called for each that a file names, before any class
  // is looked up; false: it could not, and said so. Empty: plug-ins are left alone.
  std::function<bool(const plugin_file& file, diagnostics& found)> load_plugin = {};
  // Where else a class is that the catalog does not have, and what to do about it; "": nobody knows. Asked when a
  // file uses such a class.
  std::function<std::string(std::string_view class_name)> where_is = {};
  // PATH=VALUE, set after all files (set_argument.hpp).
  std::vector<std::string> set = {};
  bool expand = false;  // checked::expanded is wanted
  // The deployment as it is simulated, with the stand-ins of [simulate.NAME]; or as it runs, and what is wrong with
  // it when it is simulated is found as well.
  enum class stand_ins : std::uint8_t { unused, checked, used };
  stand_ins simulation = stand_ins::unused;
};

struct checked {
  source_set sources = {};
  diagnostics found = {};  // sorted
  // Only when there is no error. It points into the catalog.
  std::optional<config::plan> plan = {};
  std::vector<std::string> stand_ins = {};  // where they are used: the processes that have one, "plant/bus"
  // The same configuration as plain files, without templates, parameters, variables and overrides. The first one
  // stands for all; empty where files could not be read.
  std::vector<expanded_file> expanded = {};
};

// Each path is a file, or a folder of *.toml. Services that a deployment lists are read too, each file once.
checked check(const std::vector<std::string>& paths, const catalog& classes, const options& how = {});

// One text, named for the diagnostics. Files that it lists are not read.
checked check_text(std::string name, std::string text, const catalog& classes, const options& how = {});

}  // namespace leat::config
