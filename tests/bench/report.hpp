// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "runner.hpp"

namespace leat::bench {

// An aligned table of all figures, with each bound beside its figure.
void print_table(std::FILE* out, const std::vector<figure>& figures);

// One JSON object, without a line end. Only for a figure that has values.
std::string to_json(const figure& f, const std::vector<figure>& all, bool quick);

}  // namespace leat::bench
