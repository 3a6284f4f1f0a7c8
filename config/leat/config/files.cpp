// SPDX-License-Identifier: BSL-1.0
#include <leat/config/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <leat/base/units.hpp>
#include <leat/config/service_list.hpp>
#include <leat/config/templates.hpp>
#include <leat/config/toml.hpp>

namespace leat::config {

namespace {

namespace fs = std::filesystem;

class loader {
 public:
  loader(const environment_fn& environment, const read_limits& limits, source_set& sources,
         diagnostics& found)
      : environment_(environment), limits_(limits), sources_(sources), found_(found) {}

  // `asked_at`: where a file lists it; unknown for one that the user named.
  void path(const std::string& name, source_location asked_at) {
    std::error_code error;
    if (!fs::is_directory(name, error)) return file(name, asked_at, false);
    std::vector<std::string> names;
    for (fs::directory_iterator i(name, error), end; !error && i != end; i.increment(error))
      if (i->path().extension() == ".toml") names.push_back(i->path().string());
    if (error) return cannot_read(name, asked_at, error.message());
    if (names.empty()) return cannot_read(name, asked_at, "the folder has no .toml file");
    std::sort(names.begin(), names.end());
    for (const std::string& n : names) file(n, asked_at, true);
  }

  void text(std::string name, std::string content) {
    const std::optional<std::uint32_t> source = add(std::move(name), std::move(content));
    if (!source || !parse({*source})) return;
    bool complete = true;  // files that are not read are none that are missing
    (void)list_of(waiting_.size() - 1, complete);
  }

  parsed_files take() {
    std::set<std::string> whole;  // files that have said what they say of the deployment
    for (waiting& w : waiting_) {
      if (w.in_folder && used_.count(w.real) != 0) continue;
      if (!whole.insert(w.real).second) keep_service(w.root);
      const std::vector<argument> arguments = take_arguments(w.root, w.use ? &*w.use : nullptr, w.asked_at,
                                                             sources_[w.file].name(), environment_, found_);
      out_.files.push_back({w.file, expand_file(w.root, environment_, arguments, sources_, found_), w.rank});
    }
    return std::move(out_);
  }

 private:
  // A file that has been parsed. What is put into it can be said when all have been.
  struct waiting {
    std::uint32_t file;
    value root = {};
    std::string real = {};
    source_location asked_at = {};
    std::optional<service_use> use = {};
    bool in_folder = false;  // nobody has named it: if somebody uses it under other names, that is all
    std::size_t rank = 0;
  };

  void cannot_read(const std::string& name, source_location asked_at, const std::string& why) {
    out_.complete = false;
    if (asked_at.known()) {
      found_.error("file", asked_at, "'" + name + "' cannot be read: " + why);
      return;
    }
    const std::uint32_t file = sources_.add(name, "");
    found_.error("file", {file, 0, 0, 0}, "cannot be read: " + why);
  }

  void file(const std::string& name, source_location asked_at, bool in_folder) {
    std::error_code error;
    const fs::path real = fs::canonical(name, error);
    if (error) return cannot_read(name, asked_at, error.message());
    // A folder holds the services that its deployment lists.
    if (!seen_.insert(real.string()).second) {
      // Somebody names it after all.
      for (waiting& w : waiting_)
        if (!in_folder && !w.use && w.real == real.string()) w.in_folder = false;
      return;
    }
    const std::optional<std::uint32_t> source = source_of(name, real.string(), asked_at);
    if (!source) return;
    read_whole({*source, {}, real.string(), asked_at, {}, in_folder});
  }

  // A further use of a file, whoever else reads it.
  void use(const std::string& name, const listed_service& listed) {
    std::error_code error;
    const fs::path real = fs::canonical(name, error);
    if (error) return cannot_read(name, listed.at, error.message());
    const bool first = sources_by_path_.count(real.string()) == 0;
    const std::optional<std::uint32_t> source = source_of(name, real.string(), listed.at);
    if (!source) return;
    used_.insert(real.string());
    const auto* as = listed.use->name ? listed.use->name->get_if<std::string>() : nullptr;
    const std::uint32_t file =
        sources_.add_use(*source, listed.use->at,
                         as ? "the file is used here as service '" + *as + "'" : "the file is used here");
    waiting w{file, {}, real.string(), listed.at, listed.use};
    if (first)
      read_whole(std::move(w));
    else
      (void)parse(std::move(w));
  }

