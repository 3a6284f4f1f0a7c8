// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <string>

#include <leat/tls/openssl.hpp>

namespace leat {
namespace {

class tls_error_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }
  std::string message(int e) const override {
    switch (static_cast<tls_errc>(e)) {
      case tls_errc::truncated:
        return "the connection was cut: it ended without the peer's word that this was all";
      case tls_errc::untrusted:
        return "no authority that is trusted here has signed the peer's certificate; if the peer is the "
               "right one, name its authority's file as `ca`";
      case tls_errc::expired: return "the peer's certificate has expired; the peer needs a new one";
      case tls_errc::not_yet_valid:
        return "the peer's certificate is not valid yet; is the clock of this machine right?";
      case tls_errc::wrong_name:
        return "the peer's certificate is for another name; dial the name that it is for, or give the peer "
               "one with this name";
      case tls_errc::bad_certificate: return "the peer's certificate is not accepted";
      case tls_errc::no_certificate: return "the peer has shown no certificate";
      case tls_errc::refused: return "the peer does not accept our certificate, or wants one and got none";
      case tls_errc::no_common_version: return "the peer speaks no TLS of version 1.2 or later";
      case tls_errc::no_common_protocol: return "there is no protocol that both sides offer (ALPN)";
      case tls_errc::no_common_cipher: return "there is no cipher that both sides accept";
      case tls_errc::not_tls: return "the peer does not speak TLS";
      case tls_errc::finished: return "written after the end";
    }
    return "unknown";
  }
  std::error_condition default_error_condition(int e) const noexcept override {
    switch (static_cast<tls_errc>(e)) {
      case tls_errc::truncated: return std::errc::connection_aborted;
      case tls_errc::finished: return std::errc::broken_pipe;
      default: return std::errc::protocol_error;
    }
  }
};

class openssl_error_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "openssl"; }
  std::string message(int e) const override {
    const char* const text = ::ERR_reason_error_string(static_cast<unsigned>(e));
    return text ? text : "unknown error of OpenSSL";
  }
  std::error_condition default_error_condition(int) const noexcept override {
    return std::errc::protocol_error;
  }
};

}  // namespace

const std::error_category& tls_category() noexcept {
  static const tls_error_category one;
  return one;
}

std::error_code make_error_code(tls_errc e) noexcept { return {static_cast<int>(e), tls_category()}; }

namespace tls {

std::error_code code_of(unsigned long error) noexcept {
  static const openssl_error_category others;
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    switch (ERR_GET_REASON(error)) {
      case SSL_R_UNEXPECTED_EOF_WHILE_READING: return tls_errc::truncated;
      case SSL_R_CERTIFICATE_VERIFY_FAILED: return tls_errc::bad_certificate;
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return tls_errc::no_certificate;
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: return tls_errc::refused;
      case SSL_R_UNSUPPORTED_PROTOCOL:
      case SSL_R_VERSION_TOO_LOW:
      case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return tls_errc::no_common_version;
      case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      case SSL_R_NO_APPLICATION_PROTOCOL: return tls_errc::no_common_protocol;
      case SSL_R_NO_SHARED_CIPHER: return tls_errc::no_common_cipher;
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_HTTPS_PROXY_REQUEST: return tls_errc::not_tls;
      case SSL_R_PROTOCOL_IS_SHUTDOWN: return tls_errc::finished;
      default: break;
    }
  }
  return {static_cast<int>(error & 0x7fff'ffff), others};
}

tls_errc code_of_verification(long result) noexcept {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return tls_errc::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID: return tls_errc::not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return tls_errc::wrong_name;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED: return tls_errc::untrusted;
    default: return tls_errc::bad_certificate;
  }
}

std::string last_error() {
  std::string text;
  while (const unsigned long e = ::ERR_get_error()) {
    const char* const reason = ::ERR_reason_error_string(e);
    if (text.empty() && reason) text = reason;
  }
  return text.empty() ? "OpenSSL does not say why" : text;
}

}  // namespace tls
}  // namespace leat
