#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_members.sh [ROOT]: no class has more than 25 data members; one that does holds more than one idea. Headers of
# the framework and the services, read as this project writes them; what is only read from a file and handed on (an
# options struct, a plan, a record of the command line) is a list and not counted: a struct without member functions.
set -euo pipefail
export LC_ALL=C
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
mapfile -t files < <(find framework services -name '*.hpp' 2>/dev/null | sort)
((${#files[@]})) || { echo "members: no header below framework and services" >&2; exit 2; }
awk '
  function blank(text, pattern) { while (sub(pattern, " ", text)) {} return text }
  # What a statement of a class declares: 0 for a function, a type, a name for one.
  function members(text,    n, head) {
    text = blank(text, "(alignas|LEAT_[A-Z_]+)[(][^()]*[)]")
    text = blank(text, "[[][[][^]]*[]][]]")
    text = blank(text, "<[^<>]*>")
    sub(/^[ \t]*(public|private|protected):[ \t]*/, "", text)
    if (text ~ /^[ \t]*(using|friend|static|typedef|enum|class|struct|union|template|extern)[ \t]/) return 0
    head = text
    sub(/=.*/, "", head)
    if (head ~ /\(/ || text ~ /operator/) return head ~ /\(\*/ ? 1 : 0
    text = blank(text, "[(][^()]*[)]")
    gsub(/=[^,]*/, "", text)
    if (text !~ /[A-Za-z0-9_>*&] +[*&]*[A-Za-z_]/) return 0
    n = gsub(/,/, ",", text)
    return n + 1
  }
  function finish() {
    if (kind[top] != "") {
      if (count[top] > 25 && functions[top] > 0) {
        printf "%s:%d: %s has %d data members; more than 25 is too much for one idea\n", FILENAME, at[top], kind[top], count[top]
        failures++
      }
      classes++
    }
    top--
  }
  FNR == 1 { top = 0; statement = ""; depth = 0 }
  {
    line = $0
    if (line ~ /^[ \t]*#/) next
    gsub(/\\./, "", line); gsub(/"[^"]*"/, "0", line); gsub(/\047.\047/, "0", line)
    sub(/\/\/.*/, "", line)
    for (i = 1; i <= length(line); i++) {
      c = substr(line, i, 1)
      if (c == "{") {
        top++
        kind[top] = ""; count[top] = 0; functions[top] = 0; at[top] = FNR
        head = statement
        sub(/^[ \t]*(public|private|protected):[ \t]*/, "", head)
        head = blank(head, "<[^<>]*>")
        head = blank(head, "alignas[(][^()]*[)]")
        if (head ~ /^[ \t]*(template[ \t]*)?(requires .*)?(class|struct|union)[ \t]/ && head !~ /\(/) {
          kind[top] = head
          sub(/^[ \t]*(template[ \t]*)?/, "", kind[top]); sub(/[ \t]*(final)?[ \t]*(:.*)?$/, "", kind[top])
          gsub(/[ \t]+/, " ", kind[top])
        } else {
          # A body, or what a member begins with.
          saved[top] = statement
          if (statement ~ /\(/ && kind[top - 1] != "") functions[top - 1]++
        }
        statement = ""
      } else if (c == "}") {
        was_class = kind[top] != ""
        body = blank(saved[top], "(alignas|LEAT_[A-Z_]+)[(][^()]*[)]")
        finish()
        # `T name{...};` goes on; a function is over, and so is a namespace.
        if (!was_class && body !~ /\(/ && body !~ /^[ \t]*(inline[ \t]+)?namespace/) statement = body
        else statement = ""
      } else if (c == ";") {
        if (top > 0 && kind[top] != "") {
          n = members(statement)
          count[top] += n
          if (n == 0 && statement ~ /\(/) functions[top]++
        }
        statement = ""
      } else statement = statement c
    }
    statement = statement " "
  }
  END {
    if (failures) exit 1
    print "members: " classes " classes, none with more than 25 data members"
  }
' "${files[@]}"
