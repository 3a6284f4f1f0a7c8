#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
source "$(dirname "$0")/support.sh"
members() { bash "$root/cmake/check_members.sh" "$tree"; }

# N members, as they are written: alone, several in a line, with a value, in braces, with a lock, a pointer to a function.
class_with() {
  echo 'class big final : public other<int, long> {'
  echo ' public:'
  echo '  void call(int a, int b);'
  echo '  int size() const noexcept { int local = 0; return local; }'
  echo '  struct part {'
  echo '    int x = 0, y = 0;'
  echo '  };'
  echo ' private:'
  echo '  int a_ = 0, b_{1}, c_;  // d_, e_'
  echo '  std::map<int, std::vector<long>> by_name_ = {};'
  echo '  int guarded_ LEAT_GUARDED_BY(lock_) = 0;'
  echo '  void (*body_)(int, int) = nullptr;'
  echo '  alignas(64) std::array<std::atomic<int>, 4> places_{};'
  for ((i = 8; i <= $1; i++)); do echo "  int m${i}_ = f(1, 2);"; done
  echo '};'
}
fresh
put framework/leat/base/a.hpp "$(class_with 25)"
expect 0 'members: 2 classes, none with more than 25 data members' members
put framework/leat/base/a.hpp "$(class_with 26)"
expect 1 'framework/leat/base/a.hpp:1: class big has 26 data members' members
# A list of settings is no class.
put framework/leat/base/a.hpp "$(echo 'struct options {'; for i in {1..40}; do echo "  int o$i = 0;"; done; echo '};')"
expect 0 'none with more than 25' members
fresh
mkdir -p "$tree/framework"
expect 2 'no header' members
finish
