// SPDX-License-Identifier: BSL-1.0
#include <leat/store/store_file.hpp>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <leat/store/store_shape.hpp>

namespace leat::store {
namespace {

constexpr std::int64_t our_id = 0x4c454154;  // "LEAT"
constexpr std::int64_t layout = 1;
constexpr std::int64_t most_checked_pages = 256 * 1024;  // a whole check of more would hold up the start
constexpr int busy_ms = 1000;

std::int64_t as_key(std::uint64_t n) { return static_cast<std::int64_t>(n); }

// What is said of an error that the file is the cause of.
std::string in_words(sqlite3* db, int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB: return "it is no SQLite database";
    case SQLITE_CORRUPT: return std::string("it is damaged (") + ::sqlite3_errmsg(db) + ')';
    default: return db ? ::sqlite3_errmsg(db) : ::sqlite3_errstr(code);
  }
}

// A statement that is used again and again is reset however its use ends.
struct reset_at_end {
  explicit reset_at_end(sqlite3_stmt* used) noexcept : s(used) {}
  ~reset_at_end() { ::sqlite3_reset(s); }
  reset_at_end(const reset_at_end&) = delete;
  reset_at_end& operator=(const reset_at_end&) = delete;
  sqlite3_stmt* const s;
};

}  // namespace

store_file::store_file(std::string path, const identity& whose, const char* vfs) : path_(std::move(path)) {
  try {
    open(vfs);
    check_and_make(whose);
    append_ = prepare("INSERT INTO value(number, body) VALUES(?1, ?2)");
    set_aside_ =
        prepare("INSERT OR REPLACE INTO unreadable SELECT number, body FROM value WHERE number = ?1");
    read_ = prepare("SELECT number, body FROM value WHERE number >= ?1 ORDER BY number");
    sizes_ = prepare("SELECT number, length(body) FROM value WHERE number >= ?1 ORDER BY number");
    drop_ = prepare("DELETE FROM value WHERE number BETWEEN ?1 AND ?2");
    content_.values = static_cast<std::uint64_t>(number_of("SELECT count(*) FROM value"));
    content_.bytes = static_cast<std::uint64_t>(number_of("SELECT ifnull(sum(length(body)), 0) FROM value")) +
                     content_.values * overhead;
    content_.first = static_cast<std::uint64_t>(number_of("SELECT ifnull(min(number), 0) FROM value"));
    // One that was set aside keeps its number.
    content_.last =
        static_cast<std::uint64_t>(number_of("SELECT max(ifnull((SELECT max(number) FROM value), 0), "
                                             "ifnull((SELECT max(number) FROM unreadable), 0))"));
    syncs_ = std::strtoull(about("synced").c_str(), nullptr, 10);
  } catch (...) {
    ::sqlite3_close_v2(std::exchange(db_, nullptr));
    throw;
  }
}

store_file::~store_file() {
  for (statement* s : {&append_, &set_aside_, &read_, &sizes_, &drop_}) s->reset();
  // The last who closes it writes the log into the file.
  ::sqlite3_close_v2(db_);
}

void store_file::fail(std::string_view doing) const {
  std::string text(doing);
  if (!text.empty()) text += ": ";
  throw store_error(text + in_words(db_, db_ ? ::sqlite3_extended_errcode(db_) : SQLITE_NOMEM));
}

void store_file::run(const char* sql, std::string_view doing) const {
  if (::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(doing);
}

store_file::statement store_file::prepare(const char* sql) const {
  sqlite3_stmt* s = nullptr;
  if (::sqlite3_prepare_v2(db_, sql, -1, &s, nullptr) != SQLITE_OK) fail({});
  return {s, ::sqlite3_finalize};
}

void store_file::step(sqlite3_stmt* s, std::string_view doing) const {
  const int code = ::sqlite3_step(s);
  if (code != SQLITE_DONE && code != SQLITE_ROW) fail(doing);
}

std::int64_t store_file::number_of(const char* sql) const {
  const statement s = prepare(sql);
  step(s.get(), {});
  return ::sqlite3_column_int64(s.get(), 0);
}

std::string store_file::about(const char* name) const {
  const statement s = prepare("SELECT content FROM about WHERE name = ?1");
  ::sqlite3_bind_text(s.get(), 1, name, -1, SQLITE_STATIC);
  step(s.get(), {});
  const auto* const text = ::sqlite3_column_text(s.get(), 0);
  return text ? reinterpret_cast<const char*>(text) : "";
}

void store_file::set_about(const char* name, const std::string& text) const {
  const statement s = prepare("INSERT OR REPLACE INTO about(name, content) VALUES(?1, ?2)");
  ::sqlite3_bind_text(s.get(), 1, name, -1, SQLITE_STATIC);
  ::sqlite3_bind_text64(s.get(), 2, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  step(s.get(), {});
}

void store_file::open(const char* vfs) {
  // SQLite makes files that others can read.
  if (!vfs) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) throw store_error(std::string("it cannot be opened: ") + std::strerror(errno));
    ::close(fd);
  }
  constexpr int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (::sqlite3_open_v2(path_.c_str(), &db_, how, vfs) != SQLITE_OK) fail("it cannot be opened");
  ::sqlite3_busy_timeout(db_, busy_ms);
}

