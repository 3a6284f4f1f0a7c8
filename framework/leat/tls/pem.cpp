// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/pem.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace leat::tls {
namespace {

constexpr std::size_t most_certificates = 1000;  // a system's whole store has some hundred

owned<BIO> reader_of(const std::string& text) {
  owned<BIO> b(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!b) throw std::bad_alloc();
  return b;
}

// Without this, OpenSSL asks at the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

// Wiped when it has been used: the text of a key.
struct wiped {
  explicit wiped(std::string t) : text(std::move(t)) {}
  ~wiped() { ::OPENSSL_cleanse(text.data(), text.size()); }
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;
  std::string text;
};

// A peer has chosen it: what is not ASCII becomes "\C3\BC", so that nothing in it looks like what it is not.
std::string name_text(const X509_NAME* name) {
  const owned<BIO> b(::BIO_new(::BIO_s_mem()));
  if (!name || !b || ::X509_NAME_print_ex(b.get(), name, 0, XN_FLAG_ONELINE) < 0) return "?";
  char* data = nullptr;
  const long n = BIO_get_mem_data(b.get(), &data);
  constexpr long most = 200;
  std::string text(data, static_cast<std::size_t>(std::clamp(n, 0L, most)));
  for (char& c : text)
    if (c < ' ' || c >= '\x7f') c = '?';
  if (n <= most) return text;
  // Not amid "\C3".
  if (const std::size_t escape = text.find('\\', text.size() - 2); escape != std::string::npos)
    text.resize(escape);
  return text + "...";
}

std::string time_text(const ASN1_TIME* t) {
  const owned<BIO> b(::BIO_new(::BIO_s_mem()));
  if (!b || ::ASN1_TIME_print(b.get(), t) != 1) return "?";
  char* data = nullptr;
  const long n = BIO_get_mem_data(b.get(), &data);
  return {data, static_cast<std::size_t>(n)};
}

}  // namespace

std::vector<owned<X509>> certificates_of(const std::string& path) {
  const std::string text = read_pem(path, false);
  const owned<BIO> from = reader_of(text);
  std::vector<owned<X509>> all;
  ::ERR_clear_error();
  while (owned<X509> one{::PEM_read_bio_X509_AUX(from.get(), nullptr, no_passphrase, nullptr)}) {
    if (all.size() == most_certificates)
      throw tls_file_error("'" + path + "': more than " + std::to_string(most_certificates) +
                           " certificates");
    all.push_back(std::move(one));
  }
  // The end of the file is reported as an error as well.
  const unsigned long e = ::ERR_peek_last_error();
  const bool ended = ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
  const std::string why = last_error();
  if (!ended) throw tls_file_error("'" + path + "': a certificate in it cannot be read: " + why);
  if (all.empty())
    throw tls_file_error("'" + path +
                         "': there is no certificate in it; expected PEM text: -----BEGIN CERTIFICATE-----");
  return all;
}

owned<EVP_PKEY> key_of(const std::string& path) {
  const wiped secret(read_pem(path, true));
  const owned<BIO> from = reader_of(secret.text);
  ::ERR_clear_error();
  owned<EVP_PKEY> key(::PEM_read_bio_PrivateKey(from.get(), nullptr, no_passphrase, nullptr));
  ::ERR_clear_error();
  if (key) return key;
  const bool encrypted = secret.text.find("ENCRYPTED") != std::string::npos;
  throw tls_file_error("'" + path + "': " +
                       (encrypted ? "the key is encrypted, and nobody is there to be asked for its "
                                    "passphrase; use one without, readable by its owner alone"
                                  : "there is no private key in it that can be read; expected PEM text: "
                                    "-----BEGIN PRIVATE KEY-----"));
}

void check_pair(X509& certificate, const std::string& path, EVP_PKEY& key, const std::string& key_path) {
  const bool fits = ::X509_check_private_key(&certificate, &key) == 1;
  ::ERR_clear_error();
  if (!fits)
    throw tls_file_error("'" + key_path + "': is not the key of the first certificate in '" + path + "'");
}

std::string out_of_time(const X509& certificate) {
  const ASN1_TIME* const until = ::X509_get0_notAfter(&certificate);
  const ASN1_TIME* const from = ::X509_get0_notBefore(&certificate);
  if (::X509_cmp_current_time(until) < 0) return "the certificate expired on " + time_text(until);
  if (::X509_cmp_current_time(from) > 0) return "the certificate is not valid before " + time_text(from);
  return {};
}

std::string subject_of(const X509& certificate) { return name_text(::X509_get_subject_name(&certificate)); }
std::string issuer_of(const X509& certificate) { return name_text(::X509_get_issuer_name(&certificate)); }

}  // namespace leat::tls