  // With what it lists.
  void read_whole(waiting w) {
    if (!parse(std::move(w))) return;
    const std::size_t index = waiting_.size() - 1;
    listed_plugins(index);
    for (const listed_service& l : list_of(index, out_.complete)) {
      if (begins_at_home(l.file, l.at)) continue;
      const std::string name = (folder_of(index) / l.file).string();
      if (l.use)
        use(name, l);
      else
        path(name, l.at);
    }
    waiting_[index].rank = ++ranks_;
  }

  std::optional<std::uint32_t> source_of(const std::string& name, const std::string& real,
                                         source_location asked_at) {
    const auto known = sources_by_path_.find(real);
    if (known == sources_by_path_.end() || asked_at.known()) {
      if (++reads_ > limits_.files) {
        cannot_read(name, asked_at, "more than " + std::to_string(limits_.files) + " files");
        return std::nullopt;
      }
    }
    if (known != sources_by_path_.end()) return known->second;
    std::string why;
    std::optional<std::string> content = read(name, why);
    if (!content) {
      cannot_read(name, asked_at, why);
      return std::nullopt;
    }
    const std::optional<std::uint32_t> added = add(name, std::move(*content));
    if (added) sources_by_path_.emplace(real, *added);
    return added;
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
      why = "it is not a regular file";
    } else {
      char buffer[4096];  // a G has little stack
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

  std::optional<std::uint32_t> add(std::string name, std::string content) {
    if (content.size() > limits_.file_size) {
      cannot_read(name, {}, too_large());
      return std::nullopt;
    }
    return sources_.add(std::move(name), std::move(content));
  }

  bool parse(waiting w) {
    std::optional<value> root = parse_toml(sources_, w.file, found_);
    if (!root) {
      out_.complete = false;
      return false;
    }
    w.root = std::move(*root);
    for (value_member& m : *w.root.get_if<value::table>())
      if (m.key == "services" || m.key == "plugins") expand_environment(m.value, environment_, found_);
    w.rank = ++ranks_;
    waiting_.push_back(std::move(w));
    return true;
  }

  // What is said of the deployment is said once.
  static void keep_service(value& root) {
    auto& members = *root.get_if<value::table>();
    constexpr std::string_view once[] = {"services",   "plugins", "runtime",
                                         "supervisor", "control", "override"};
    members.erase(std::remove_if(members.begin(), members.end(),
                                 [&](const value_member& m) {
                                   return std::find(std::begin(once), std::end(once), m.key) !=
                                          std::end(once);
                                 }),
                  members.end());
  }

  fs::path folder_of(std::size_t index) const {
    return fs::path(sources_[waiting_[index].file].name()).parent_path();
  }

  void listed_plugins(std::size_t index) {
    const value* found = waiting_[index].root.find("plugins");
    const auto* elements = found ? found->get_if<value::list>() : nullptr;
    if (!elements) return;
    for (const value& v : *elements) {
      const auto* text = v.get_if<std::string>();
      if (text && !begins_at_home(*text, v.at()))
        out_.plugins.push_back({(folder_of(index) / *text).string(), v.at()});
    }
  }

  std::vector<listed_service> list_of(std::size_t index, bool& complete) {
    const value* list = waiting_[index].root.find("services");
    return list ? read_service_list(*list, complete, found_) : std::vector<listed_service>();
  }

  // As shells write it; here that would be a folder of this name.
  bool begins_at_home(const std::string& name, source_location at) {
    if (name != "~" && !name.starts_with("~/")) return false;
    out_.complete = false;
    found_.error("file", at, "'~' is not replaced here; write \"${HOME}" + name.substr(1) + '"');
    return true;
  }

  const environment_fn& environment_;
  const read_limits& limits_;
  source_set& sources_;
  diagnostics& found_;
  std::set<std::string> seen_;  // read as they are
  std::set<std::string> used_;  // under a name or with parameters
  std::map<std::string, std::uint32_t> sources_by_path_;
  std::vector<waiting> waiting_;
  std::size_t reads_ = 0, ranks_ = 0;
  parsed_files out_;
};

}  // namespace

parsed_files read_files(const std::vector<std::string>& paths, const environment_fn& environment,
                        const read_limits& limits, source_set& sources, diagnostics& found) {
  loader l(environment, limits, sources, found);
  for (const std::string& p : paths) l.path(p, {});
  return l.take();
}

parsed_files read_text(std::string name, std::string text, const environment_fn& environment,
                       const read_limits& limits, source_set& sources, diagnostics& found) {
  loader l(environment, limits, sources, found);
  l.text(std::move(name), std::move(text));
  return l.take();
}

}  // namespace leat::config
