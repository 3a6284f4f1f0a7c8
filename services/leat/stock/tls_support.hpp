// SPDX-License-Identifier: BSL-1.0
//
// TLS for stock processes, the same in builds without it: there, whoever asks for it is told so when the file is
// checked. Their settings are called `ca`, `cert` and `key_file`; `leat check` and `leat doctor` look at the files
// of each class that has the last two (services/tls_files.hpp). Not installed.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/schema.hpp>
#include <leat/net/stream.hpp>

namespace leat::stock {

struct tls_files {
  std::string ca, cert, key_file;  // each may be empty
};

// As leat/net/http_client.hpp has it. Throws tls_file_error, with what is wrong with a file.
std::function<void(net::stream&, const std::string& host, deadline until)> tls_client(const tls_files& f);
// With `ca`, clients must have certificates of it. Empty without `cert`: plain connections.
std::function<void(net::stream&, deadline until)> tls_server(const tls_files& f);

// "": this build has TLS; else why not.
std::string why_no_tls();

// Of all settings together: `cert` and `key_file` come as two; what is for TLS is not given without it; what the
// file names is not empty.
std::vector<setting_diagnostic> validate_tls_client(const value& settings);  // with `url`
std::vector<setting_diagnostic> validate_tls_server(const value& settings);
std::string validate_file(const std::string& path);  // or empty

}  // namespace leat::stock
