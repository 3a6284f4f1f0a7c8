// SPDX-License-Identifier: BSL-1.0
#include <leat/services/plugins.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>

#include <leat/process/plugin.hpp>
#include <leat/process/registry.hpp>
#include <leat/sched/leavable.hpp>
#include <leat/services/class_finder.hpp>
#include <leat/services/plugin_bytes.hpp>

namespace leat::services {
namespace {

namespace fs = std::filesystem;

// The loader's words without the path, which is logged anyway, and with a symbol as it was written.
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

// Where plug-ins are installed: where LEAT_PLUGIN_PATH says, beside this program, and where Leat was to be installed.
std::vector<fs::path> plugin_folders() {
  std::vector<fs::path> all;
  if (const char* const set = std::getenv("LEAT_PLUGIN_PATH"))
    for (std::string_view rest = set; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) all.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) all.push_back(program.parent_path() / LEAT_PLUGINS_FROM_PROGRAM);
  all.emplace_back(LEAT_PLUGINS_INSTALLED);
  return all;
}

// The file itself, else one of its name that is installed.
std::string find_plugin(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  for (const fs::path& folder : plugin_folders())
    if (fs::path there = folder / fs::path(path).filename(); fs::exists(there, ignored))
      return there.string();
  return path;
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
  if (!fs::is_regular_file(real, error)) return {"it is not a regular file"};
  std::ifstream in(real, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return {"it cannot be read"};
  plugin_in_file described = read_plugin(bytes);
  if (!described.error.empty()) return {std::move(described.error)};

  const std::size_t problems_before = catalog_problems().size();
  const std::string_view before =
      processes::exchange_origin(keep("plug-in '" + described.name + "' (" + real.filename().string() + ')'));
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

std::vector<std::string> load_plugin(const std::string& named) {
  static std::mutex lock;
  static auto* const known = new std::map<std::string, std::vector<std::string>>;
  const std::scoped_lock hold(lock);
  const std::string path = find_plugin(named);
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string key = error ? path : real.string();
  if (const auto found = known->find(key); found != known->end()) return found->second;
  std::vector<std::string> errors = load_file(path);
  for (std::string& text : errors) text.insert(0, "plug-in '" + path + "' cannot be used: ");
  return known->emplace(key, std::move(errors)).first->second;
}

config::options with_plugins() {
  config::options how;
  how.load_plugin = [](const config::plugin_file& file, config::diagnostics& found) {
    const std::vector<std::string> errors = load_plugin(file.path);
    for (const std::string& error : errors) found.error("plugin", file.at, error);
    return errors.empty();
  };
  how.where_is = [finder = std::make_shared<class_finder>()](std::string_view name) {
    return finder->hint(name);
  };
  return how;
}

}  // namespace leat::services
