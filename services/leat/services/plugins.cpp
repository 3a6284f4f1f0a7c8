// SPDX-License-Identifier: BSL-1.0
#include <leat/services/plugins.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include <leat/process/plugin.hpp>
#include <leat/process/registry.hpp>
#include <leat/sched/leavable.hpp>

namespace leat::services {
namespace {

namespace fs = std::filesystem;

// "0.1" of "0.1.7". Before 1.0 a minor version may change anything, as the SOVERSION says.
std::string_view interface_of(std::string_view version) { return version.substr(0, version.rfind('.')); }

template <std::size_t N>
std::string_view text(const char (&from)[N]) {
  return {from, ::strnlen(from, N)};
}

// Read from the file: a plug-in of another version need not even have the symbols that it is loaded with.
std::optional<plugin_description> description_in(const std::string& bytes) {
  const std::string mark(plugins::mark_backwards.rbegin(), plugins::mark_backwards.rend());
  const std::size_t at = bytes.find(mark);
  if (at == std::string::npos || bytes.size() - at < sizeof(plugin_description)) return std::nullopt;
  plugin_description d;
  std::memcpy(&d, bytes.data() + at, sizeof d);
  return d;
}

std::string fault_of(const plugin_description& d) {
  if (d.format != plugin_format)
    return "its description has format " + std::to_string(d.format) + ", this program reads format " +
           std::to_string(plugin_format);
  if (interface_of(text(d.version)) != interface_of(LEAT_VERSION))
    return "it was built with Leat " + std::string(text(d.version)) + ", this program is Leat " LEAT_VERSION;
  if (text(d.abi) != LEAT_PLUGIN_ABI)
    return "it was built with " + std::string(text(d.abi)) + ", this program with " LEAT_PLUGIN_ABI;
  return {};
}

// The loader's words without the path, which is told anyway, and with a symbol as it was written.
std::string loader_words(const std::string& path) {
  const char* const said = ::dlerror();
  std::string words = said ? said : "for no reason that the loader tells";
  if (words.starts_with(path + ": ")) words.erase(0, path.size() + 2);
  constexpr std::string_view undefined = "undefined symbol: ";
  const std::size_t at = words.find(undefined);
  if (at == std::string::npos) return words;
  std::string symbol = words.substr(at + undefined.size());
  symbol.resize(std::min(symbol.size(), symbol.find_first_of(" ,\n")));
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  const std::string name = plain ? plain.get() : symbol;
  words = "nothing here defines '" + name + "', which it uses";
  if (name.find("leat::") != std::string::npos || name.starts_with("leat_"))
    words += "; a program that loads plug-ins has to be linked with leat::host";
  return words;
}

// The names of plug-ins, for as long as classes may point to them.
std::string_view keep(std::string name) {
  static auto* const all = new std::deque<std::string>;
  return all->emplace_back(std::move(name));
}

std::vector<std::string> load_file(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return {error.message()};
  if (!fs::is_regular_file(real, error)) return {"it is no regular file"};
  std::ifstream in(real, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return {"it cannot be read"};
  if (!bytes.starts_with("\177ELF")) return {"it is no shared object"};
  const std::optional<plugin_description> d = description_in(bytes);
  if (!d) return {"it does not say LEAT_PLUGIN(\"name\"), so it is no plug-in of Leat"};
  if (std::string fault = fault_of(*d); !fault.empty()) return {std::move(fault)};

  const std::size_t problems_before = catalog_problems().size();
  const std::string_view before = processes::exchange_origin(
      keep("plug-in '" + std::string(text(d->name)) + "' (" + real.filename().string() + ')'));
  void* const handle = ::dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  processes::exchange_origin(before);
  if (!handle) return {loader_words(real.string())};

  const auto* const runtime = static_cast<const char* const*>(::dlsym(handle, "leat_plugin_runtime"));
  if (!runtime) return {"it does not export its description"};
  // Found by the handle: in the plug-in itself, or in a library that it brought along.
  const void* const brought = ::dlsym(handle, "leat_runtime_copy");
  if (*runtime != &leat_runtime_copy || (brought && brought != &leat_runtime_copy))
    return {
        "it brings a second copy of Leat, which knows nothing of what runs in this one; link it with "
        "leat::plugin and not with leat::leat"};
  sched::add_leavable_file(real.c_str());
  const std::vector<std::string> problems = catalog_problems();
  return {problems.begin() + static_cast<std::ptrdiff_t>(problems_before), problems.end()};
}

}  // namespace

std::vector<std::string> load_plugin(const std::string& path) {
  static std::mutex lock;
  static auto* const known = new std::map<std::string, std::vector<std::string>>;
  const std::scoped_lock hold(lock);
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string key = error ? path : real.string();
  if (const auto found = known->find(key); found != known->end()) return found->second;
  std::vector<std::string> faults = load_file(path);
  for (std::string& fault : faults) fault.insert(0, "plug-in '" + path + "' cannot be used: ");
  return known->emplace(key, std::move(faults)).first->second;
}

config::options with_plugins() {
  config::options how;
  how.load_plugin = [](const config::plugin_file& file, config::findings& found) {
    const std::vector<std::string> faults = load_plugin(file.path);
    for (const std::string& fault : faults) found.error("plugin", file.at, fault);
    return faults.empty();
  };
  return how;
}

}  // namespace leat::services
