// SPDX-License-Identifier: BSL-1.0
//
// What changes a service without touching its file: [override.SERVICE...] of files, and --set.
//
//   - Tables are merged key by key, everything else is replaced.
//   - `unset = ["config.window"]` takes keys away, before the others are put in.
//   - Another `use` is another class: the settings of the old one go, and so do those of its ports that the new one does
//     not have.
//   - A name may hold `*`, for any characters: then it means all that fit.
//   - Of a process that a template made, names are those inside the template first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/merge.hpp>

namespace leat::config {

// Replaces what `from` has, tables key by key. With `found`: a remark for each value that is replaced; `path` is what
// it is of: "[runtime]".
void overlay(value& into, const value& from, const std::string& path = {}, diagnostics* found = nullptr);

// Whether a name is one that `pattern` means.
bool name_fits(std::string_view pattern, std::string_view name);

struct override_words {
  bool services_unread = false;  // a service that is not there may be one of a file that could not be told
  bool by_argument = false;      // of --set
};
// `overrides`: tables by service.
void apply_overrides(merged& to, const value& overrides, const catalog& classes, const source_set& sources,
                     const override_words& words, diagnostics& found);

}  // namespace leat::config
