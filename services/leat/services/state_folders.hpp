// SPDX-License-Identifier: BSL-1.0
//
// The states of processes that outlive the program: read from their folders before anything starts, and written
// by one G while it runs.
//
// A save only stores the value and marks it (process/state.hpp). The writer is woken by the first mark, waits
// until the file is due (`every` since it was last written), takes the mark away, copies the value out, and writes
// the file in a declared blocking call. So a process never waits for a disk, and no file has two writers: the
// values of an incarnation and of its successor come out of one box.
//
// A file that cannot be written is reported once, tried again each second, and reported again when it could be. What is
// marked at the end is written then; a disk that takes longer than `patience` for it is left.
//
// A folder is one program's at a time: it holds a lock on leat.lock in it, which goes with the program, however
// that ends. What is in the folder and is none of ours stays as it is.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <leat/config/plan.hpp>
#include <leat/process/state_store.hpp>
#include <leat/services/folder_lock.hpp>

namespace leat::services {

class state_folders {
 public:
  static constexpr std::chrono::seconds patience{10};

  // Locks the folders, and makes those that are not there. Throws wiring_error with the place in the file.
  explicit state_folders(const config::plan& plan);
  ~state_folders();
  state_folders(const state_folders&) = delete;
  state_folders& operator=(const state_folders&) = delete;

  // Reads what is there for a replica, if its process has a folder. Before start.
  void give(config::index process, unsigned replica, const std::string& who,
            const std::shared_ptr<state_store>& to);
  // On a G.
  void start();
  // On a G, when nobody saves any more: writes what is left. False: some of it could not be written.
  bool finish();

 private:
  class writer;

  const config::plan& plan_;
  std::map<std::string, std::unique_ptr<folder_lock>> locks_;  // by real path
  std::shared_ptr<writer> writer_;                             // null: there is nothing to write
};

}  // namespace leat::services
