// SPDX-License-Identifier: BSL-1.0
#include <leat/process/registry.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <leat/base/mutex.hpp>
#include <leat/base/schema.hpp>
#include <leat/process/construction.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/m_front.hpp>

namespace leat {
namespace {

// Constants, so that they are there before any class is registered. Written while the program starts and when
// libraries are loaded; the linker's lock orders both.
const process_class* classes = nullptr;
const shapes::message_entry* messages = nullptr;
std::string_view origin_now;

const local<bool> g_describes;
// Of the calling G or plain thread.
bool& describes_now() {
  if (sched::current_g()) return *g_describes;
  thread_local bool thread_describes = false;
  return thread_describes;
}

// Not twice at a time: a constructor may ask for the catalog, and sees what was there before.
class describing {
 public:
  explicit describing(bool& now) noexcept : now_(now) { now_ = true; }
  ~describing() { now_ = false; }
  describing(const describing&) = delete;
  describing& operator=(const describing&) = delete;

 private:
  bool& now_;
};

}  // namespace

namespace shapes {
message_entry::message_entry(shape_fn s) noexcept : shape(s), next(messages) { messages = this; }
const message_entry* first_message() noexcept { return messages; }
}  // namespace shapes

process_class::process_class(std::string_view n, std::string_view h, processes::construct_fn construct,
                             std::size_t size) noexcept
    : name(n), help(h), object_size(size), origin(origin_now), next(classes), construct_(construct) {
  classes = this;
}

std::string_view processes::exchange_origin(std::string_view origin) noexcept {
  return std::exchange(origin_now, origin);
}

class class_registry final : public catalog {
 public:
  struct entry {
    const process_class* made_by = nullptr;
    class_schema schema = {};
    std::vector<const port_type*> types = {};
  };

  static class_registry& get() {
    static class_registry all;
    all.load();
    return all;
  }

  const entry* find(std::string_view name) const {
    const lock_guard hold(lock_);
    const auto found = classes_.find(name);
    return found == classes_.end() ? nullptr : found->second.get();
  }

  const class_schema* find_class(std::string_view name) const override {
    const entry* const e = find(name);
    return e ? &e->schema : nullptr;
  }
  std::vector<const class_schema*> classes() const override {
    const lock_guard hold(lock_);
    std::vector<const class_schema*> all;
    for (const auto& [name, e] : classes_) all.push_back(&e->schema);
    return all;
  }
  const message_schema* find_message(std::string_view name) const override {
    const lock_guard hold(lock_);
    const auto found = messages_.find(name);
    return found == messages_.end() ? nullptr : &found->second->schema;
  }
  std::vector<const message_schema*> messages() const override {
    const lock_guard hold(lock_);
    std::vector<const message_schema*> all;
    for (const auto& [name, m] : messages_) all.push_back(&m->schema);
    return all;
  }
  std::vector<std::string> problems() const {
    const lock_guard hold(lock_);
    return problems_;
  }

 private:
  struct message {
    const type_shape* shape = nullptr;
    message_schema schema = {};
  };

  void problem(std::string text) {
    if (std::find(problems_.begin(), problems_.end(), text) == problems_.end())
      problems_.push_back(std::move(text));
  }

  // What an object of the class has said of itself.
  struct described {
    std::unique_ptr<entry> made = std::make_unique<entry>();
    std::vector<std::string> problems = {};
  };

  void load() {
    bool& now = describes_now();
    if (now) return;
    const describing in_here(now);
    std::vector<const process_class*> fresh;
    {
      const lock_guard hold(lock_);
      for (const shapes::message_entry* m = leat::messages; m != last_message_; m = m->next) add(m->shape());
      last_message_ = leat::messages;
      for (const process_class* c = leat::classes; c != last_class_; c = c->next) fresh.push_back(c);
    }
    if (fresh.empty()) return;
    // Users' constructors may wait, or enter the runtime and go on in another thread: not with the lock. Who comes
    // meanwhile describes them, too, and whoever is first counts.
    std::vector<described> all;
    for (auto c = fresh.rbegin(); c != fresh.rend(); ++c) all.push_back(describe(**c));
    const lock_guard hold(lock_);
    for (described& d : all) add(std::move(d));
    last_class_ = fresh.front();
  }

