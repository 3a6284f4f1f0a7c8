// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <stdlib.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/base/log_aside.hpp>
#include <leat/csp/gate.hpp>
#include <leat/leat.hpp>
#include <leat/stock.hpp>

#include "sched/fixture.hpp"

namespace leat::stock::test {

using namespace leat::sched::test;
using leat::moment;
using leat::record;

enum class ended : std::uint8_t { not_yet, returned, stopped, failed };

// A stock class, by its name, with channels that the test holds. Used by one G; stopped and joined at its
// end.
class rig {
 public:
  explicit rig(std::string class_name) : class_(std::move(class_name)) {
    stock::use();
    options_.name = class_;
  }

  template <class T>
  rig& set(std::string name, T v) {
    settings_.push_back({std::move(name), {}, value(std::move(v))});
    return *this;
  }
  rig& set(std::string name, std::vector<std::string> texts) {
    value::list all;
    for (std::string& t : texts) all.emplace_back(std::move(t));
    return set(std::move(name), std::move(all));
  }
  template <class T = record>
  leat::channel<T> channel(const std::string& port, std::size_t capacity = 64,
                           const channel_options& o = {}) {
    leat::channel<T> c(capacity, o);
    connect(port, c);
    return c;
  }
  rig& connect(const std::string& port, const any_channel& c) {
    for (port_binding& b : options_.ports)
      if (b.port == port) return b.channels.push_back(c), *this;
    options_.ports.push_back({port, {c}});
    return *this;
  }
  // Records of this port come again if they were in hand at a failure.
  rig& deliver_at_least_once(const std::string& port) {
    for (port_binding& b : options_.ports) {
      if (b.port != port) continue;
      b.record = std::make_shared<csp::gate_record>();
      b.record->hold = b.channels.front().type().make_hold();
    }
    return *this;
  }
  // What the object saves, for others of the same kind.
  rig& keep_in(std::shared_ptr<state_store> states) {
    options_.states = std::move(states);
    return *this;
  }
  rig& start() {
    options_.settings = value(settings_);
    try {
      object_ = find_process_class(class_)->make(options_);
    } catch (const setting_error& e) {  // as the check of a file finds it
      failure_ = e.what();
      how_ = ended::failed;
      return *this;
    }
    task_ = spawn(class_, [this] {
      ended how = ended::returned;
      try {
        object_->run();
      } catch (const leat::stopped&) {
        how = ended::stopped;
      } catch (const std::exception& e) {
        failure_ = e.what();
        how = ended::failed;
      }
      (void)over_.try_send(how);
    });
    return *this;
  }
  // While it runs.
  template <class T>
  rig& change(std::string_view name, T v) {
    CHECK(object_->apply_setting(name, value(std::move(v))) == "");
    return *this;
  }
  ended wait(deadline d = patience) {
    if (how_ == ended::not_yet)
      if (const auto how = over_.recv_until(d)) how_ = *how;
    return how_;
  }
  ended stop() {
    task_.request_stop();
    return wait();
  }
  // Destroys the object, once it has ended.
  void destroy() {
    (void)task_.join();
    object_.reset();
  }
  // What it failed with; "" while it has not.
  std::string failure() { return wait() == ended::failed ? failure_ : std::string(); }

 private:
  std::string class_;
  value::table settings_;
  process_options options_;
  std::unique_ptr<process> object_;
  leat::channel<ended> over_{1};
  std::string failure_;
  ended how_ = ended::not_yet;
  task<void> task_;  // last: its end joins the G that uses the rest
};

// What the log was told meanwhile.
class log_reader {
 public:
  log_reader() {
    set_log_sink(
        [](void* self, log_level, std::string_view, std::string_view text) {
          auto& me = *static_cast<log_reader*>(self);
          const std::lock_guard hold(me.lock_);
          me.lines_.emplace_back(text);
        },
        this);
  }
  ~log_reader() { set_log_sink(nullptr, nullptr); }
  log_reader(const log_reader&) = delete;

  std::size_t count(std::string_view part) {
    (void)leat::detail::wait_for_log_aside(1000);  // sysmon's and the host's
    const std::lock_guard hold(lock_);
    std::size_t n = 0;
    for (const std::string& l : lines_) n += l.find(part) != std::string::npos;
    return n;
  }
  // What follows it in the first line that has it, up to a blank.
  std::string after(std::string_view part) {
    (void)leat::detail::wait_for_log_aside(1000);
    const std::lock_guard hold(lock_);
    for (const std::string& l : lines_)
      if (const std::size_t at = l.find(part); at != std::string::npos) {
        const std::string rest = l.substr(at + part.size());
        return rest.substr(0, rest.find(' '));
      }
    return {};
  }
  bool has(std::string_view part) { return count(part) > 0; }
  std::size_t longest() {
    const std::lock_guard hold(lock_);
    std::size_t n = 0;
    for (const std::string& l : lines_) n = std::max(n, l.size());
    return n;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
};

class temp_folder {
 public:
  temp_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "leat-stock-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~temp_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temp_folder(const temp_folder&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// All that comes until the channel is closed or the process has ended; of one field, as text.
inline std::vector<std::string> texts_of(const std::vector<record>& all, std::string_view field) {
  std::vector<std::string> out;
  for (const record& r : all) out.push_back(r.find(field) ? to_text(*r.find(field)) : "-");
  return out;
}
inline std::vector<record> drained(const leat::channel<record>& c) {
  std::vector<record> all;
  while (auto r = c.try_recv()) all.push_back(std::move(*r));
  return all;
}

// body() as the main G; nothing may be left behind.
template <class F>
void at_procs(F body) {
  for (const unsigned procs : {1u, 2u}) run_clean(with_procs(procs), body);
}

}  // namespace leat::stock::test
