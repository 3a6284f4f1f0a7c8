#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_documents.sh [ROOT]: fails, with file:line, on a relative link in a *.md file that leads nowhere, on a path
# in backticks that does not exist (of a file; in ARCHITECTURE.md also of a folder), and on a README.md that is missing
# or over 150 lines. CHANGELOG.md says what was there, and the tutorial what its reader makes.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/..}"
failures=0
fail() { echo "$1"; failures=$((failures + 1)); }

readme_limit=150
if [[ ! -f README.md ]]; then
  fail "README.md:1: there is no README.md"
else
  length=$(wc -l <README.md)
  ((length <= readme_limit)) ||
    fail "README.md:$length: $length lines; at most $readme_limit: move detail to ARCHITECTURE.md or docs/"
fi

# Prints KIND<tab>LINE<tab>TEXT for each link target and each backticked word outside code blocks.
tokens() {
  awk '
    /^[ \t]*(```|~~~)/ { code = !code; next }
    code { next }
    {
      rest = $0
      while (match(rest, /`[^`]+`/)) {
        print "word\t" FNR "\t" substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
      }
      rest = $0
      gsub(/`[^`]*`/, "", rest)
      reference = rest
      while (match(rest, /\]\([^)]+\)/)) {
        print "link\t" FNR "\t" substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
      }
      if (match(reference, /^\[[^]]+\]:[ \t]*[^ \t]+/)) {
        sub(/^\[[^]]+\]:[ \t]*/, "", reference)
        print "link\t" FNR "\t" reference
      }
    }' "$1"
}

documents=0
while IFS= read -r file; do
  file=${file#./}
  documents=$((documents + 1))
  folder=$(dirname "$file")
  while IFS=$'\t' read -r kind line text; do
    if [[ $kind == link ]]; then
      target=${text%% *}
      target=${target#<}
      target=${target%>}
      target=${target%%#*}
      case $target in
        '' | *://* | mailto:*) continue ;;
        /*) path=.$target ;;
        *) path=$folder/$target ;;
      esac
      [[ -e $path ]] || fail "$file:$line: the link to \`$target\` leads nowhere"
    elif [[ $text =~ ^(framework|config|services|examples|tests|cmake)/[^[:space:]]*$ && $text != *NAME* ]]; then
      [[ $file == CHANGELOG.md || $file == docs/tutorial.md ]] && continue
      [[ $file == ARCHITECTURE.md || ${text##*/} == *.* ]] || continue  # else it may be the name of a test
      [[ -e $text || -e $folder/$text ]] || compgen -G "$text" >/dev/null || fail "$file:$line: \`$text\` does not exist"
    fi
  done < <(tokens "$file")
done < <(find . \( -name .git -o -path ./build -o -path ./install \) -prune -o -type f -name '*.md' -print | sort)

if ((failures)); then
  echo "documents: $failures faults in $documents documents"
  exit 1
fi
echo "documents: $documents documents, all links and paths lead somewhere"
