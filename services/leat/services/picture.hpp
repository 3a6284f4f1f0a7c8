// SPDX-License-Identifier: BSL-1.0
//
// A plan as a picture.
#pragma once
#include <string>

#include <leat/config/plan.hpp>

namespace leat::services {

std::string text_picture(const config::plan& plan);
std::string dot_picture(const config::plan& plan);
std::string mermaid_picture(const config::plan& plan);

}  // namespace leat::services
