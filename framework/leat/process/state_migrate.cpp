// SPDX-License-Identifier: BSL-1.0
#include <leat/process/state_migrate.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>

#include <leat/process/scalar.hpp>

namespace leat {
namespace {

using cbor_bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t text_major = 3, array_major = 4, map_major = 5, tag_major = 6;
constexpr std::uint8_t null_byte = 0xf6;

struct cbor_head {
  std::uint8_t major = 0;
  std::uint64_t n = 0;
};

// Walks over items without knowing their type. None: the bytes are no such item.
class cbor_walk {
 public:
  explicit cbor_walk(cbor_bytes in) noexcept : in_(in) {}

  bool at_end() const noexcept { return at_ == in_.size(); }

  std::optional<cbor_head> head() noexcept {
    if (at_end()) return std::nullopt;
    const std::uint8_t first = in_[at_++];
    const auto low = static_cast<unsigned>(first & 31);
    cbor_head h{static_cast<std::uint8_t>(first >> 5), low};
    if (low < 24) return h;
    if (low > 27) return std::nullopt;
    const std::size_t n = std::size_t{1} << (low - 24);
    if (in_.size() - at_ < n) return std::nullopt;
    h.n = 0;
    for (std::size_t i = 0; i < n; ++i) h.n = h.n << 8 | in_[at_++];
    return h;
  }

  // The bytes of the next item, whole.
  std::optional<cbor_bytes> item() noexcept {
    const std::size_t begin = at_;
    if (!skip(state_limits.depth)) return std::nullopt;
    return in_.subspan(begin, at_ - begin);
  }

  std::optional<std::string_view> text() noexcept {
    const std::optional<cbor_head> h = head();
    if (!h || h->major != text_major || h->n > in_.size() - at_) return std::nullopt;
    const auto* const begin = reinterpret_cast<const char*>(in_.data()) + at_;
    at_ += static_cast<std::size_t>(h->n);
    return std::string_view(begin, static_cast<std::size_t>(h->n));
  }

 private:
  bool skip(unsigned depth) noexcept {
    const std::optional<cbor_head> h = head();
    if (!h || depth == 0) return false;
    switch (h->major) {
      case 2:
      case text_major:
        if (h->n > in_.size() - at_) return false;
        at_ += static_cast<std::size_t>(h->n);
        return true;
      case array_major:
      case map_major: {
        // Each takes a byte at least.
        if (h->n > in_.size() - at_) return false;
        const std::uint64_t n = h->major == map_major ? 2 * h->n : h->n;
        for (std::uint64_t i = 0; i < n; ++i)
          if (!skip(depth - 1)) return false;
        return true;
      }
      case tag_major: return skip(depth - 1);
      default: return true;
    }
  }

  const cbor_bytes in_;
  std::size_t at_ = 0;
};

class migration {
 public:
  explicit migration(std::vector<std::string>& told) : told_(told) {}

  void read(const type_shape& s, void* v, void* trial, cbor_bytes in, const std::string& path,
            unsigned depth) {
    if (depth == 0) return tell(path, "lies too deep");
    switch (s.kind) {
      case value_kind::table: return read_table(s, v, trial, in, path, depth);
      case value_kind::maybe:
        if (!in.empty() && in[0] == null_byte) return s.clear(v);
        if (!has_tables(s.element())) break;
        s.clear(v);
        s.clear(trial);
        return read(s.element(), s.append(v), s.append(trial), in, path, depth - 1);
      case value_kind::list:
        if (has_tables(s.element())) return read_list(s, v, trial, in, path, depth);
        break;
      default: break;
    }
    std::string why;
    if (read_whole(s, trial, in, why)) {
      (void)read_whole(s, v, in, why);
    } else {
      tell(path, "is not taken over, and begins anew: " + why);
    }
  }

 private:
  static bool has_tables(const type_shape& s) {
    return s.kind == value_kind::table ||
           ((s.kind == value_kind::list || s.kind == value_kind::maybe) && has_tables(s.element()));
  }

