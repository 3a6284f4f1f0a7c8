// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/table.hpp>

#include <algorithm>
#include <numeric>

#include <leat/remote/text.hpp>

namespace leat::remote {

std::vector<std::size_t> table::widths(std::size_t room) const {
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = std::max(columns_[c].least, columns(columns_[c].title));
    for (const auto& r : rows_) widest = std::max(widest, columns(r[c]));
    all.push_back(widest);
  }
  if (room == 0 || all.empty()) return all;
  const auto taken = [&] { return std::accumulate(all.begin(), all.end(), all.size() - 1); };
  // The widest that may shrink gives one column at a time.
  while (taken() > room) {
    std::size_t widest = all.size();
    for (std::size_t c = 0; c < all.size(); ++c)
      if (columns_[c].shrinks_to > 0 && all[c] > columns_[c].shrinks_to &&
          (widest == all.size() || all[c] > all[widest]))
        widest = c;
    if (widest == all.size()) break;
    --all[widest];
  }
  return all;
}

std::string table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) out += ' ';
    out += columns_[c].right ? to_right(cells[c], widths[c]) : to_left(cells[c], widths[c]);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string table::heading(const std::vector<std::size_t>& widths) const {
  std::vector<std::string> titles;
  for (const table_column& c : columns_) titles.push_back(c.title);
  return line(titles, widths);
}

std::string table::row(std::size_t i, const std::vector<std::size_t>& widths) const {
  return line(rows_[i], widths);
}

std::string table::text(std::size_t room) const {
  const std::vector<std::size_t> all = widths(room);
  std::string out = heading(all) + '\n';
  for (std::size_t i = 0; i < rows_.size(); ++i) out += row(i, all) + '\n';
  return out;
}

}  // namespace leat::remote
