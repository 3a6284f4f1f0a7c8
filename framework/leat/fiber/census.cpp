// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/census.hpp>

#include <algorithm>
#include <leat/base/units.hpp>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack.hpp>

namespace leat::fiber {

void census::begin(stack& s) noexcept { s.discard(); }

void census::end(std::string_view class_name, const stack& s) {
  const std::size_t used = std::min(s.high_water(), s.size());  // it may have been given more
  lock_guard hold(lock_);
  auto at = std::lower_bound(entries_.begin(), entries_.end(), class_name,
                             [](const entry& e, std::string_view n) { return e.row.name < n; });
  if (at == entries_.end() || at->row.name != class_name) {
    entry fresh;
    fresh.row.name = class_name;
    at = entries_.insert(at, std::move(fresh));
  }
  ++at->row.runs;
  at->sum += used;
  at->row.most = std::max(at->row.most, used);
  at->row.size = std::max(at->row.size, s.size());
}

std::vector<census_row> census::rows() const {
  lock_guard hold(lock_);
  std::vector<census_row> out;
  out.reserve(entries_.size());
  for (const entry& e : entries_) {
    out.push_back(e.row);
    out.back().mean = static_cast<std::size_t>(e.sum / e.row.runs);
  }
  return out;
}

std::string census::report() const {
  const std::size_t page = os_memory::page_size();
  std::string text;
  for (const census_row& r : rows()) {
    const std::size_t with_reserve = (r.most + r.most / 2 + page - 1) / page * page;
    text += r.name + ": " + std::to_string(r.runs) + " runs, mean " + std::to_string(r.mean) + ", most " +
            std::to_string(r.most) + " bytes of " + format_size(r.size) + "; " +
            format_size(std::max(with_reserve, min_stack_size)) + " would do\n";
  }
  return text;
}

}  // namespace leat::fiber
