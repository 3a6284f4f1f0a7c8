// SPDX-License-Identifier: BSL-1.0
#include <leat/services/plugin_bytes.hpp>

#include <cstring>
#include <optional>

#include <leat/process/plugin.hpp>

namespace leat::services {
namespace {

// "0.1" of "0.1.7". Before 1.0 a minor version may change anything, as the SOVERSION says.
std::string_view interface_of(std::string_view version) { return version.substr(0, version.rfind('.')); }

template <std::size_t N>
std::string_view text_in(const char (&from)[N]) {
  return {from, ::strnlen(from, N)};
}

// It goes to a terminal or a log.
std::string shown(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

// Read from the file: a plug-in of another version need not even have the symbols that it is loaded with. The
// mark may stand in other places too, as in a text; only a description has its own size behind it.
std::optional<plugin_description> description_in(std::string_view bytes) {
  const std::string mark(plugins::mark_backwards.rbegin(), plugins::mark_backwards.rend());
  for (std::size_t at = bytes.find(mark); at != bytes.npos; at = bytes.find(mark, at + 1)) {
    if (bytes.size() - at < sizeof(plugin_description)) break;
    plugin_description d;
    std::memcpy(&d, bytes.data() + at, sizeof d);
    // Another format may have another size.
    if (d.format != plugin_format || d.size == sizeof d) return d;
  }
  return std::nullopt;
}

std::string fault_of(const plugin_description& d) {
  if (d.format != plugin_format)
    return "its description has format " + std::to_string(d.format) + ", this program reads format " +
           std::to_string(plugin_format);
  if (interface_of(text_in(d.version)) != interface_of(LEAT_VERSION))
    return "it was built with Leat " + shown(text_in(d.version)) + ", this program is Leat " LEAT_VERSION;
  if (text_in(d.abi) != LEAT_PLUGIN_ABI)
    return "it was built with " + shown(text_in(d.abi)) + ", this program with " LEAT_PLUGIN_ABI;
  return {};
}

}  // namespace

plugin_in_file read_plugin(std::string_view bytes) {
  if (!bytes.starts_with("\177ELF")) return {.error = "it is not a shared object"};
  const std::optional<plugin_description> d = description_in(bytes);
  if (!d) return {.error = "it does not say LEAT_PLUGIN(\"name\"), so it is not a plug-in for Leat"};
  return {shown(text_in(d->name)), fault_of(*d)};
}

}  // namespace leat::services
