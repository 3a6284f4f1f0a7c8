// SPDX-License-Identifier: BSL-1.0
#include <leat/services/state_folders.hpp>

#include <dirent.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <semaphore>
#include <utility>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/process/state_file.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/time.hpp>

namespace leat::services {
namespace {

using namespace std::chrono_literals;

constexpr folder_use folder_words{"states", "state", "leat.lock"};

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  DIR* const d = ::opendir(folder.c_str());
  if (!d) throw wiring_error("the folder of states '" + folder + "' cannot be read: " + std::strerror(errno));
  while (const dirent* const e = ::readdir(d)) out.emplace_back(e->d_name);
  ::closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

// --- the writer -------------------------------------------------------------------------------------

class state_folders::writer {
 public:
  struct replica {
    std::shared_ptr<state_store> store;
    std::string who, folder, service, process;
    unsigned number = 0;
    nanoseconds every{0};
    time_point due = {};
    bool told = false;  // that it cannot be written
  };

  void run() {
    time_point next = never;
    for (bool open = true; open;) {
      std::optional<char> woken;
      const recv_status s = wake.recv(woken, deadline(next));
      open = s == recv_status::received || s == recv_status::timeout;
      if (!open) break;
      next = never;
      const time_point now = leat::now();
      for (replica& r : replicas) next = std::min(next, look(r, now));
    }
    for (replica& r : replicas) r.due = {};
    for (replica& r : replicas) all_written = write(r) && all_written;
    done.release();
  }

  std::vector<replica> replicas;  // from start on the G's
  const channel<char> wake{1};
  bool all_written = true;  // ordered by `done`
  std::binary_semaphore done{0};

 private:
  // When it wants to be looked at again.
  static time_point look(replica& r, time_point now) {
    const std::vector<state_store::entry> all = r.store->all();
    if (std::none_of(all.begin(), all.end(), [](const auto& e) { return e.box->is_unwritten(); }))
      return never;
    if (now < r.due) return r.due;
    const bool good = write(r);
    r.due = leat::now() + (good ? r.every : std::max<nanoseconds>(r.every, 1s));
    return good ? never : r.due;
  }

  static bool write(replica& r) {
    std::string failure;
    bool wrote = false;
    for (const state_store::entry& e : r.store->all()) {
      if (!e.box->take_unwritten()) continue;
      try {
        state_content c;
        c.whose = r.service + '/' + r.process + '/' + std::to_string(r.number) + '/' + e.name;
        c.type = type_name(e.box->shape()());
        e.box->write(c.value);
        const std::string path =
            joined_path(r.folder, state_file_name(r.service, r.process, r.number, e.name));
        blocking([&] { replace_file(path, pack_state(c)); });
        wrote = true;
      } catch (const std::exception& x) {
        e.box->mark_unwritten();
        failure = "state '" + e.name + "' cannot be written: " + x.what();
      }
    }
    if (!failure.empty()) {
      if (!r.told) log_error("state", "{}: {}; it is tried again", r.who, failure);
      r.told = true;
    } else if (wrote && std::exchange(r.told, false)) {
      log_notice("state", "{}: its state is written again", r.who);
    }
    return failure.empty();
  }
};

// --- both -------------------------------------------------------------------------------------------

state_folders::state_folders(const config::plan& plan) : plan_(plan) {
  for (const config::process_plan& p : plan.processes) {
    if (!p.state) continue;
    try {
      std::unique_ptr<folder_lock>& lock = locks_[real_folder(p.state->folder, folder_words)];
      if (lock) continue;
      lock = std::make_unique<folder_lock>(p.state->folder, folder_words);
      warn_of_others(p.state->folder, plan.where(p.state->at) + ": process '" + p.name + "'", folder_words);
    } catch (const wiring_error& e) {
      throw wiring_error(plan.where(p.state->at) + ": process '" + p.name + "': " + e.what());
    }
  }
  if (!locks_.empty()) writer_ = std::make_shared<writer>();
}

state_folders::~state_folders() {
  if (writer_ && !writer_->wake.closed()) writer_->wake.close();
}

void state_folders::give(config::index process, unsigned replica, const std::string& who,
                         const std::shared_ptr<state_store>& to) {
  const config::process_plan& p = plan_.processes[process];
  if (!p.state) return;
  const std::string& service = plan_.services[p.service].name;
  state_store::keeping k;
  k.who = who;
  k.wake = writer_->wake;
  for (const std::string& file : files_in(p.state->folder)) {
    const std::string name = state_of_file(file, service, p.name, replica);
    if (name.empty()) continue;
    const std::string path = joined_path(p.state->folder, file);
    try {
      state_content c = unpack_state(read_whole_file(path));
      std::string whose = service;
      whose.append(1, '/')
          .append(p.name)
          .append(1, '/')
          .append(std::to_string(replica))
          .append(1, '/')
          .append(name);
      if (c.whose != whose) throw state_file_error("it is the state of '" + c.whose + "'");
      k.read.push_back({name, std::move(c.value)});
    } catch (const state_file_error& e) {
      const std::string aside = set_aside(path);
      log_error("state", "{}: '{}' is not believed: {}; its state begins anew{}{}", who, path, e.what(),
                aside.empty() ? "" : ", and the file is now ", aside);
    } catch (const std::exception& e) {
      // Not to be overwritten by what begins anew.
      throw wiring_error(plan_.where(p.state->at) + ": process '" + p.name + "': " + e.what());
    }
  }
  to->keep(std::move(k));
  writer::replica r;
  r.store = to;
  r.who = who;
  r.folder = p.state->folder;
  r.service = service;
  r.process = p.name;
  r.number = replica;
  r.every = p.state->every;
  writer_->replicas.push_back(std::move(r));
}

void state_folders::start() {
  if (writer_) go({.name = "states"}, [w = writer_] { w->run(); });
}

bool state_folders::finish() {
  if (!writer_) return true;
  writer_->wake.close();
  // Not a wait at a channel, which a stop of the program would end at once.
  const bool in_time = blocking([w = writer_] { return w->done.try_acquire_for(patience); });
  if (in_time) return writer_->all_written;
  log_error("state", "states are still being written after {} s: the program ends without them",
            patience.count());
  return false;
}

}  // namespace leat::services
