// SPDX-License-Identifier: BSL-1.0
//
// What mqtt-subscribe and mqtt-publish have in common: the broker, who we are there, payloads. Not installed.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/net/mqtt/client.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/process.hpp>
#include <leat/process/record.hpp>
#include <leat/process/settings.hpp>

namespace leat::stock {

enum class mqtt_format : std::uint8_t { json, cbor, text, raw };
LEAT_ENUM(mqtt_format, json, cbor, text, raw);
enum class mqtt_refused : std::uint8_t { retry, fail };
LEAT_ENUM(mqtt_refused, retry, fail);

struct mqtt_settings {
  explicit mqtt_settings(process* owner);

  // Throws setting_error: a password that cannot be had. It tells the log of connections as `owner`.
  net::mqtt::client_options options() const;

  setting<std::string> url, client_id, user_name, password_file, password_variable;
  setting<nanoseconds> keep_alive, session, connect_time, retry, retry_most;
  setting<mqtt_refused> refused;

 private:
  const process& owner_;
  settings_validator together_;
};

// A payload as a record. Throws message_error, or std::runtime_error for text that is not UTF-8.
record record_of_payload(mqtt_format f, const std::string& field, std::string payload);
// A record as a payload. Empty, and `why`: it has no such field.
std::optional<std::string> payload_of_record(mqtt_format f, const field_path& field, const record& r,
                                             std::string& why);

// "plant/{site}/{sensor.name}": text, and fields of a record in braces.
class topic_template {
 public:
  // Throws std::invalid_argument: what is wrong.
  explicit topic_template(std::string_view text);

  // Empty, and `why`: a field is missing, or its value cannot be part of one level of a topic.
  std::optional<std::string> topic_of(const record& r, std::string& why) const;
  const std::vector<std::string>& fields() const noexcept { return names_; }

 private:
  std::vector<std::string> texts_;  // one more than there are fields
  std::vector<std::string> names_;
  std::vector<field_path> paths_;
};

// Of settings, as stock/validators.hpp has it.
std::string validate_broker(const std::string& text);
std::string validate_topic_template(const std::string& text);
std::vector<setting_diagnostic> validate_filters(const value& all);

}  // namespace leat::stock
