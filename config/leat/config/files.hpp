// SPDX-License-Identifier: BSL-1.0
//
// From paths to parsed files: folders, deployments and the services that they list, each file once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/expand.hpp>
#include <leat/config/finding.hpp>
#include <leat/config/plugin_file.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

struct parsed_file {
  std::uint32_t file;  // in the source_set
  value root;          // a table
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
                        const read_limits& limits, source_set& sources, findings& found);

// The same for a text at hand, without looking at files that it lists.
parsed_files read_text(std::string name, std::string text, const environment_fn& environment,
                       const read_limits& limits, source_set& sources, findings& found);

}  // namespace leat::config
