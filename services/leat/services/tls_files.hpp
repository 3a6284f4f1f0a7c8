// SPDX-License-Identifier: BSL-1.0
//
// Certificates and keys that a deployment names, looked at on this machine: settings `cert`, `key_file` and `ca` of
// each class that has the first two. Nothing is found in a build without TLS, whose check has refused them.
#pragma once
#include <vector>

#include <leat/config/diagnostic.hpp>
#include <leat/config/plan.hpp>
#include <leat/services/doctor.hpp>

namespace leat::services {

// For `leat check`: what is wrong, at the setting that names the file. A file that is not here is a warning: it may
// be on the machine that the deployment is for. So is one that we may not read, for it is the service's, and a
// certificate that has expired.
void check_tls_files(const config::plan& plan, config::diagnostics& to);

// For `leat doctor`, on the machine that it is for: what is not here is lacking.
std::vector<remedy> examine_tls(const config::plan& plan);

}  // namespace leat::services
