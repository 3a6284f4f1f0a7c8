#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_layers.sh [ROOT]: fails, with file:line and the reason, on an include that cmake/layers.txt does not allow, on a
# class of sched that makes another its friend, and on a header of sched of 200 lines or more. Other files of more than 400
# lines are noted but do not fail. Only bash, find, grep and awk are needed.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/..}"
table=cmake/layers.txt
[[ -f $table ]] || table=$here/layers.txt

folders=()
for folder in framework config services examples tests; do
  [[ -d $folder ]] && folders+=("$folder")
done
((${#folders[@]})) || { echo "check_layers: no source folder in $PWD" >&2; exit 2; }
mapfile -t files < <(find "${folders[@]}" -type f \
  \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.ipp' -o -name '*.cc' -o -name '*.inc' \) | sort)
((${#files[@]})) || { echo "check_layers: no source file in $PWD" >&2; exit 2; }

awk -v table="$table" '
  function within(path, folder) {
    if (folder ~ /\/\*$/) {
      folder = substr(folder, 1, length(folder) - 1)
      return index(path, folder) == 1 && !index(substr(path, length(folder) + 1), "/")
    }
    return index(path "/", folder "/") == 1
  }

  # "framework/leat/fiber" + "../base/list.hpp" -> "framework/leat/base/list.hpp"
  function join(folder, relative,    parts, n, i, out, k, kept) {
    n = split(folder "/" relative, parts, "/")
    k = 0
    for (i = 1; i <= n; i++) {
      if (parts[i] == "." || parts[i] == "") continue
      if (parts[i] == "..") { if (k > 0) k--; continue }
      kept[++k] = parts[i]
    }
    out = kept[1]
    for (i = 2; i <= k; i++) out = out "/" kept[i]
    return out
  }

  function layer_of(path,    name, best) {
    best = ""
    for (name in folder_of)
      if (within(path, folder_of[name]) && (best == "" || length(folder_of[name]) > length(folder_of[best])))
        best = name
    return best
  }

  function fail(text) { print FILENAME ":" FNR ": " text; failures++ }

  function check_layer(target) {
    if (target == layer || allowed[layer] == " * ") return
    if (index(allowed[layer], " " target " ")) return
    fail("layer `" layer "` must not include `" target "`; it may include:" \
         (allowed[layer] == " - " ? " nothing but itself" : allowed[layer]) " (" table ")")
  }

  function end_file() {
    if (current != "" && lines > 400) print "note: " current " has " lines " lines; more than 400 is too long to hold one idea"
  }

  BEGIN {
    while ((got = (getline row < table)) > 0) {
      sub(/#.*/, "", row)
      n = split(row, word, " ")
      if (n == 0) continue
      rest = " "
      for (i = (word[1] == "layer" ? 4 : 3); i <= n; i++) rest = rest word[i] " "
      if (word[1] == "layer" && n >= 4) { folder_of[word[2]] = word[3]; allowed[word[2]] = rest }
      else if (word[1] == "foreign" && n >= 3) { home_of[word[2]] = rest }
      else { print table ": cannot read: " row; broken = 1; exit 2 }
    }
    if (got < 0) { print table ": cannot be read"; broken = 1; exit 2 }
  }

  FNR == 1 {
    end_file()
    current = FILENAME
    layer = layer_of(FILENAME)
    if (layer == "") fail("this folder is no layer; add it to " table)
    checked++
  }
  { lines = FNR }

  layer != "" && /^[ \t]*#[ \t]*(include|import)[ \t]*[<"]/ {
    name = $0
    quoted = (name ~ /^[ \t]*#[ \t]*[a-z]+[ \t]*"/)
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)

    if (name ~ /^leat\//) {
      if (split(name, part, "/") == 2) {
        target = layer_of("framework/" name)
        if (target == "") fail("<" name ">: it is in no layer of " table)
        else check_layer(target)
      }
      else if (!(part[2] in folder_of)) fail("<" name ">: `" part[2] "` is no layer in " table)
      else check_layer(part[2])
      next
    }

    home = ""
    for (prefix in home_of) if (index(name, prefix) == 1 && length(prefix) > length(home)) home = prefix
    if (home != "") {
      n = split(home_of[home], place, " ")
      ok = 0
      for (i = 1; i <= n; i++) if (within(FILENAME, place[i])) ok = 1
      if (!ok) fail("<" name "> may be included in" home_of[home] "only (" table ")")
      next
    }

    if (quoted) {
      folder = FILENAME
      sub(/\/[^\/]*$/, "", folder)
      target = layer_of(join(folder, name))
      if (target != "" && target != layer) check_layer(target)
    }
  }

  END {
    if (broken) exit 2
    end_file()
    if (failures) { print "layers: " failures " forbidden includes in " checked " files"; exit 1 }
    print "layers: " checked " files, no forbidden include"
  }
' "${files[@]}"

# Parts of the scheduler use one another's functions: none may reach into another. gdb's table must know where things
# lie.
if friends=$(grep -HnE '^[[:space:]]*friend[[:space:]]+(class |struct )?[A-Za-z0-9_:]+;' -r framework/leat/sched 2>/dev/null |
  grep -v 'debugger_layout;'); then
  echo "$friends"
  echo "layers: a part of sched makes another its friend; give it the function that it needs"
  exit 1
fi
# Who wants to know how the scheduler works reads its headers.
long=0
for header in framework/leat/sched/*.hpp; do
  [[ -f $header ]] || continue
  lines=$(wc -l <"$header")
  ((lines < 200)) || { echo "$header:$lines: $lines lines; a header of sched has fewer than 200: take a part out" && long=1; }
done
exit "$long"
