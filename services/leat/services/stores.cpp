// SPDX-License-Identifier: BSL-1.0
#include <leat/services/stores.hpp>

#include <utility>

#include <leat/base/log.hpp>
#include <leat/base/units.hpp>
#include <leat/sched/blocking.hpp>

#ifdef LEAT_STORES
#include <leat/store/store_shape.hpp>
#include <leat/store/stored_reader.hpp>
#endif

namespace leat::services {

#ifdef LEAT_STORES
namespace {

using store::store_file;
using store::stored_channel;
using store::stored_reader;

constexpr folder_use store_words{"stores", "store", "stores.lock"};

stored_channel* stored(const any_channel& c) { return dynamic_cast<stored_channel*>(c.base()); }
stored_reader* careful(const any_channel& c) { return dynamic_cast<stored_reader*>(c.base()); }

void tell_of(const std::string& who, const store_file& f) {
  const store_file::content& c = f.at_open();
  if (!c.added.empty()) {
    std::string names;
    for (const std::string& field : c.added)
      names.append(names.empty() ? "'" : ", '").append(field).append(1, '\'');
    log_notice("store",
               "channel '{}': fields were added since '{}' was made: {}; values in it get their defaults",
               who, f.path(), names);
  }
  if (c.values > 0)
    log_info("store", "channel '{}': {} values ({}) are restored from '{}'", who, c.values,
             format_size(c.bytes), f.path());
}

}  // namespace

stores::~stores() {
  for (const any_channel& c : all_) stored(c)->end();
}

any_channel stores::make(const config::plan& plan, const config::channel_plan& c, const port_type& type,
                         const channel_options& o) {
  const config::store_plan& s = *c.store;
  if (const std::string why = stored_channel::why_not_kept(type); !why.empty())
    throw wiring_error("it cannot be stored: " + why);
  const std::string folder = real_folder(s.folder, store_words);
  std::shared_ptr<folder_lock>& lock = locks_[folder];
  if (!lock) {
    lock = std::make_shared<folder_lock>(s.folder, store_words);
    warn_of_others(s.folder, plan.where(s.at) + ": channel '" + c.name + "'", store_words);
  }
  const std::string path = joined_path(folder, store_file::file_name(plan.services[c.service].name, c.name));
  try {
    auto file = blocking([&] {
      return std::make_unique<store_file>(
          path, store_file::identity{plan.full_name(c), store::shape_text(type.message())});
    });
    tell_of(plan.full_name(c), *file);
    const stored_channel::settings how{.max = s.max, .sync = s.sync};
    all_.emplace_back(type, csp::ref<csp::channel_base>(
                                new stored_channel(type, c.capacity, o, how, std::move(file), lock)));
    return all_.back();
  } catch (const store::store_error& e) {
    throw wiring_error("its store '" + path + "' is refused: " + e.what());
  }
}

any_channel stores::careful_end(const any_channel& whole) {
  return {whole.type(), csp::ref<csp::channel_base>(new stored_reader(whole.state()))};
}

void stores::acknowledge(const any_channel& end) {
  if (stored_reader* const r = careful(end)) (void)r->acknowledge();
}

bool stores::keeps(const any_channel& end) {
  const stored_reader* const r = careful(end);
  return r && r->has_in_hand();
}

std::optional<store_account> stores::account(const any_channel& whole) {
  const stored_channel* const c = stored(whole);
  if (!c) return std::nullopt;
  const store::store_stats s = c->stats_of_store();
  return store_account{s.kept,       s.bytes,    s.restored, s.written,
                       s.unreadable, s.failures, s.failing,  s.finish_failed};
}

void stores::start() {
  for (const any_channel& c : all_) stored(c)->start();
}

bool stores::finish() {
  bool good = true;
  for (const any_channel& c : all_) good = stored(c)->finish() && good;
  return good;
}

#else

stores::~stores() = default;

any_channel stores::make(const config::plan&, const config::channel_plan&, const port_type&,
                         const channel_options&) {
  throw wiring_error(
      "this program was built without SQLite, which stores need: build Leat where there is the package "
      "libsqlite3-dev");
}
any_channel stores::careful_end(const any_channel& whole) { return whole; }
void stores::acknowledge(const any_channel&) {}
bool stores::keeps(const any_channel&) { return false; }
std::optional<store_account> stores::account(const any_channel&) { return std::nullopt; }
void stores::start() {}
bool stores::finish() { return true; }

#endif

}  // namespace leat::services
