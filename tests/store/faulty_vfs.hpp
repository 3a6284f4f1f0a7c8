// SPDX-License-Identifier: BSL-1.0
//
// A disk for SQLite that can lose power and fail. It writes through to the real one and notes what was there
// before, until a sync; a power cut takes a choice of the writes back that were not synced, as a disk does that
// writes in its own order. From the cut on nothing is written any more, until power_on.
#pragma once
#include <sqlite3.h>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace leat::store::test {

class faulty_disk {
 public:
  static faulty_disk& get() {
    static faulty_disk d;
    return d;
  }
  static constexpr const char* name = "faulty";

  std::atomic<bool> off{false};
  std::atomic<int> fails_with{SQLITE_OK};  // each write and sync
  std::atomic<std::size_t> cut_at{0};      // after so many writes; 0: never
  std::atomic<std::size_t> syncs{0};

  // keep: whether an unsynced write reaches the disk all the same.
  void power_cut(const std::function<bool()>& keep) {
    const std::lock_guard hold(lock_);  // no write or sync is half done
    off = true;
    for (auto& [path, list] : unsynced_) {
      // Those that are taken back, last first.
      for (auto u = list.rbegin(); u != list.rend(); ++u)
        if (!keep()) take_back(path, *u);
    }
    unsynced_.clear();
  }
  void power_on() {
    const std::lock_guard hold(lock_);
    off = false;
    fails_with = SQLITE_OK;
    cut_at = writes_ = 0;
  }

 private:
  struct undo {
    sqlite3_int64 at = 0;
    std::vector<char> before = {};
    sqlite3_int64 size_before = 0;
  };
  struct file {
    sqlite3_file base;
    faulty_disk* disk;
    std::string* path;
    sqlite3_file* real;
  };

  static void take_back(const std::string& path, const undo& u) {
    if (FILE* const f = std::fopen(path.c_str(), "r+b")) {
      std::fseek(f, static_cast<long>(u.at), SEEK_SET);
      std::fwrite(u.before.data(), 1, u.before.size(), f);
      std::fclose(f);
    }
  }

  static file* as(sqlite3_file* f) { return reinterpret_cast<file*>(f); }
  static sqlite3_file* real(sqlite3_file* f) { return as(f)->real; }

  static void note(file* f, sqlite3_int64 at, sqlite3_int64 n) {
    undo u;
    u.at = at;
    f->real->pMethods->xFileSize(f->real, &u.size_before);
    u.before.assign(static_cast<std::size_t>(n), 0);  // what was never written reads as zeros
    (void)f->real->pMethods->xRead(f->real, u.before.data(), static_cast<int>(n), at);
    f->disk->unsynced_[*f->path].push_back(std::move(u));
  }
  static int write(sqlite3_file* sf, const void* data, int n, sqlite3_int64 at) {
    file* const f = as(sf);
    const std::lock_guard hold(f->disk->lock_);
    if (f->disk->cut_at > 0 && ++f->disk->writes_ > f->disk->cut_at) f->disk->off = true;
    if (f->disk->off) return SQLITE_IOERR_WRITE;
    if (const int code = f->disk->fails_with; code != SQLITE_OK) return code;
    note(f, at, n);
    return f->real->pMethods->xWrite(f->real, data, n, at);
  }
  static int sync(sqlite3_file* sf, int flags) {
    file* const f = as(sf);
    const std::lock_guard hold(f->disk->lock_);
    if (f->disk->off) return SQLITE_IOERR_FSYNC;
    if (f->disk->fails_with != SQLITE_OK) return SQLITE_IOERR_FSYNC;
    ++f->disk->syncs;
    f->disk->unsynced_.erase(*f->path);
    (void)flags;  // the real disk need not know
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* sf, sqlite3_int64 size) {
    file* const f = as(sf);
    const std::lock_guard hold(f->disk->lock_);
    if (f->disk->off) return SQLITE_IOERR_TRUNCATE;
    sqlite3_int64 now = 0;
    f->real->pMethods->xFileSize(f->real, &now);
    if (now > size) note(f, size, now - size);
    return f->real->pMethods->xTruncate(f->real, size);
  }
  static int close(sqlite3_file* sf) {
    file* const f = as(sf);
    const int code = f->real->pMethods->xClose(f->real);
    delete f->path;
    return code;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods m = [] {
      sqlite3_io_methods x{};
      x.iVersion = 2;
      x.xClose = close;
      x.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
        return real(f)->pMethods->xRead(real(f), to, n, at);
      };
      x.xWrite = write;
      x.xTruncate = truncate;
      x.xSync = sync;
      x.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) {
        return real(f)->pMethods->xFileSize(real(f), n);
      };
      x.xLock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xLock(real(f), l); };
      x.xUnlock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); };
      x.xCheckReservedLock = [](sqlite3_file* f, int* r) {
        return real(f)->pMethods->xCheckReservedLock(real(f), r);
      };
      x.xFileControl = [](sqlite3_file* f, int o, void* a) {
        return real(f)->pMethods->xFileControl(real(f), o, a);
      };
      x.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      x.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
      x.xShmMap = [](sqlite3_file* f, int p, int s, int e, void volatile** to) {
        return real(f)->pMethods->xShmMap(real(f), p, s, e, to);
      };
      x.xShmLock = [](sqlite3_file* f, int o, int n, int l) {
        return real(f)->pMethods->xShmLock(real(f), o, n, l);
      };
      x.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
      x.xShmUnmap = [](sqlite3_file* f, int d) { return real(f)->pMethods->xShmUnmap(real(f), d); };
      return x;
    }();
    return &m;
  }

  faulty_disk() {
    under_ = ::sqlite3_vfs_find(nullptr);
    vfs_ = *under_;
    vfs_.iVersion = 1;
    vfs_.zName = name;
    vfs_.pAppData = this;
    vfs_.szOsFile = static_cast<int>(sizeof(file)) + under_->szOsFile;
    vfs_.xOpen = [](sqlite3_vfs* v, const char* path, sqlite3_file* sf, int flags, int* out) {
      auto* const d = static_cast<faulty_disk*>(v->pAppData);
      file* const f = as(sf);
      f->disk = d;
      f->real = reinterpret_cast<sqlite3_file*>(f + 1);
      f->base.pMethods = nullptr;
      const int code = d->under_->xOpen(d->under_, path, f->real, flags, out);
      if (code != SQLITE_OK) return code;
      f->path = new std::string(path ? path : "");
      f->base.pMethods = methods();
      return code;
    };
    vfs_.xDelete = [](sqlite3_vfs* v, const char* path, int sync_folder) {
      auto* const d = static_cast<faulty_disk*>(v->pAppData);
      if (d->off) return SQLITE_IOERR_DELETE;
      const std::lock_guard hold(d->lock_);
      d->unsynced_.erase(path);
      return d->under_->xDelete(d->under_, path, sync_folder);
    };
    ::sqlite3_vfs_register(&vfs_, 0);
  }

  sqlite3_vfs* under_ = nullptr;
  sqlite3_vfs vfs_{};
  // SQLite writes on threads of the store, the test cuts the power on its own.
  std::mutex lock_;
  std::map<std::string, std::vector<undo>> unsynced_;
  std::size_t writes_ = 0;
};

}  // namespace leat::store::test
