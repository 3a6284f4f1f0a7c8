// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/mqtt_settings.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <leat/base/log.hpp>
#include <leat/base/utf8.hpp>
#include <leat/net/mqtt/topic.hpp>
#include <leat/process/message.hpp>
#include <leat/stock/validators.hpp>

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_password = 4096;

std::vector<setting_diagnostic> validate_identity(const value& settings) {
  std::vector<setting_diagnostic> wrong;
  const auto has = [&](std::string_view name) {
    const std::string* const text = text_in(settings, name);
    return text && !text->empty();
  };
  if (has("password_file") && has("password_variable"))
    wrong.push_back(
        {"one of `password_file` and `password_variable`, not both", settings.find("password_variable")});
  if (const value* const session = settings.find("session"); session && !has("client_id"))
    if (const auto* const time = session->get_if<nanoseconds>(); time && *time > 0ns)
      wrong.push_back({"a session is kept for a `client_id`, which must be given", session});
  return wrong;
}

// The first line of it.
std::string read_password(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw setting_error("password_file: " + path + ": " + std::system_category().message(errno));
  struct closer {
    int fd;
    ~closer() { ::close(fd); }
  } const at_end{fd};
  struct stat s{};
  if (::fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
    throw setting_error("password_file: " + path + " is not a file");
  if ((s.st_mode & 07) != 0)
    throw setting_error("password_file: everybody may use " + path + "; `chmod o= " + path + "` mends it");
  std::string text(longest_password + 1, '\0');
  const ssize_t n = ::read(fd, text.data(), text.size());
  if (n < 0) throw setting_error("password_file: " + path + ": " + std::system_category().message(errno));
  text.resize(static_cast<std::size_t>(n));
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  if (text.empty() || text.size() > longest_password)
    throw setting_error("password_file: " + path + " begins with no password");
  return text;
}

std::uint32_t whole_seconds(nanoseconds t) noexcept {
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(t).count());
}

// Tells the log of a connection and of its end; the same failure again and again once.
class connection_log {
 public:
  explicit connection_log(std::string who) : who_(std::move(who)) {}
  void tell(const net::mqtt::client_news& n) {
    const std::lock_guard hold(lock_);
    if (n.online) {
      log_info("stock", "{}: connected to {}{}", who_, n.server,
               n.resumed ? ", in the session of before" : "");
      last_.clear();
    } else if (n.why != last_) {
      log_warning("stock", "{}: no connection to {}: {}; trying again", who_, n.server, n.why);
      last_ = n.why;
    }
  }

 private:
  const std::string who_;
  std::mutex lock_;
  std::string last_;
};

}  // namespace

mqtt_settings::mqtt_settings(process* owner)
    : url(owner, "url", required, "the broker: mqtt://host:port; 1883 unless said",
          validated_by(validate_broker)),
      client_id(owner, "client_id", "", "who we are there, each client another; none: the broker gives one"),
      user_name(owner, "user_name", "", "none: no credentials are sent"),
      password_file(owner, "password_file", "", "a file with the password, not for everybody to read"),
      password_variable(owner, "password_variable", "", "or a variable of the environment with it"),
      keep_alive(owner, "keep_alive", 30s,
                 "a broker that is silent for longer is asked, and left if it stays so; 0: never",
                 between<nanoseconds>(0s, 65535s)),
      session(owner, "session", 0s, "how long the broker keeps messages for us while we are away",
              between<nanoseconds>(0s, 24h * 365 * 100)),
      connect_time(owner, "connect_time", 10s, "longest time to get a connection",
                   between<nanoseconds>(10ms, 1h)),
      retry(owner, "retry", 200ms,
            "first pause before a connection is made again; it doubles, and varies by chance",
            between<nanoseconds>(1ms, 1h)),
      retry_most(owner, "retry_most", 30s, "longest such pause", between<nanoseconds>(1ms, 24h)),
      refused(owner, "refused", mqtt_refused::retry, "a broker that does not let us in: try again, or fail"),
      owner_(*owner),
      together_(owner, validate_identity) {
  owner->note_error("a broker that is away, or a connection that is lost or silent",
                    "logged, and made again after `retry`, doubled up to `retry_most`");
  owner->note_error("a broker that refuses the credentials or the client",
                    "the same; with refused = \"fail\" the process fails");
  owner->note_error("a broker that names another one", "that one is connected to");
  owner->note_error("a password that cannot be read, or a file with it that everybody may read",
                    "the process fails");
}

