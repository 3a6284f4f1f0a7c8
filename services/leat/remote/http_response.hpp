// SPDX-License-Identifier: BSL-1.0
//
// The bytes of one HTTP/1.1 response, as they come, in any pieces. Bodies with a length, in chunks, and up to the end
// of the connection are known. Pure: no socket here. What is not one is refused with a reason, and what is kept
// has bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leat::remote {

class http_response {
 public:
  static constexpr std::size_t longest_head = std::size_t{64} << 10;
  static constexpr std::size_t longest_body = std::size_t{64} << 20;  // that nobody has taken yet

  // What came. False: it is broken, and error() says how.
  bool feed(std::string_view bytes);
  // The peer has closed. False: too early.
  bool close();

  bool has_head() const noexcept { return part_ > part::head; }
  bool complete() const noexcept { return part_ == part::complete; }
  int status() const noexcept { return status_; }
  const std::string& content_type() const noexcept { return type_; }
  const std::string& error() const noexcept { return error_; }
  // What has come of the body. Who reads a stream takes parts away.
  std::string& body() noexcept { return body_; }

 private:
  enum class part : std::uint8_t { head, sized, chunk_size, chunk, chunk_end, trailer, to_the_end, complete };

  bool broken(std::string text);
  bool read_head(std::string_view head);
  bool read_field(std::string_view line, bool& chunked, bool& sized);
  bool take_line(std::string_view& bytes, std::size_t longest);
  bool begin_chunk();

  part part_ = part::head;
  int status_ = 0;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  std::string line_;        // a line that is not whole yet; in the head, all of it
  std::string type_, body_, error_;
};

}  // namespace leat::remote
