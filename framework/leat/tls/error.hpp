// SPDX-License-Identifier: BSL-1.0
//
// What can go wrong with TLS, beside the errors of the stream below it. The text of each says what to do. Any
// other failure that OpenSSL finds has a code of its own, with OpenSSL's words.
#pragma once
#include <cstdint>
#include <system_error>
#include <type_traits>

namespace leat {

enum class tls_errc : std::uint8_t {
  truncated = 1,       // the connection ended without the peer's word that this was all
  untrusted,           // no authority that is trusted here has signed the peer's certificate
  expired,             // the peer's certificate, or one above it
  not_yet_valid,       // the same, before its time
  wrong_name,          // the peer's certificate is for somebody else
  bad_certificate,     // anything else that is wrong with it
  no_certificate,      // the peer has none to show
  refused,             // the peer does not accept our certificate, or wants one
  no_common_version,   // of TLS
  no_common_protocol,  // of ALPN
  no_common_cipher,
  not_tls,   // the peer speaks something else
  finished,  // a write after shutdown_write
};

const std::error_category& tls_category() noexcept;
std::error_code make_error_code(tls_errc e) noexcept;

}  // namespace leat

template <>
struct std::is_error_code_enum<leat::tls_errc> : std::true_type {};