net::mqtt::client_options mqtt_settings::options() const {
  net::mqtt::client_options o;
  std::string why;
  const auto server = net::mqtt::server_of_url(*url, why);
  if (!server) throw setting_error("url: \"" + *url + "\": " + why);
  o.server = *server;
  o.connect_time = *connect_time;
  o.retry = *retry;
  o.retry_most = *retry_most;
  o.give_up_when_refused = *refused == mqtt_refused::fail;
  o.session.client_id = *client_id;
  o.session.keep_alive =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(whole_seconds(*keep_alive), 65535));
  o.session.session_expiry = whole_seconds(*session);
  o.session.clean_start = *session == 0s;
  o.session.connect_time = *connect_time;
  if (!user_name->empty()) o.session.user_name = *user_name;
  if (!password_file->empty()) {
    o.session.password = read_password(*password_file);
  } else if (!password_variable->empty()) {
    const char* const text = std::getenv(password_variable->c_str());
    if (!text || !*text) throw setting_error("password_variable: there is no variable " + *password_variable);
    o.session.password = text;
  }
  auto told = std::make_shared<connection_log>(owner_.name());
  o.tell = [told](const net::mqtt::client_news& n) { told->tell(n); };
  return o;
}

record record_of_payload(mqtt_format f, const std::string& field, std::string payload) {
  switch (f) {
    case mqtt_format::json: return from_json<record>(payload);
    case mqtt_format::cbor:
      return from_cbor<record>({reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()});
    case mqtt_format::text:
      if (!is_utf8(payload)) throw std::runtime_error("a payload that is not UTF-8");
      break;
    case mqtt_format::raw: break;
  }
  record r;
  r.append(field, std::move(payload));
  return r;
}

std::optional<std::string> payload_of_record(mqtt_format f, const field_path& field, const record& r,
                                             std::string& why) {
  if (f == mqtt_format::json) return to_json(r);
  if (f == mqtt_format::cbor) {
    const std::vector<std::uint8_t> bytes = to_cbor(r);
    return std::string(bytes.begin(), bytes.end());
  }
  const field_value* const v = field.find(r);
  if (v) return to_text(*v);
  why = "a record without the field that is the payload";
  return {};
}

topic_template::topic_template(std::string_view text) {
  const auto wrong = [](const char* what) { return std::invalid_argument(what); };
  for (texts_.emplace_back(); !text.empty();) {
    const std::size_t at = text.find_first_of("{}");
    texts_.back() += text.substr(0, at);
    if (at == text.npos) break;
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == text.npos) throw wrong("a brace without the other one");
    const std::string_view name = text.substr(at + 1, end - at - 1);
    if (name.empty() || name.find('{') != name.npos) throw wrong("the name of a field stands between braces");
    names_.emplace_back(name);
    paths_.push_back(field_path::named(name));
    texts_.emplace_back();
    text.remove_prefix(end + 1);
  }
  std::string sample = texts_.front();
  for (std::size_t i = 1; i < texts_.size(); ++i) sample.append("x").append(texts_[i]);
  if (const std::string why = net::mqtt::check_topic(sample); !why.empty()) throw std::invalid_argument(why);
}

std::optional<std::string> topic_template::topic_of(const record& r, std::string& why) const {
  std::string topic = texts_.front();
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const field_value* const v = paths_[i].find(r);
    const std::string part = v ? to_text(*v) : std::string();
    if (part.empty() || part.find_first_of(std::string_view("+#/\0", 4)) != part.npos || !is_utf8(part)) {
      why = "field '" + names_[i] + "' " +
            (part.empty() ? "is missing, and the topic needs it"
                          : "has a value that cannot be a level of a topic");
      return {};
    }
    topic.append(part).append(texts_[i + 1]);
  }
  why = net::mqtt::check_topic(topic);
  if (!why.empty()) return {};
  return topic;
}

std::string validate_broker(const std::string& text) {
  std::string why;
  (void)net::mqtt::server_of_url(text, why);
  return why;
}

std::string validate_topic_template(const std::string& text) {
  try {
    (void)topic_template(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

std::vector<setting_diagnostic> validate_filters(const value& all) {
  const auto* const list = all.get_if<value::list>();
  if (!list) return {};
  if (list->empty()) return {{"at least one topic filter must be given"}};
  std::vector<setting_diagnostic> wrong;
  for (const value& v : *list)
    if (const auto* const filter = v.get_if<std::string>())
      if (std::string why = net::mqtt::check_filter(*filter); !why.empty())
        wrong.push_back({std::move(why), &v});
  return wrong;
}

}  // namespace leat::stock
