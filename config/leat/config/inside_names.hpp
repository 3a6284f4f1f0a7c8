// SPDX-License-Identifier: BSL-1.0
//
// Names of channels and processes inside a template, as one use of it calls them: `raw` is `north-raw`. A name that the
// template does not declare is one of the service, and stays; so does what a parameter gives.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <leat/base/value.hpp>

namespace leat::config {

struct inside_names {
  std::string prefix;
  // What is declared inside, without it.
  std::set<std::string, std::less<>> processes = {}, channels = {};
};

// The tables of a process and of a channel, with names in the places where a file names others.
value rename_process(const value& table, const inside_names& names);
value rename_channel(const value& table, const inside_names& names);

}  // namespace leat::config
