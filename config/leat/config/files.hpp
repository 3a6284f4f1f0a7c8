// SPDX-License-Identifier: BSL-1.0
//
// From paths to parsed files: folders, deployments and the services that they list, each file once, or once for
// each use with a name or parameters of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expand.hpp>
#include <leat/config/plugin_file.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

struct parsed_file {
  std::uint32_t file;  // in the source_set
  value root;          // a table; variables, parameters and templates are replaced
  // Of two that say something of the whole deployment, the higher one counts: a file comes after those that it
  // lists, and after those that are named before it.
  std::size_t rank = 0;
};

struct parsed_files {
  std::vector<parsed_file> files = {};
  std::vector<plugin_file> plugins = {};
  bool complete = true;  // all could be read and parsed
};

struct read_limits {
  std::size_t file_size = std::size_t{16} << 20;
  std::size_t files = 1000;
};

parsed_files read_files(const std::vector<std::string>& paths, const environment_fn& environment,
                        const read_limits& limits, source_set& sources, diagnostics& found);

// The same for a text at hand, without looking at files that it lists.
parsed_files read_text(std::string name, std::string text, const environment_fn& environment,
                       const read_limits& limits, source_set& sources, diagnostics& found);

}  // namespace leat::config