  void tell(const std::string& path, const std::string& what) {
    constexpr std::size_t enough = 32;
    if (told_.size() > enough) return;
    if (told_.size() == enough) return told_.emplace_back("and more of the kind"), void();
    told_.push_back((path.empty() ? "it " : "field '" + path + "' ") + what);
  }

  static bool read_whole(const type_shape& s, void* v, cbor_bytes in, std::string& why) {
    try {
      shapes::read_cbor(s, v, in, state_limits);
      return true;
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (s.kind != value_kind::integer) return false;
    // A real that is a whole number.
    double d = 0;
    try {
      shapes::read_cbor(shape_of<double>(), &d, in, state_limits);
    } catch (const std::exception&) {
      return false;
    }
    constexpr double exact = 9007199254740992.0;  // 2^53
    return std::trunc(d) == d && std::fabs(d) <= exact &&
           shapes::store_integer(s, v, shapes::from_signed(static_cast<std::int64_t>(d)));
  }

  void read_table(const type_shape& s, void* v, void* trial, cbor_bytes in, const std::string& path,
                  unsigned depth) {
    cbor_walk walk(in);
    const std::optional<cbor_head> h = walk.head();
    if (!h || h->major != map_major) return tell(path, "was no table, and begins anew");
    for (std::uint64_t i = 0; i < h->n; ++i) {
      const std::optional<std::string_view> name = walk.text();
      const std::optional<cbor_bytes> item = name ? walk.item() : std::nullopt;
      if (!item) return tell(path, "is cut short");
      const std::string here = path.empty() ? std::string(*name) : path + '.' + std::string(*name);
      const field_shape* const end = s.fields + s.field_count;
      const field_shape* const f =
          std::find_if(s.fields, end, [&](const field_shape& x) { return x.name == *name; });
      if (f == end)
        tell(here, "is gone, and is left out");
      else
        read(f->type(), f->in(v), f->in(trial), *item, here, depth - 1);
    }
  }

  void read_list(const type_shape& s, void* v, void* trial, cbor_bytes in, const std::string& path,
                 unsigned depth) {
    cbor_walk walk(in);
    const std::optional<cbor_head> h = walk.head();
    if (!h || h->major != array_major) return tell(path, "was no list, and begins anew");
    s.clear(v);
    for (std::uint64_t i = 0; i < h->n; ++i) {
      const std::optional<cbor_bytes> item = walk.item();
      if (!item || ++elements_ > state_limits.elements) return tell(path, "is cut short");
      s.clear(trial);
      read(s.element(), s.append(v), s.append(trial), *item, path + '[' + std::to_string(i) + ']', depth - 1);
    }
  }

  std::vector<std::string>& told_;
  std::size_t elements_ = 0;
};

// `above`: the tables around it, so that a type may hold lists of itself.
std::string find_unkept(const type_shape& s, const std::string& path, std::vector<const type_shape*>& above) {
  switch (s.kind) {
    case value_kind::none:
    case value_kind::any:
    case value_kind::opaque:
      return (path.empty() ? "" : "its field '" + path + "' is ") + "a '" + std::string(s.name) +
             "', of which nothing is known but the name";
    case value_kind::list:
    case value_kind::maybe: return find_unkept(s.element(), path, above);
    case value_kind::table: {
      if (std::find(above.begin(), above.end(), &s) != above.end()) return {};
      above.push_back(&s);
      std::string why;
      for (std::size_t i = 0; why.empty() && i < s.field_count; ++i)
        why = find_unkept(s.fields[i].type(),
                          (path.empty() ? "" : path + '.') + std::string(s.fields[i].name), above);
      above.pop_back();
      return why;
    }
    default: return {};
  }
}

}  // namespace

void migrate_state(const type_shape& s, void* v, void* trial, std::span<const std::uint8_t> cbor,
                   std::vector<std::string>& told) {
  migration(told).read(s, v, trial, cbor, {}, state_limits.depth);
}

std::string why_not_kept(const type_shape& s) {
  std::vector<const type_shape*> above;
  return find_unkept(s, {}, above);
}

}  // namespace leat
