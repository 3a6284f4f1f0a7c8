// SPDX-License-Identifier: BSL-1.0
//
// A state in a file: one for each state of each replica. It is replaced as a whole: written under another name,
// flushed, renamed, and the folder flushed; so after a crash at any moment it is the old one or the new one. It is
// believed only if all of it is there and is what was written:
//
//   bytes   0   "LEATST" and two digits, the version of this format
//           8   the length of what follows 24, least byte first
//          16   a sum of bytes 0 to 15 and of what follows 24
//          24   whose it is ("climate/meter/0/sum") and the name of its type, each with its length in four bytes
//               before it; then the value as CBOR, with the names of its fields
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

struct state_content {
  std::string whose = {};
  std::string type = {};
  std::vector<std::uint8_t> value = {};
};

// What is wrong with a file.
class state_file_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::vector<std::uint8_t> pack_state(const state_content& c);
// Throws state_file_error.
state_content unpack_state(std::span<const std::uint8_t> bytes);

// Bytes of a file: neither is more read, nor written.
inline constexpr std::size_t longest_state_file = std::size_t{64} << 20;

// These block, and throw std::system_error. No link is followed, and what is not a regular file is not read.
void replace_file(const std::string& path, std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> read_whole_file(const std::string& path);
// Gives a file that is not believed another name, PATH.bad-N, and says which. Empty: it could not.
std::string set_aside(const std::string& path);

// "climate.meter.0.sum.state": what is not a letter, a digit, - or _ is written as %XX.
std::string state_file_name(std::string_view service, std::string_view process, unsigned replica,
                            std::string_view state);
// The name of a state, of a file of this replica. Empty: it is no such file.
std::string state_of_file(std::string_view file, std::string_view service, std::string_view process,
                          unsigned replica);

}  // namespace leat