// Nothing is written before it is known to be ours.
void store_file::check_and_make(const identity& whose) {
  const std::int64_t id = number_of("PRAGMA application_id");
  const std::int64_t version = number_of("PRAGMA user_version");
  const bool is_new = id == 0 && version == 0 && number_of("SELECT count(*) FROM sqlite_master") == 0;
  if (!is_new && id != our_id) throw store_error("it is somebody else's database");
  if (!is_new && version > layout)
    throw store_error("it was written by a later version of Leat (layout " + std::to_string(version) +
                      ", this one knows " + std::to_string(layout) +
                      "): run that version, or give another folder");
  if (!is_new) {
    if (number_of("PRAGMA page_count") <= most_checked_pages) {
      const statement s = prepare("PRAGMA quick_check(1)");
      step(s.get(), {});
      const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(s.get(), 0));
      if (!text || std::string_view(text) != "ok")
        throw store_error(std::string("it is damaged (") + (text ? text : "no answer") + ')');
    }
    if (const std::string its = about("channel"); its != whose.channel)
      throw store_error("it is the store of channel '" + its + "'");
    shape_change change = compare_shapes(about("shape"), whose.shape);
    if (!change.refused.empty()) throw store_error("its values have another shape: " + change.refused);
    content_.added = std::move(change.added);
  }
  run("PRAGMA journal_mode = WAL", "its log cannot be made");
  run("PRAGMA journal_size_limit = 8388608; PRAGMA synchronous = NORMAL", {});
  if (!is_new && content_.added.empty()) return;
  be_synced(true);
  run("BEGIN IMMEDIATE", "it cannot be written");
  if (is_new) {
    run("CREATE TABLE value(number INTEGER PRIMARY KEY, body BLOB NOT NULL);"
        "CREATE TABLE unreadable(number INTEGER PRIMARY KEY, body BLOB NOT NULL);"
        "CREATE TABLE about(name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;"
        "PRAGMA application_id = 1279607124; PRAGMA user_version = 1",
        "it cannot be written");
    set_about("channel", whose.channel);
  }
  set_about("shape", whose.shape);
  run("COMMIT", "it cannot be written");
  be_synced(false);
}

void store_file::be_synced(bool on) {
  if (on == synced_) return;
  run(on ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", {});
  synced_ = on;
}

store_file::dropped store_file::write(const batch& b) {
  constexpr std::string_view doing = "it cannot be written";
  dropped out;
  be_synced(b.sync);
  run("BEGIN IMMEDIATE", doing);
  const int before = ::sqlite3_total_changes(db_);
  try {
    for (const entry& e : b.append) {
      const reset_at_end use(append_.get());
      ::sqlite3_bind_int64(use.s, 1, as_key(e.number));
      ::sqlite3_bind_blob64(use.s, 2, e.body.empty() ? "" : static_cast<const void*>(e.body.data()),
                            e.body.size(), SQLITE_STATIC);
      step(use.s, doing);
    }
    for (const std::uint64_t n : b.set_aside) {
      const reset_at_end use(set_aside_.get());
      ::sqlite3_bind_int64(use.s, 1, as_key(n));
      step(use.s, doing);
    }
    for (const numbers& n : b.remove) remove(n);
    for (const std::uint64_t n : b.set_aside) remove(n);
    if (b.drop_bytes > 0) out = drop_oldest(b.drop_from, b.drop_bytes);
    // A transaction that changes nothing is not synced, and what came before it would not be.
    // Nor may one be that writes what is there already.
    if (b.sync && ::sqlite3_total_changes(db_) == before) set_about("synced", std::to_string(++syncs_));
    run("COMMIT", doing);
  } catch (...) {
    // Fails where SQLite has done it already.
    ::sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return out;
}

void store_file::remove(const numbers& n) {
  const reset_at_end use(drop_.get());
  ::sqlite3_bind_int64(use.s, 1, as_key(n.first));
  ::sqlite3_bind_int64(use.s, 2, as_key(n.last));
  step(use.s, "it cannot be written");
}

store_file::dropped store_file::drop_oldest(std::uint64_t from, std::uint64_t bytes) {
  dropped out;
  {
    const reset_at_end use(sizes_.get());
    ::sqlite3_bind_int64(use.s, 1, as_key(from));
    while (out.bytes < bytes) {
      step(use.s, "it cannot be read");
      if (::sqlite3_data_count(use.s) == 0) break;
      out.last = static_cast<std::uint64_t>(::sqlite3_column_int64(use.s, 0));
      out.bytes += static_cast<std::uint64_t>(::sqlite3_column_int64(use.s, 1)) + overhead;
      ++out.values;
    }
  }
  if (out.values == 0) return out;
  const reset_at_end use(drop_.get());
  ::sqlite3_bind_int64(use.s, 1, as_key(from));
  ::sqlite3_bind_int64(use.s, 2, as_key(out.last));
  step(use.s, "it cannot be written");
  return out;
}

std::vector<store_file::row> store_file::read(std::uint64_t from, std::size_t values, std::uint64_t bytes) {
  std::vector<row> out;
  const reset_at_end use(read_.get());
  ::sqlite3_bind_int64(use.s, 1, as_key(from));
  for (std::uint64_t sum = 0; out.size() < values || sum < bytes;) {
    step(use.s, "it cannot be read");
    if (::sqlite3_data_count(use.s) == 0) break;
    row& r = out.emplace_back();
    r.number = static_cast<std::uint64_t>(::sqlite3_column_int64(use.s, 0));
    const auto* const begin = static_cast<const std::uint8_t*>(::sqlite3_column_blob(use.s, 1));
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(use.s, 1));
    if (begin) r.body.assign(begin, begin + size);
    sum += size + overhead;
  }
  return out;
}

std::string store_file::file_name(std::string_view service, std::string_view channel) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  const auto add = [&](std::string_view name) {
    for (const char c : name) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      if (plain) {
        out += c;
        continue;
      }
      const auto u = static_cast<unsigned char>(c);
      out += '%';
      out += digits[u >> 4];
      out += digits[u & 15];
    }
    out += '.';
  };
  add(service);
  add(channel);
  return out + "store";
}

}  // namespace leat::store