  void add(const type_shape& s) {
    const std::string name = type_name(s);
    std::unique_ptr<message>& known = messages_[name];
    if (known) {
      const bool named =
          s.kind == value_kind::table || s.kind == value_kind::opaque || s.kind == value_kind::enumeration;
      if (named && !same_shape(*known->shape, s))
        problem("two messages are called '" + name + "': name one of them with LEAT_MESSAGE_AS");
      return;
    }
    known = std::make_unique<message>();
    known->shape = &s;
    known->schema.name = name;
    known->schema.size = s.size;
    for (std::size_t i = 0; i < s.field_count; ++i)
      known->schema.fields.push_back({std::string(s.fields[i].name), type_name(s.fields[i].type())});
    known->schema.as_record = record_fields(s);
  }

  void add(described d) {
    const process_class& c = *d.made->made_by;
    std::unique_ptr<entry>& known = classes_[d.made->schema.name];
    if (known) {
      if (known->made_by == &c) return;
      const std::string_view first = known->made_by->origin, second = c.origin;
      const auto in = [](std::string_view origin) {
        return origin.empty() ? std::string("this program") : std::string(origin);
      };
      problem("two process classes are called '" + known->schema.name + "'" +
              (first.empty() && second.empty() ? "" : ", in " + in(first) + " and in " + in(second)) +
              ": name one of them with LEAT_PROCESS_AS");
      return;
    }
    known = std::move(d.made);
    for (std::string& text : d.problems) problem(std::move(text));
    for (const port_type* t : known->types) {
      add(t->message());
      if (t->reply) add(t->reply());
    }
  }

  static described describe(const process_class& c) {
    described d;
    entry& e = *d.made;
    e.made_by = &c;
    e.schema.name = c.name;
    e.schema.help = c.help;
    e.schema.object_size = c.object_size;
    construction with{.class_name = e.schema.name, .describes = &e.schema, .types = &e.types};
    const std::string who = "process class '" + e.schema.name + "' ";
    constexpr const char* advice =
        "; one object is made just to see its ports and settings: open files, devices and sockets in run()";
    try {
      (void)processes::construct(c.construct_, with);
    } catch (const std::exception& x) {
      d.problems.push_back(who + "cannot be constructed: " + x.what() + advice);
    } catch (...) {
      d.problems.push_back(who + "cannot be constructed" + advice);
    }
    for (const std::string& text : with.setting_errors) d.problems.push_back("process " + text);
    const auto twice = [&](const auto& all, const char* what) {
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          if (all[k].name == all[i].name)
            d.problems.push_back(who + "has two " + what + " called '" + all[i].name + "'");
    };
    twice(e.schema.ports, "ports");
    twice(e.schema.settings, "settings");
    twice(e.schema.states, "states");
    return d;
  }

  mutable ranked_mutex lock_{lock_rank::registry, "classes"};
  // Pointers into them are handed out: nothing is ever removed.
  std::map<std::string, std::unique_ptr<entry>, std::less<>> classes_;
  std::map<std::string, std::unique_ptr<message>, std::less<>> messages_;
  std::vector<std::string> problems_;
  const process_class* last_class_ = nullptr;
  const shapes::message_entry* last_message_ = nullptr;
};

const class_schema& process_class::schema() const {
  static const class_schema none{};
  const class_registry::entry* const e = class_registry::get().find(name);
  return e ? e->schema : none;
}

const port_type* process_class::find_port_type(std::string_view port) const {
  const class_registry::entry* const e = class_registry::get().find(name);
  if (!e) return nullptr;
  for (std::size_t i = 0; i < e->schema.ports.size(); ++i)
    if (e->schema.ports[i].name == port) return e->types[i];
  return nullptr;
}

const process_class* find_process_class(std::string_view name) {
  const class_registry::entry* const e = class_registry::get().find(name);
  return e ? e->made_by : nullptr;
}

const catalog& program_catalog() { return class_registry::get(); }
std::vector<std::string> catalog_problems() { return class_registry::get().problems(); }

}  // namespace leat
