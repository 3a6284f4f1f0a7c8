// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <leat/leat.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/store/stored_reader.hpp>

#include "fixture.hpp"

namespace leat::store::test {

struct reading {
  std::int64_t n = 0;
  std::string text = "x";
};
LEAT_MESSAGE(reading, n, text);

// A stored channel, from its making to its finish: a life of a program.
struct life {
  explicit life(const std::string& path, stored_channel::settings s = {}, full policy = full::block,
                std::size_t capacity = 4, const char* vfs = nullptr) {
    const port_type& type = ports::type_of<reading>;
    channel_options o;
    o.name = "plant/raw";
    o.full = policy;
    auto file = std::make_unique<store_file>(
        path, store_file::identity{"plant/raw", shape_text(type.message())}, vfs);
    hub = new stored_channel(type, capacity, o, s, std::move(file));
    any = any_channel(type, csp::ref<csp::channel_base>(hub));
    hub->start();
  }
  ~life() {
    if (!finished) hub->finish();
  }
  life(const life&) = delete;
  life& operator=(const life&) = delete;
  bool finish() {
    finished = true;
    return hub->finish();
  }

  out<reading> writer() const { return any.writer<reading>(); }
  in<reading> reader() const { return any.reader<reading>(); }
  // Delivered at least once.
  in<reading> careful_reader() {
    last_reader = new stored_reader(any.state());
    return in<reading>(csp::ref<csp::channel_base>(last_reader));
  }

  stored_channel* hub = nullptr;
  stored_reader* last_reader = nullptr;
  any_channel any;
  bool finished = false;
};

inline reading reading_of(std::int64_t n) { return {n, std::to_string(n)}; }

// What a program that starts now finds.
inline std::vector<std::int64_t> found(const std::string& path) {
  const store_file f(path, {"plant/raw", shape_text(shape_of<reading>())});
  std::vector<std::int64_t> all;
  for (const auto& r : const_cast<store_file&>(f).read(0, 1 << 24, std::uint64_t{1} << 40))
    all.push_back(from_cbor<reading>(r.body).n);
  return all;
}

}  // namespace leat::store::test
