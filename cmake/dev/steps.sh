# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: how a step runs, what is shown of it, and the summary of stages. Uses jobs, verbose.

child=''   # process group of the running step

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  live=1 bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
else
  live=0 bold='' red='' green='' dim='' plain=''
fi
exec 3>&1  # progress; `run` and `bench` move it to stderr so that stdout is the program's own

say() { printf '%s\n' "$*" >&3; }
die() {
  printf '%s%s%s\n' "$red" "dev: $1" "$plain" >&2
  exit "${2:-1}"
}
heading_now=0 heading_total=0
heading() {
  heading_now=$((heading_now + 1))
  say "${bold}[$heading_now/$heading_total] $1$plain"
}

now_us() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }
seconds_since() {
  local tenths=$((($(now_us) - $1) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

stop_child() {
  [[ -n $child ]] || return 0
  local i
  kill -TERM -- "-$child" 2>/dev/null
  for ((i = 0; i < 50; i++)); do
    kill -0 -- "-$child" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$child" 2>/dev/null
}
interrupted() {
  trap '' INT TERM HUP PIPE
  stop_child
  printf '\ndev: interrupted; the next run goes on from here\n' >&2
  exit 130
}
trap interrupted INT TERM HUP PIPE

# step NAME ADVICE COMMAND...: runs the command in a process group of its own, so that an interrupt stops all of
# it, with its output in build/logs/NAME.log. On a terminal the last line of the log is shown as it grows.
step() {
  local name=$1 advice=$2 log=build/logs/$1.log status=0 begun line width
  shift 2
  begun=$(now_us)
  mkdir -p build/logs
  : >"$log"
  set -m
  if ((verbose)); then
    { "$@" 2>&1 | tee "$log" >&3; exit "${PIPESTATUS[0]}"; } </dev/null 9>&- &
  else
    "$@" >"$log" 2>&1 </dev/null 3>&- 9>&- &
  fi
  child=$!
  set +m
  if ((live && !verbose)); then
    width=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2)
    while kill -0 "$child" 2>/dev/null; do
      line=$(tail -n 1 "$log" | tr -d '\r\033')
      line="  $name $(seconds_since "$begun")s  $line"
      printf '\r\e[K%s%s%s' "$dim" "${line:0:$((${width:-80} - 1))}" "$plain" >&3
      sleep 0.2
    done
    printf '\r\e[K' >&3
  fi
  wait "$child" || status=$?
  child=''
  if ((status == 0)); then
    printf '  %-22s %sok%s      %6ss\n' "$name" "$green" "$plain" "$(seconds_since "$begun")" >&3
    return 0
  fi
  printf '  %-22s %sFAILED%s  %6ss\n' "$name" "$red" "$plain" "$(seconds_since "$begun")" >&3
  # Without the lines of Ninja and ctest about what went well.
  ((verbose)) || sed -E '/^\[[0-9]+\/[0-9]+\] /d; /^ +Start +[0-9]+: /d; /^ *[0-9]+\/[0-9]+ Test .* Passed +[0-9.]+ sec$/d; s/^/    | /' "$log" >&3
  say "  $red$name failed$plain (status $status); log: $log"
  [[ -z $advice ]] || say "  what to do: $advice"
  return 1
}

stages=() results=() times=() passes=() fails=() notes=()

# stage NAME FUNCTION ARGS...: the function sets passed, failed and note, and returns 0, 1, or 77 for "skipped".
stage() {
  local name=$1 begun status=0 result=ok
  local passed=0 failed=0 note=''
  shift
  heading "$name"
  begun=$(now_us)
  "$@" || status=$?
  if ((status == 77)); then
    result=skipped
    say "  skipped: $note"
  elif ((status != 0 || failed > 0)); then
    result=FAILED
    ((failed > 0)) || failed=1  # a build that breaks is a failure too
  fi
  stages+=("$name") results+=("$result") times+=("$(seconds_since "$begun")")
  passes+=("$passed") fails+=("$failed") notes+=("$note")
}

summary() {
  local i passed=0 failed=0 colour
  run_again
  printf '\n%s%-24s %-8s %9s %8s %8s%s\n' "$bold" stage result seconds passed failed "$plain"
  for i in "${!stages[@]}"; do
    passed=$((passed + passes[i])) failed=$((failed + fails[i]))
    case ${results[i]} in ok) colour=$green ;; FAILED) colour=$red ;; *) colour='' ;; esac
    printf '%-24s %s%-8s%s %9s %8d %8d  %s\n' "${stages[i]}" "$colour" "${results[i]}" "$plain" \
      "${times[i]}" "${passes[i]}" "${fails[i]}" "${notes[i]}"
  done
  ((failed == 0)) || printf '\nThe log of each step is in build/logs/.\n'
  ((${#flaky[@]} == 0)) || printf '\n%d flaky, to be looked at:\n' "${#flaky[@]}"
  for i in "${flaky[@]}"; do printf 'flaky: %s\n' "$i"; done
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
