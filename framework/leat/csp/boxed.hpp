// SPDX-License-Identifier: BSL-1.0
//
// The general channel (many.hpp) for types whose move may throw. A value is put into its box, and taken out
// of it, outside the runtime; in between the channel moves the pointer (cell.hpp).
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include <leat/csp/cell.hpp>
#include <leat/csp/many.hpp>

namespace leat::csp {

template <class T>
class boxed_channel final : public many_channel<boxed<T>> {
  using base = many_channel<boxed<T>>;

 public:
  using base::base;

  send_status send(void* value, std::int64_t until) override {
    sending s{boxed<T>(std::move(*static_cast<T*>(value)))};
    send_status status{};
    {
      entered in;
      status = base::send_inside(in, &s.box, &s.evicted, until);
    }
    s.give_back(value);
    return status;
  }
  recv_status recv(void* value, std::int64_t until) override {
    // It gets back what cannot be moved, also if everybody else has let go of it meanwhile.
    base::add_ref();
    const ref<channel_base> held(this);
    std::optional<boxed<T>> box;
    recv_status status{};
    {
      entered in;
      status = base::recv_inside(in, &box, until);
    }
    if (box) unbox(*this, std::move(*box), value);
    return status;
  }

  void stage(op_case& c, void* value) override {
    if (c.kind == op::recv) {
      c.slot = &c.keep<receiving>();
    } else {
      auto& s = c.keep<sending>(boxed<T>(std::move(*static_cast<T*>(value))));
      c.slot = &s.box;
      c.evicted = &s.evicted;
    }
  }
  void finish(op_case& c, void* value) override {
    if (c.kind == op::send) {
      const last_use<sending> s(c);
      s->give_back(value);
    } else {
      const last_use<receiving> box(c);
      unbox(*this, std::move(**box), value);
    }
  }
  void unstage(op_case& c, void* value) noexcept override {
    if (c.kind == op::recv) {
      const last_use<receiving> ended(c);
      return;
    }
    try {
      finish(c, value);
    } catch (...) {  // an assignment that throws: the value is lost
    }
  }

 private:
  using receiving = std::optional<boxed<T>>;
  struct sending {
    boxed<T> box;
    std::optional<boxed<T>> evicted = {};
    // Unless it was sent, the value goes back to where it came from.
    void give_back(void* value) {
      if (box.node) *static_cast<T*>(value) = std::move(box.value());
    }
  };

  // After a receive. If the move throws, the box goes back to `from`.
  static void unbox(boxed_channel& from, boxed<T>&& box, void* value) {
    try {
      static_cast<std::optional<T>*>(value)->emplace(std::move(box.value()));
    } catch (...) {
      entered in;
      from.give_back(in, std::move(box));
      throw;
    }
  }
};

}  // namespace leat::csp
