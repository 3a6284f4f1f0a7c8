// SPDX-License-Identifier: BSL-1.0
//
// What is in PEM files. All throw tls_file_error. Not installed.
#pragma once
#include <string>
#include <vector>

#include <leat/tls/files.hpp>
#include <leat/tls/openssl.hpp>

namespace leat::tls {

// At least one.
std::vector<owned<X509>> certificates_of(const std::string& path);
owned<EVP_PKEY> key_of(const std::string& path);
// The key is that of the certificate.
void check_pair(X509& certificate, const std::string& path, EVP_PKEY& key, const std::string& key_path);
// "expired on Jan  1 00:00:00 2026 GMT"; empty: it is valid now.
std::string out_of_time(const X509& certificate);
// "CN = example.org": who it is for, in one line, in ASCII, without signs that a terminal would obey.
std::string subject_of(const X509& certificate);
std::string issuer_of(const X509& certificate);

}  // namespace leat::tls
