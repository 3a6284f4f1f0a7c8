#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# tutorial.sh PAGE PREFIX FOLDER: follows a page, in FOLDER, with Leat installed in PREFIX. A line that is only `name`: makes
# the next block the content of that file. Blocks of sh are typed, one after the other, as if in one shell. After one, the text
# in the next "prints `text`" must have come. `# until Ctrl-C` after a command: it is stopped when it has printed that.
set -uo pipefail
page=$(realpath "$1") prefix=$(realpath "$2") folder=$3
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")
mkdir "$folder/steps" "$folder/work"

# Steps in the order of the page: NN.sh, NN.file (first line: the name), NN.expected.
awk -v to="$folder/steps" '
  function next_step() { return sprintf("%s/%02d", to, ++n) }
  /^```/ && !on {
    on = 1
    lang = substr($0, 4)
    if (lang == "sh") { step = next_step(); file = step ".sh"; waits = 1 }
    else if (name != "") { file = next_step() ".file"; print name > file; name = "" }
    else file = "/dev/null"
    next
  }
  /^```$/ { on = 0; close(file); next }
  on { print > file; next }
  match($0, /^`[^`]+`:$/) { name = substr($0, 2, RLENGTH - 3); next }
  { text = text_before $0; text_before = "" }
  /prints$/ { text_before = $0 " "; next }
  waits && match(text, /prints `[^`]*`/) { print substr(text, RSTART + 8, RLENGTH - 9) > (step ".expected"); waits = 0 }
' "$page"

export PATH=$prefix/bin:$PATH PREFIX=$prefix
cd "$folder/work" || exit 1
count=0
for step in "$folder"/steps/*; do
  case $step in
    *.file)
      name=$(head -n 1 "$step")
      tail -n +2 "$step" >"$name" || exit 1
      echo "wrote $name"
      ;;
    *.sh)
      count=$((count + 1))
      log=${step%.sh}.log
      expected=$(cat "${step%.sh}.expected") || { echo "the page does not say what ${step##*/} prints"; exit 1; }
      cat "$step"
      if grep -q '# until Ctrl-C$' "$step"; then
        : >"$log"
        # A shell in the background ignores SIGINT and so would what it starts; leat::main listens all the same.
        bash -c "exec $(sed 's/# until Ctrl-C$//' "$step")" >"$log" 2>&1 &
        for ((i = 0; i < 1200; i++)); do grep -qF "$expected" "$log" && break; sleep 0.1; done
        kill -INT $!
        wait $!
        status=$?
      else
        # A `cd` lasts.
        bash -ec 'source "$0"; pwd >"$1"' "$step" "$folder/here" >"$log" 2>&1
        status=$?
        ((status != 0)) || cd "$(cat "$folder/here")" || exit 1
      fi
      if ((status != 0)) || ! grep -qF "$expected" "$log"; then
        cat "$log"
        echo "status $status; expected: $expected"
        exit 1
      fi
      echo "=> $expected"
      ;;
  esac
done
((count > 5)) || { echo "only $count steps were found"; exit 1; }
