// SPDX-License-Identifier: BSL-1.0
//
// An authority that signs certificates for tests, and two streams with TLS between them.
#pragma once
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <leat/tls.hpp>

#include "net/fixture.hpp"

namespace leat::tls::test {

using namespace leat::net::test;
using net::stream;

inline void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

using key_ptr = std::shared_ptr<EVP_PKEY>;
using certificate_ptr = std::shared_ptr<X509>;

inline key_ptr new_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

inline void save(const certificate_ptr& x, const std::string& path, const char* mode = "w") {
  std::FILE* const f = std::fopen(path.c_str(), mode);
  must(f && PEM_write_X509(f, x.get()) == 1, "save");
  must(::fchmod(::fileno(f), 0644) == 0, "save");  // whatever the umask is
  std::fclose(f);
}
inline void save(const key_ptr& k, const std::string& path) {
  std::remove(path.c_str());
  std::FILE* const f = std::fopen(path.c_str(), "w");
  must(f && ::chmod(path.c_str(), 0600) == 0, "save");
  must(PEM_write_PrivateKey(f, k.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "save");
  std::fclose(f);
}

struct wanted {
  std::string name = "localhost";
  std::string also = "DNS:localhost,IP:127.0.0.1";
  long from = -3600, until = 3600;  // seconds from now
};

class authority {
 public:
  explicit authority(const std::string& name) : name_(name), key_(new_key()) {
    self_ = sign({.name = name, .also = ""}, key_, true);
  }
  certificate_ptr sign(const wanted& w, const key_ptr& key, bool as_authority = false) {
    certificate_ptr x(X509_new(), X509_free);
    static long serial = 0;
    X509_set_version(x.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x.get()), w.from);
    X509_gmtime_adj(X509_getm_notAfter(x.get()), w.until);
    X509_set_pubkey(x.get(), key.get());
    X509_NAME* const subject = X509_get_subject_name(x.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(w.name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x.get(), as_authority ? subject : X509_get_subject_name(self_.get()));
    if (as_authority) {
      extend(x, NID_basic_constraints, "critical,CA:TRUE");
      extend(x, NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    if (!w.also.empty()) extend(x, NID_subject_alt_name, w.also.c_str());
    must(X509_sign(x.get(), key_.get(), EVP_sha256()) > 0, "X509_sign");
    return x;
  }
  // NAME.pem and NAME.key in the folder.
  void issue(const scratch_directory& in, const std::string& file, const wanted& w = {}) {
    const key_ptr key = new_key();
    save(sign(w, key), in / (file + ".pem"));
    save(key, in / (file + ".key"));
  }
  const certificate_ptr& certificate() const noexcept { return self_; }

 private:
  static void extend(const certificate_ptr& x, int what, const char* text) {
    X509_EXTENSION* const e = X509V3_EXT_conf_nid(nullptr, nullptr, what, text);
    must(e && X509_add_ext(x.get(), e, -1) == 1, "X509V3_EXT_conf_nid");
    X509_EXTENSION_free(e);
  }
  std::string name_;
  key_ptr key_;
  certificate_ptr self_;
};

// A folder with ca.pem, and server.pem and server.key that it has signed.
struct site {
  site() {
    save(ca.certificate(), files / "ca.pem");
    ca.issue(files, "server");
  }
  tls_options server(const std::string& who = "server") const {
    return {.certificate = files / (who + ".pem"), .key_file = files / (who + ".key")};
  }
  tls_options client() const { return {.ca = files / "ca.pem"}; }

  scratch_directory files;
  authority ca{"Leat test authority"};
};

struct secure_pair {
  tls_stream near, far;  // the client's, the server's
};

// What each side's handshake said: an error or none.
struct outcome {
  std::error_code client, server;
  std::string client_says;
};
inline outcome attempt(const tls_context& client, const tls_context& server, secure_pair& made,
                       const std::string& name = "localhost") {
  stream_pair raw = connected();
  outcome o;
  auto accepting = spawn([&] {
    try {
      made.far = tls_stream(std::move(raw.far), server, patience);
      made.far.write("x", patience);
    } catch (const std::system_error& e) {
      o.server = e.code();
    }
  });
  try {
    made.near = tls_stream(std::move(raw.near), client, name, patience);
    // Of TLS 1.3 a client learns here that it was refused.
    char x = 0;
    made.near.read_exactly({&x, 1}, patience);
  } catch (const std::system_error& e) {
    o.client = e.code();
    o.client_says = e.what();
    made.near = {};  // or the other side would wait
  }
  accepting.get();
  return o;
}
inline secure_pair secure(const tls_context& client, const tls_context& server,
                          const std::string& name = "localhost") {
  secure_pair p;
  const outcome o = attempt(client, server, p, name);
  must(!o.client && !o.server, o.client_says.c_str());
  return p;
}
inline secure_pair secure(const site& s) {
  return secure(tls_context::client(s.client()), tls_context::server(s.server()));
}

}  // namespace leat::tls::test
