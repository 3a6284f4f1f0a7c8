// SPDX-License-Identifier: BSL-1.0
#include <leat/config/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <leat/base/units.hpp>
#include <leat/config/toml.hpp>

namespace leat::config {

namespace {

namespace fs = std::filesystem;

class loader {
 public:
  loader(const environment_fn& environment, const read_limits& limits, source_set& sources, findings& found)
      : environment_(environment), limits_(limits), sources_(sources), found_(found) {}

  // `asked_at`: where a file lists it; unknown for one that the user named.
  void path(const std::string& name, place asked_at) {
    std::error_code error;
    if (!fs::is_directory(name, error)) return file(name, asked_at);
    std::vector<std::string> names;
    for (fs::directory_iterator i(name, error), end; !error && i != end; i.increment(error))
      if (i->path().extension() == ".toml") names.push_back(i->path().string());
    if (error) return cannot_read(name, asked_at, error.message());
    if (names.empty()) return cannot_read(name, asked_at, "the folder has no .toml file");
    std::sort(names.begin(), names.end());
    for (const std::string& n : names) file(n, asked_at);
  }

  void text(std::string name, std::string content) { (void)parse(std::move(name), std::move(content)); }

  parsed_files take() { return std::move(out_); }

 private:
  void cannot_read(const std::string& name, place asked_at, const std::string& why) {
    out_.complete = false;
    if (asked_at.known()) {
      found_.error("file", asked_at, "'" + name + "' cannot be read: " + why);
      return;
    }
    const std::uint32_t file = sources_.add(name, "");
    found_.error("file", {file, 0, 0, 0}, "cannot be read: " + why);
  }

  void file(const std::string& name, place asked_at) {
    std::error_code error;
    const fs::path real = fs::canonical(name, error);
    if (error) return cannot_read(name, asked_at, error.message());
    // A folder holds the services that its deployment lists.
    if (!seen_.insert(real.string()).second) return;
    if (seen_.size() > limits_.files)
      return cannot_read(name, asked_at, "more than " + std::to_string(limits_.files) + " files");
    std::string why;
    std::optional<std::string> content = read(name, why);
    if (!content) return cannot_read(name, asked_at, why);
    const std::optional<std::size_t> index = parse(name, std::move(*content));
    if (!index) return;
    listed_plugins(*index);
    listed_services(*index);
  }

  std::optional<std::string> read(const std::string& name, std::string& why) const {
    // Not blocking, so that the name of a pipe cannot hold us up.
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      why = std::strerror(errno);
      return std::nullopt;
    }
    std::string content;
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
      why = "it is no regular file";
    } else {
      char buffer[65536];
      ssize_t n = 0;
      while (why.empty() && (n = ::read(fd, buffer, sizeof buffer)) != 0) {
        if (n < 0) {
          if (errno != EINTR) why = std::strerror(errno);
          continue;
        }
        content.append(buffer, static_cast<std::size_t>(n));
        if (content.size() > limits_.file_size) why = too_large();
      }
    }
    ::close(fd);
    if (!why.empty()) return std::nullopt;
    return content;
  }

  std::string too_large() const { return "it is larger than " + format_size(limits_.file_size); }

  // The index in out_.files.
  std::optional<std::size_t> parse(std::string name, std::string content) {
    if (content.size() > limits_.file_size) {
      cannot_read(name, {}, too_large());
      return std::nullopt;
    }
    const std::uint32_t file = sources_.add(std::move(name), std::move(content));
    std::optional<value> root = parse_toml(sources_, file, found_);
    if (!root) {
      out_.complete = false;
      return std::nullopt;
    }
    expand_environment(*root, environment_, found_);
    out_.files.push_back({file, std::move(*root)});
    return out_.files.size() - 1;
  }

  void listed_plugins(std::size_t index) {
    const value* found = out_.files[index].root.find("plugins");
    const auto* elements = found ? found->get_if<value::list>() : nullptr;
    if (!elements) return;
    const fs::path folder = fs::path(sources_[out_.files[index].file].name()).parent_path();
    for (const value& v : *elements) {
      const auto* text = v.get_if<std::string>();
      if (text && !begins_at_home(*text, v.at())) out_.plugins.push_back({(folder / *text).string(), v.at()});
    }
  }

  void listed_services(std::size_t index) {
    // Copied: reading the services lets out_.files grow. Anything but texts is reported with the other keys.
    const value* found = out_.files[index].root.find("services");
    const auto* elements = found ? found->get_if<value::list>() : nullptr;
    if (!elements) return;
    const value::list list = *elements;
    const fs::path folder = fs::path(sources_[out_.files[index].file].name()).parent_path();
    for (const value& v : list) {
      const auto* text = v.get_if<std::string>();
      if (text && !begins_at_home(*text, v.at())) path((folder / *text).string(), v.at());
    }
  }

  // As shells write it; here that would be a folder of this name.
  bool begins_at_home(const std::string& name, place at) {
    if (name != "~" && !name.starts_with("~/")) return false;
    out_.complete = false;
    found_.error("file", at, "'~' is not replaced here; write \"${HOME}" + name.substr(1) + '"');
    return true;
  }

  const environment_fn& environment_;
  const read_limits& limits_;
  source_set& sources_;
  findings& found_;
  std::set<std::string> seen_;
  parsed_files out_;
};

}  // namespace

parsed_files read_files(const std::vector<std::string>& paths, const environment_fn& environment,
                        const read_limits& limits, source_set& sources, findings& found) {
  loader l(environment, limits, sources, found);
  for (const std::string& p : paths) l.path(p, {});
  return l.take();
}

parsed_files read_text(std::string name, std::string text, const environment_fn& environment,
                       const read_limits& limits, source_set& sources, findings& found) {
  loader l(environment, limits, sources, found);
  l.text(std::move(name), std::move(text));
  return l.take();
}

}  // namespace leat::config
