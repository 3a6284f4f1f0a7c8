// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/tls_support.hpp>

#include <stdexcept>
#include <string_view>

#include <leat/stock/validators.hpp>
#ifdef LEAT_STOCK_TLS
#include <leat/tls.hpp>
#endif

namespace leat::stock {
namespace {

bool is_given(const value& settings, std::string_view name) noexcept {
  const std::string* const text = text_in(settings, name);
  return text && !text->empty();
}

// At the one that is there.
void both_or_none(const value& settings, std::vector<setting_diagnostic>& wrong) {
  const bool cert = is_given(settings, "cert"), key = is_given(settings, "key_file");
  if (cert && !key)
    wrong.push_back({"`cert` goes with `key_file`, the file of its key", settings.find("cert")});
  if (key && !cert)
    wrong.push_back(
        {"`key_file` goes with `cert`, the certificate that it is for", settings.find("key_file")});
}

// A variable that turned out to be empty must not open what was meant to be closed.
void not_empty(const value& settings, std::vector<setting_diagnostic>& wrong) {
  for (const std::string_view name : {"ca", "cert", "key_file"}) {
    const value* const v = settings.find(name);
    const std::string* const text = text_in(settings, name);
    if (text && text->empty() && v->at().known())
      wrong.push_back({"`" + std::string(name) + "` names no file; leave it out if there is to be none", v});
  }
}

}  // namespace

std::string validate_file(const std::string& path) { return validate_optional_folder(path); }

std::vector<setting_diagnostic> validate_tls_client(const value& settings) {
  std::vector<setting_diagnostic> wrong;
  not_empty(settings, wrong);
  if (!wrong.empty()) return wrong;
  both_or_none(settings, wrong);
  const std::string* const url = text_in(settings, "url");
  if (!url || url->starts_with("https://")) return wrong;
  for (const std::string_view name : {"ca", "cert", "key_file"})
    if (is_given(settings, name) && wrong.empty())
      wrong.push_back({"`" + std::string(name) + "` is for https, and `url` says http", settings.find(name)});
  return wrong;
}

std::vector<setting_diagnostic> validate_tls_server(const value& settings) {
  std::vector<setting_diagnostic> wrong;
  not_empty(settings, wrong);
  if (wrong.empty()) both_or_none(settings, wrong);
  if (!wrong.empty()) return wrong;
  if (is_given(settings, "ca") && !is_given(settings, "cert"))
    wrong.push_back(
        {"`ca` asks clients for certificates, which is for https: `cert` and `key_file` are missing",
         settings.find("ca")});
  if (is_given(settings, "cert"))
    if (std::string why = why_no_tls(); !why.empty()) wrong.push_back({why, settings.find("cert")});
  return wrong;
}

#ifdef LEAT_STOCK_TLS

std::string why_no_tls() { return {}; }

std::function<void(net::stream&, const std::string&, deadline)> tls_client(const tls_files& f) {
  const tls_context with =
      tls_context::client({.ca = f.ca, .certificate = f.cert, .key_file = f.key_file, .alpn = {"http/1.1"}});
  return [with](net::stream& peer, const std::string& host, deadline until) {
    (void)tls_connect(peer, with, host, until);
  };
}

std::function<void(net::stream&, deadline)> tls_server(const tls_files& f) {
  if (f.cert.empty()) return {};
  const tls_context with =
      tls_context::server({.ca = f.ca,
                           .certificate = f.cert,
                           .key_file = f.key_file,
                           .alpn = {"http/1.1"},
                           .clients = f.ca.empty() ? tls_clients::any : tls_clients::must_have_certificate});
  return [with](net::stream& peer, deadline until) { (void)tls_accept(peer, with, until); };
}

#else

std::string why_no_tls() {
  return "https needs a Leat that was built with OpenSSL 3 (package libssl-dev, option LEAT_TLS)";
}

std::function<void(net::stream&, const std::string&, deadline)> tls_client(const tls_files&) {
  throw std::runtime_error(why_no_tls());
}

std::function<void(net::stream&, deadline)> tls_server(const tls_files& f) {
  if (f.cert.empty()) return {};
  throw std::runtime_error(why_no_tls());
}

#endif

}  // namespace leat::stock
