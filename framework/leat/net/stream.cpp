// SPDX-License-Identifier: BSL-1.0
#include <leat/net/stream.hpp>

#include <sys/socket.h>
#include <algorithm>
#include <cstring>

namespace leat::net {

end_of_stream::end_of_stream(std::size_t missing)
    : std::system_error(std::make_error_code(std::errc::connection_aborted),
                        "leat::net: the stream ended " + std::to_string(missing) +
                            " bytes before the end of what was asked for") {}

std::size_t stream::take(mutable_bytes into) noexcept {
  const std::size_t n = std::min(into.size, buffered());
  if (n > 0) std::memcpy(into.data, buffer_.get() + begin_, n);
  begin_ += n;
  return n;
}

std::size_t stream::receive_some(mutable_bytes into, deadline until) {
  if (!layer_) return d_.read_some(into, until);
  std::error_code ec;
  const std::size_t n = layer_->read_some(d_, into, ec, until);
  if (ec) throw_error(ec, "leat::net: read");
  return n;
}

std::string stream::take_buffered() {
  std::string all(buffer_ ? buffer_.get() + begin_ : "", buffered());
  begin_ = end_ = 0;
  return all;
}

// False: the end.
bool stream::fill(deadline until) {
  if (!buffer_) {
    buffer_ = std::make_unique<char[]>(buffer_size);
    capacity_ = buffer_size;
  }
  begin_ = end_ = 0;
  end_ = receive_some({buffer_.get(), capacity_}, until);
  return end_ > 0;
}

void stream::put_back(const_bytes front) {
  const std::size_t all = front.size + buffered();
  const std::size_t room = std::max(all, buffer_size);
  auto larger = std::make_unique<char[]>(room);
  if (front.size > 0) std::memcpy(larger.get(), front.data, front.size);
  if (buffered() > 0) std::memcpy(larger.get() + front.size, buffer_.get() + begin_, buffered());
  buffer_ = std::move(larger);
  capacity_ = room;
  begin_ = 0;
  end_ = all;
}

std::size_t stream::read_some(mutable_bytes into, std::error_code& ec, deadline until) {
  ec.clear();
  if (buffered() > 0) return take(into);
  return receive_some(into, ec, until);
}

std::size_t stream::read_some(mutable_bytes into, deadline until) {
  if (buffered() > 0) return take(into);
  return receive_some(into, until);
}

void stream::read_exactly(mutable_bytes into, deadline until) {
  const char* const begin = into.data;
  while (into.size > 0) {
    std::size_t n = 0;
    try {
      // Large ones go past the buffer.
      if (buffered() == 0 && into.size < buffer_size && !fill(until)) throw end_of_stream(into.size);
      n = buffered() > 0 ? take(into) : receive_some(into, until);
      if (n == 0) throw end_of_stream(into.size);
    } catch (...) {
      put_back({begin, static_cast<std::size_t>(into.data - begin)});
      throw;
    }
    into = into.after(n);
  }
}

bool stream::read_until(std::string& into, std::string_view delimiter, deadline until) {
  into.clear();
  for (;;) {
    try {
      if (buffered() == 0 && !fill(until)) return false;
    } catch (...) {
      put_back(into);
      into.clear();
      throw;
    }
    const std::size_t room = line_limit_ + delimiter.size() - std::min(into.size(), line_limit_);
    const std::size_t look = std::min(buffered(), room);
    // The delimiter may lie across the edge of what came before.
    const std::size_t from = into.size() - std::min(into.size(), delimiter.size() - 1);
    into.append(buffer_.get() + begin_, look);
    const std::size_t at = into.find(delimiter, from);
    if (at != std::string::npos) {
      const std::size_t whole = at + delimiter.size();
      begin_ += look - (into.size() - whole);
      into.resize(whole);
      return true;
    }
    begin_ += look;
    if (into.size() >= line_limit_ + delimiter.size())
      throw std::system_error(
          std::make_error_code(std::errc::message_size),
          "leat::net: nothing ended within " + std::to_string(line_limit_) + " bytes (stream::line_limit)");
  }
}

bool stream::read_line(std::string& into, deadline until) {
  const bool whole = read_until(into, "\n", until);
  if (!whole && into.empty()) return false;
  if (whole) into.pop_back();
  if (!into.empty() && into.back() == '\r') into.pop_back();
  return true;
}

std::optional<std::string> stream::read_line(deadline until) {
  std::string line;
  if (!read_line(line, until)) return {};
  return line;
}

void stream::write(const_bytes from, std::error_code& ec, deadline until) {
  ec.clear();
  while (from.size > 0 && !ec)
    from = from.after(layer_ ? layer_->write_some(d_, from, ec, until) : d_.write_some(from, ec, until));
}

void stream::write(const_bytes from, deadline until) {
  std::error_code ec;
  write(from, ec, until);
  if (ec) throw_error(ec, "leat::net: write");
}

void stream::shutdown_write() noexcept {
  if (layer_) finish_layer(std::chrono::seconds(1));
  d_.shutdown(SHUT_WR);
}
void stream::shutdown() noexcept { d_.shutdown(SHUT_RDWR); }

}  // namespace leat::net
