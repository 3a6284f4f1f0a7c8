// SPDX-License-Identifier: BSL-1.0
//
// One end at several channels: `merge` makes one that receives from all of them, fairly; `fan_out` one that sends to
// each of them. An end that sends to one of several is in keyed.hpp.
//
// A merged end is closed when all its channels are. A fan skips those that are closed, and is closed when all
// are; each channel takes the value, waits or drops it by itself and one after the other, so a send that is
// stopped or timed out may have reached some of them. (One send to all or none is a broadcast channel.)
//
// A select looks at each channel of a merged end by itself (channel_base::parts). A send case of a fan waits
// for the first channel that is open, and for the next if that is closed meanwhile; when it has taken the value, the
// others are sent to before the handler runs.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <leat/csp/channel_base.hpp>
#include <leat/csp/kept_value.hpp>

namespace leat::csp {

using channel_list = std::vector<ref<channel_base>>;

class composite : public channel_base {
 public:
  ~composite() override;
  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  void close() noexcept override;  // those that are open

 protected:
  explicit composite(channel_list all);
  composite(channel_list all, std::size_t capacity, const channel_options& o);

  const channel_list parts_;
};

// A send case waits at one of the channels.
class aiming : public composite {
 public:
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;

 protected:
  using composite::composite;

  // What is kept for a case: which of the channels it waits for, and its case there.
  struct aim {
    explicit aim(std::size_t at) noexcept : part(at) { there.kind = op::send; }
    virtual ~aim() = default;
    aim(const aim&) = delete;
    aim& operator=(const aim&) = delete;
    const std::size_t part;
    op_case there;
  };
  using kept_aim = std::unique_ptr<aim>;
};

// How a fan, which does not know the type, copies its values.
struct copier {
  // A copy of a const T*, outside the runtime.
  send_status (*send_copy)(channel_base& to, const void* value, std::int64_t until) = nullptr;
  std::unique_ptr<kept_value> (*keep_copy)(const void* value) = nullptr;
};
template <std::copy_constructible T>
inline constexpr copier copier_of{[](channel_base& to, const void* value, std::int64_t until) {
                                    T copy(*static_cast<const T*>(value));
                                    return send_untyped(to, &copy, until);
                                  },
                                  [](const void* value) {
                                    T copy(*static_cast<const T*>(value));
                                    return keep_value<T>(&copy);
                                  }};

// `all` is not empty. An end at one channel is that channel.
ref<channel_base> merge(channel_list all);
ref<channel_base> fan_out(channel_list all, const copier& by);

}  // namespace leat::csp
