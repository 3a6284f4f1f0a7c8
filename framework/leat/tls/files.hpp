// SPDX-License-Identifier: BSL-1.0
//
// Files with certificates and keys: read whole, looked at before they are trusted, and told apart when they
// change. Nothing here prints what is in a key.
#pragma once
#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace leat {

// A certificate, key or authority that cannot be used. what() has the file, what is wrong and how to mend it.
class tls_file_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace tls {

// Not the file's fault: out of descriptors, an error of the disk. Later it may be read.
class passing_file_error : public tls_file_error {
 public:
  using tls_file_error::tls_file_error;
};

// Two that differ: the file has changed, or come, or gone.
struct file_stamp {
  bool there = false;
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
  bool operator==(const file_stamp&) const = default;
};
file_stamp stamp_of(const std::string& path) noexcept;

// All of it. Throws tls_file_error: not there, no plain file, larger than a mebibyte. `secret`: also if those
// who are neither its owner nor in its group can read or change it.
std::string read_pem(const std::string& path, bool secret);

}  // namespace tls

// What is wrong with these files, as they are now; for checks before anything runs. Each may be empty: none.
struct tls_diagnostic {
  enum class file : std::uint8_t { ca, certificate, key };
  file which = file::certificate;
  bool fatal = true;  // false: it works, but somebody should know (an expired certificate)
  std::string what;
};
std::vector<tls_diagnostic> examine_tls_files(const std::string& ca, const std::string& certificate,
                                              const std::string& key_file);

}  // namespace leat
