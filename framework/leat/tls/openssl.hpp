// SPDX-License-Identifier: BSL-1.0
//
// OpenSSL's objects with owners, and its errors as ours. Not installed: no header of OpenSSL is in a public one.
#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <memory>
#include <string>
#include <system_error>

#include <leat/tls/error.hpp>

namespace leat::tls {

struct freer {
  void operator()(SSL_CTX* p) const noexcept { ::SSL_CTX_free(p); }
  void operator()(SSL* p) const noexcept { ::SSL_free(p); }
  void operator()(SSL_SESSION* p) const noexcept { ::SSL_SESSION_free(p); }
  void operator()(BIO* p) const noexcept { (void)::BIO_free(p); }
  void operator()(X509* p) const noexcept { ::X509_free(p); }
  void operator()(EVP_PKEY* p) const noexcept { ::EVP_PKEY_free(p); }
};
template <class T>
using owned = std::unique_ptr<T, freer>;

// Of ERR_get_error; of SSL_get_verify_result.
std::error_code code_of(unsigned long error) noexcept;
tls_errc code_of_verification(long result) noexcept;
// The words of the first error in the thread's queue, which is empty afterwards.
std::string last_error();

}  // namespace leat::tls
