// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/http_response.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace leat::remote {
namespace {

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class T>
bool whole_number(std::string_view text, T& value, int base = 10) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && r.ec == std::errc() && r.ptr == text.data() + text.size();
}

}  // namespace

bool http_response::broken(std::string text) {
  error_ = std::move(text);
  return false;
}

// Up to a line's end, which is not kept. False: it is not whole yet, or too long.
bool http_response::take_line(std::string_view& bytes, std::size_t longest) {
  const std::size_t end = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, end);
  if (line_.size() + piece.size() > longest) return broken("a line of the response is too long");
  line_ += piece;
  bytes.remove_prefix(std::min(piece.size() + 1, bytes.size()));
  if (end == std::string_view::npos) return false;
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool http_response::feed(std::string_view bytes) {
  if (!error_.empty()) return false;
  while (!bytes.empty() && part_ != part::complete) {
    switch (part_) {
      case part::head: {
        // All of it first: its end may lie across two pieces.
        const std::size_t before = line_.size();
        line_ += bytes.substr(0, longest_head + 5);
        std::size_t end = line_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
        std::size_t gap = 4;
        if (const std::size_t bare = line_.find("\n\n", before < 1 ? 0 : before - 1); bare < end) {
          end = bare;
          gap = 2;
        }
        if (end == std::string::npos ? line_.size() > longest_head + 4 : end > longest_head)
          return broken("the head of the response is too long");
        if (end == std::string::npos) return true;
        bytes.remove_prefix(end + gap - before);
        const std::string head = line_.substr(0, end);
        line_.clear();
        if (!read_head(head)) return false;
        break;
      }
      case part::sized:
      case part::chunk:
      case part::to_the_end: {
        const std::size_t n = part_ == part::to_the_end
                                  ? bytes.size()
                                  : static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        if (body_.size() + n > longest_body) return broken("the response has more than 64 MiB");
        body_ += bytes.substr(0, n);
        bytes.remove_prefix(n);
        if (part_ == part::to_the_end) break;
        left_ -= n;
        if (left_ == 0) part_ = part_ == part::sized ? part::complete : part::chunk_end;
        break;
      }
      case part::chunk_end:
        if (!take_line(bytes, 2)) break;
        if (!line_.empty()) return broken("a chunk of the response does not end where it should");
        part_ = part::chunk_size;
        break;
      case part::chunk_size:
        if (take_line(bytes, 1024) && !begin_chunk()) return false;
        break;
      case part::trailer:
        if (!take_line(bytes, 8192)) break;
        if (line_.empty()) part_ = part::complete;
        line_.clear();
        break;
      case part::complete: break;
    }
    if (!error_.empty()) return false;
  }
  return true;
}

bool http_response::begin_chunk() {
  const std::string_view size = without_blanks(std::string_view(line_).substr(0, line_.find(';')));
  if (!whole_number(size, left_, 16)) return broken("a chunk of the response has no size");
  line_.clear();
  part_ = left_ == 0 ? part::trailer : part::chunk;
  return true;
}

bool http_response::read_head(std::string_view head) {
  const std::size_t end = std::min(head.find('\n'), head.size());
  const std::string_view first = head.substr(0, end);
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ' ||
      !whole_number(first.substr(9, 3), status_) || status_ < 100 || status_ > 599)
    return broken("what answers there does not speak HTTP/1.1");
  bool chunked = false, sized = false;
  head.remove_prefix(std::min(end + 1, head.size()));
  while (!head.empty()) {
    const std::size_t line_end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, line_end);
    head.remove_prefix(std::min(line_end + 1, head.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!read_field(line, chunked, sized)) return false;
  }
  if (status_ < 200) return true;  // a notice ahead of the response: the next head is read
  if (status_ == 204 || status_ == 304 || (sized && !chunked && left_ == 0)) {
    part_ = part::complete;
  } else {
    part_ = chunked ? part::chunk_size : sized ? part::sized : part::to_the_end;
  }
  return true;
}

bool http_response::read_field(std::string_view line, bool& chunked, bool& sized) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return broken("the head of the response has a line without ':'");
  const std::string_view name = line.substr(0, colon), value = without_blanks(line.substr(colon + 1));
  if (same_word(name, "content-type")) {
    type_ = value;
  } else if (same_word(name, "transfer-encoding")) {
    if (!same_word(value, "chunked")) return broken("the response has a coding that is not known here");
    chunked = true;
  } else if (same_word(name, "content-length")) {
    std::uint64_t length = 0;
    if (!whole_number(value, length) || (sized && length != left_))
      return broken("the response has no good length");
    left_ = length;
    sized = true;
  }
  return true;
}

bool http_response::close() {
  if (!error_.empty()) return false;
  if (part_ == part::to_the_end) part_ = part::complete;
  if (part_ == part::complete) return true;
  return broken(part_ == part::head && line_.empty() ? "it closed the connection without a response"
                                                     : "the response ends too early");
}

}  // namespace leat::remote
