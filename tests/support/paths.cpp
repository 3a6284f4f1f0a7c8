// SPDX-License-Identifier: BSL-1.0
#include <support/paths.hpp>

namespace leat::test {

const char* const source_folder = LEAT_SOURCE_FOLDER;
const char* const build_folder = LEAT_BUILD_FOLDER;

}  // namespace leat::test
