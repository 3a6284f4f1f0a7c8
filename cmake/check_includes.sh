#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_includes.sh [ROOT]: fails, with file:line, on a name of namespace std whose header neither the file itself nor any file
# of ours that it includes asks for. What compiles by luck, since one standard header brings along another or several files are
# compiled as one, does not compile with the next library. cmake/std_names.txt says which header has which name.
set -uo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/..}" || exit 2
table=cmake/std_names.txt
[[ -f $table ]] || table=$here/std_names.txt
folders=()
for folder in framework config services examples tests; do [[ -d $folder ]] && folders+=("$folder"); done
((${#folders[@]})) || { echo "check_includes: no source folder in $PWD" >&2; exit 2; }
mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' \) | sort)
((${#files[@]})) || { echo "check_includes: no source file in $PWD" >&2; exit 2; }

awk -v table="$table" '
  function fail(at, text) { print at ": " text; failures++ }

  # "framework/leat/fiber" + "../base/list.hpp" -> "framework/leat/base/list.hpp"
  function joined(folder, relative,    parts, kept, n, i, k, out) {
    n = split(folder "/" relative, parts, "/")
    for (i = 1; i <= n; i++) {
      if (parts[i] == "." || parts[i] == "") continue
      if (parts[i] == ".." && k > 0) k--
      else kept[++k] = parts[i]
    }
    for (i = 1; i <= k; i++) out = out (i > 1 ? "/" : "") kept[i]
    return out
  }

  # The file of ours that an include means, or nothing.
  function ours(name, folder,    i) {
    if ((folder = joined(folder, name)) in is_file) return folder
    for (i = 1; i <= roots; i++) if ((root[i] name) in is_file) return root[i] name
    return ""
  }

  # All standard headers that FILE asks for, itself or by files of ours: reach[FILE, HEADER].
  function walk(start,    todo, n, file, i, seen, name) {
    todo[n = 1] = start
    seen[start] = 1
    while (n > 0) {
      file = todo[n--]
      for (i = 1; i <= includes[file]; i++) {
        name = include[file, i]
        reach[start, name] = 1
        if ((name = means[file, i]) != "" && !(name in seen)) { seen[name] = 1; todo[++n] = name }
      }
    }
  }

  BEGIN {
    while ((getline row < table) > 0) {
      if (row ~ /^#/ || split(row, word, " ") < 2) continue
      for (i = 2; i in word; i++) if (word[i] != "-") has[word[i]] = has[word[i]] word[1] " "
      split("", word)
    }
    roots = split("framework/ config/ services/ tests/ tests/support/", root, " ")
    for (i = 1; i < ARGC; i++) is_file[ARGV[i]] = 1
  }

  FNR == 1 { folder = FILENAME; sub(/\/[^\/]*$/, "", folder); raw = 0 }

  match($0, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]+/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/^[^<"]*[<"]/, "", name)
    include[FILENAME, ++includes[FILENAME]] = name
    means[FILENAME, includes[FILENAME]] = ours(name, folder)
    next
  }
  {
    line = $0
    # Texts that are C++ themselves: what is made of them includes for itself.
    if (raw) { if (!match(line, /\)[a-z]*"/)) next; line = substr(line, RSTART + RLENGTH); raw = 0 }
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    if (match(line, /R"[a-z]*\(/)) { raw = 1; line = substr(line, 1, RSTART - 1) }
    sub(/\/\/.*/, "", line)
    while (match(line, /(^|[^A-Za-z0-9_:])(::)?std::[A-Za-z_0-9]+/)) {
      name = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      sub(/.*std::/, "", name)
      if (!((FILENAME, name) in used)) { used[FILENAME, name] = FNR; names[FILENAME] = names[FILENAME] name " " }
    }
  }

  END {
    for (a = 1; a < ARGC; a++) {
      file = ARGV[a]
      if (!(file in names)) continue
      walk(file)
      n = split(names[file], name_of, " ")
      for (i = 1; i <= n; i++) {
        name = name_of[i]
        if (!(name in has)) { fail(file ":" used[file, name], table " does not say which header has std::" name); continue }
        if (index(has[name], "* ") == 1) continue
        found = 0
        m = split(has[name], header, " ")
        for (j = 1; j <= m; j++) if ((file, header[j]) in reach) { found = 1; break }
        if (!found) fail(file ":" used[file, name], "std::" name " needs <" header[1] ">")
      }
    }
    if (failures) { print "includes: " failures " names without their header"; exit 1 }
    print "includes: " ARGC - 1 " files, all names of std have their header"
  }' "${files[@]}"
