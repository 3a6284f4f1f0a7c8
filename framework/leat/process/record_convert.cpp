// SPDX-License-Identifier: BSL-1.0
//
// From messages with fields to records. The way back is record_fill.cpp.
#include <algorithm>

#include <leat/base/field_steps.hpp>
#include <leat/process/path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat {
namespace {

using shapes::as;
using shapes::step;

class record_maker {
 public:
  explicit record_maker(conversion_losses* losses) : losses_(losses) {}

  record table(const type_shape& s, const void* v, const step* path) const {
    record r;
    r.reserve(s.field_count);
    for (std::size_t i = 0; i < s.field_count; ++i) {
      const field_shape& f = s.fields[i];
      const step here{path, f.name};
      r.append(std::string(f.name), value_of(f.type(), f.in(shapes::part_of(v)), &here));
    }
    return r;
  }

 private:
  field_value value_of(const type_shape& s, const void* v, const step* path) const {
    switch (s.kind) {
      case value_kind::boolean: return as<bool>(v);
      case value_kind::integer:
      case value_kind::size: {
        const shapes::wide_integer i = s.kind == value_kind::size
                                           ? shapes::wide_integer{false, as<byte_size>(v).bytes}
                                           : shapes::load_integer(s, v);
        if (i.negative || i.bits <= static_cast<std::uint64_t>(INT64_MAX)) return i.as_signed();
        if (losses_) losses_->rough_number(path_text(path));
        return static_cast<double>(i.bits);
      }
      case value_kind::real: return s.size == sizeof(float) ? shapes::double_of(as<float>(v)) : as<double>(v);
      case value_kind::text: return as<std::string>(v);
      case value_kind::duration: return nanoseconds(s.get(v));
      case value_kind::moment: return moment(nanoseconds(s.get(v)));
      case value_kind::maybe:
        return s.length(v) == 0 ? field_value() : value_of(s.element(), s.at(shapes::part_of(v), 0), path);
      case value_kind::enumeration:
        if (const enumerator* const e = shapes::find_value(s, s.get(v))) return e->name;
        return s.get(v);
      case value_kind::list: {
        field_list all;
        const std::size_t n = s.length(v);
        all.reserve(n);
        for (step here{path}; here.index < n; ++here.index)
          all.push_back(value_of(s.element(), s.at(shapes::part_of(v), here.index), &here));
        return all;
      }
      case value_kind::table: return table(s, v, path);
      case value_kind::record: return as<record>(v);
      case value_kind::none:
      case value_kind::any:
      case value_kind::opaque: break;
    }
    return "<" + std::string(s.name) + ">";
  }

  conversion_losses* const losses_;
};

class field_lister {
 public:
  std::vector<record_field> all = {};

  void add_table(const type_shape& s, const std::string& prefix, bool optional) {
    within_.push_back(&s);
    for (std::size_t i = 0; i < s.field_count; ++i) {
      std::string path = prefix;
      append_field_name(path, s.fields[i].name);
      add(s.fields[i].type(), path, optional);
    }
    within_.pop_back();
  }

 private:
  void add(const type_shape& s, const std::string& path, bool optional) {
    switch (s.kind) {
      case value_kind::maybe: return add(s.element(), path, true);
      case value_kind::table:
        // What holds itself is not followed further.
        if (std::find(within_.begin(), within_.end(), &s) != within_.end())
          return all.push_back({path, value_kind::any, optional});
        all.push_back({path, value_kind::table, optional});
        return add_table(s, path, optional);
      case value_kind::list:
        all.push_back({path, value_kind::list, optional});
        return add(s.element(), path + "[]", true);
      case value_kind::boolean:
      case value_kind::integer:
      case value_kind::real:
      case value_kind::duration:
      case value_kind::moment: return all.push_back({path, s.kind, optional});
      case value_kind::size: return all.push_back({path, value_kind::integer, optional});
      // A record has fields that nobody knows.
      case value_kind::record: return all.push_back({path, value_kind::any, optional});
      default: return all.push_back({path, value_kind::text, optional});
    }
  }

  std::vector<const type_shape*> within_;
};

}  // namespace

record to_record(const type_shape& s, const void* v, conversion_losses* losses) {
  if (s.kind == value_kind::record) return as<record>(v);
  return record_maker(losses).table(s, v, nullptr);
}

std::vector<record_field> record_fields(const type_shape& s) {
  field_lister l;
  if (s.kind == value_kind::table) l.add_table(s, {}, false);
  return std::move(l.all);
}

}  // namespace leat
