// SPDX-License-Identifier: BSL-1.0
#include <leat/services/new_project.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace leat::services {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_name = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Targets that CMake's generators or CTest have already, and names that the project's own parts need.
constexpr std::string_view taken[] = {
    "CMakeFiles",     "Testing",       "all",  "build",   "clean", "codegen",
    "default_target", "edit_cache",    "help", "install", "leat",  "list_install_components",
    "package",        "rebuild_cache", "test"};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

std::string path_in_project(std::string_view file, std::string_view name) {
  if (file == "gitignore.in") return ".gitignore";
  if (file == "service.toml.in") return std::string(name) + ".toml";
  // The project's own CMake fills in the folders, and drops the rest of the name.
  if (file == "unit.service.in") return std::string(name) + ".service.in";
  std::string path(file);
  if (path.ends_with(".in")) path.resize(path.size() - 3);
  return path;
}

void write_file(const fs::path& to, std::string_view text) {
  const auto fail = [&](int error) {
    throw std::runtime_error("'" + to.string() + "' cannot be written: " + std::strerror(error));
  };
  const int fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) fail(errno);
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      fail(error);
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::close(fd) != 0) fail(errno);
}

}  // namespace

std::string project_name_error(std::string_view name) {
  const std::string quoted = "'" + std::string(name) + "'";
  if (name.empty()) return "a project needs a name";
  if (name.find('/') != std::string_view::npos)
    return quoted + " is a path; go to the folder where you want it and give its name alone";
  if (name.size() > longest_name)
    return quoted + " is too long: at most " + std::to_string(longest_name) + " characters";
  if (!is_letter(name[0])) return quoted + " does not begin with a letter";
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '-' && c != '_')
      return quoted + " has characters other than letters, digits, - and _";
  if (std::find(std::begin(taken), std::end(taken), name) != std::end(taken))
    return quoted + " has another meaning for CMake or Leat; take another name";
  return {};
}

std::vector<project_file> project_files(std::string_view name, std::string_view version) {
  const std::string_view minor = version.substr(0, version.rfind('.'));
  std::vector<project_file> out;
  for (const embedded_file& from : embedded_files()) {
    std::string text(from.text);
    replace_all(text, "{{name}}", name);
    replace_all(text, "{{leat}}", minor);
    out.push_back({path_in_project(from.name, name), std::move(text)});
  }
  return out;
}

void make_project(const std::string& parent, std::string_view name, const std::vector<project_file>& files) {
  const fs::path folder = parent.empty() ? fs::path(name) : fs::path(parent) / name;
  // Not a look and then a making: whoever is first has it.
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST)
      throw std::runtime_error("'" + folder.string() + "' is already there; nothing was changed");
    throw std::runtime_error("'" + folder.string() + "' cannot be made: " + std::strerror(errno));
  }
  try {
    for (const project_file& f : files) {
      const fs::path to = folder / f.path;
      fs::create_directories(to.parent_path());
      write_file(to, f.text);
    }
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw;
  }
}

std::string next_steps(std::string_view name, std::string_view prefix) {
  const std::string n(name);
  return "  cd " + n + "\n  cmake -B build" +
         (prefix.empty() ? "" : " -DCMAKE_PREFIX_PATH='" + std::string(prefix) + "'") +
         "\n  cmake --build build\n  ctest --test-dir build\n  build/" + n + " run " + n + ".toml\n";
}

std::string unusual_prefix() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = self.parent_path().parent_path();
  if (prefix.empty() || prefix == "/" || prefix == "/usr" || prefix == "/usr/local") return {};
  return fs::exists(prefix / "include/leat/leat.hpp", error) ? prefix.string() : std::string();
}

}  // namespace leat::services
