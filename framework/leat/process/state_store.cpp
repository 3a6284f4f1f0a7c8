// SPDX-License-Identifier: BSL-1.0
#include <leat/process/state_store.hpp>

#include <algorithm>

#include <leat/base/log.hpp>

namespace leat {

struct states::box_base::bell {
  channel<char> rings;
};

void states::box_base::keep(const channel<char>& wake) { wake_ = std::make_shared<const bell>(bell{wake}); }

void states::box_base::tell() const noexcept { (void)wake_->rings.try_send(0); }

std::shared_ptr<states::box_base> states::find(state_store& among, std::string_view name, const void* type,
                                               std::shared_ptr<box_base> (*make)()) {
  return among.find(name, type, make);
}

const state_store::named* state_store::first() const {
  const sched::unfenced in;
  const lock_guard hold(lock_);
  return first_.get();
}

std::vector<state_store::entry> state_store::all() const {
  std::vector<entry> out;
  for (const named* n = first(); n; n = n->next.get()) {
    entry e;
    e.name = n->name;
    e.box = n->box;
    out.push_back(std::move(e));
  }
  return out;
}

// User code, outside.
void state_store::take_over(const std::string& name, states::box_base& box) const {
  if (!box.shape())
    throw wiring_error("state '" + name +
                       "' is of a type that cannot be written to a file: describe it by LEAT_MESSAGE or "
                       "LEAT_SETTINGS");
  if (const std::string why = why_not_kept(box.shape()()); !why.empty())
    throw wiring_error("state '" + name + "' cannot be written to a file: " + why);
  const auto read = std::find_if(keeping_->read.begin(), keeping_->read.end(),
                                 [&](const keeping::kept& k) { return k.name == name; });
  if (read != keeping_->read.end()) {
    std::vector<std::string> told;
    box.read(read->cbor, told);
    for (const std::string& t : told) log_warning("state", "{}, state '{}': {}", keeping_->who, name, t);
  }
  box.keep(keeping_->wake);
}

std::shared_ptr<states::box_base> state_store::find(std::string_view name, const void* type,
                                                    std::shared_ptr<states::box_base> (*make)()) {
  for (const named* n = first(); n; n = n->next.get()) {
    if (n->name != name) continue;
    if (n->box->type() != type) throw wiring_error("state '" + n->name + "' is there with another type");
    n->box->tell_again();
    return n->box;
  }
  // User code, outside.
  auto made = std::make_unique<named>(named{std::string(name), make()});
  if (keeping_) take_over(made->name, *made->box);
  std::shared_ptr<states::box_base> box = made->box;
  const sched::unfenced in;
  const lock_guard hold(lock_);
  made->next = std::move(first_);
  first_ = std::move(made);
  return box;
}

}  // namespace leat
