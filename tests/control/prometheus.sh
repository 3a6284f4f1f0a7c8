#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# prometheus.sh PROGRAM: a real Prometheus scrapes `leat run`, in the format that it asks for, and knows the counters
# afterwards; promtool finds nothing to complain of. Status 77: something is missing here, and the text says what.
set -uo pipefail
program=$(realpath "$1")
for tool in prometheus promtool curl; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool (Debian, Ubuntu: apt install prometheus curl)"; exit 77; }
done
dir=$(mktemp -d) && pids=()
finish() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
  rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
fail() {
  echo "not ok: $*"
  for log in leat.log prometheus.log; do [[ ! -f $log ]] || { echo "--- $log"; tail -n 20 "$log"; }; done
  exit 1
}
# eventually COMMAND...: within 45 s.
eventually() {
  local until=$((SECONDS + 45))
  until "$@"; do ((SECONDS < until)) || return 1; sleep 0.2; done
}

cat >scraped.toml <<'END'
leat = 1
[process.tick]
use    = "ticker"
config = { period = "5ms" }
out    = { ticks = "ticks" }
[process.both]
use    = "tee"
in     = { values = "ticks" }
out    = { out = "copies" }
[process.keep]
use    = "sample"
config = { nth = 1000000 }
in     = { values = "copies" }
out    = { out = "kept" }
[process.other]
use    = "sample"
config = { nth = 1000000 }
in     = { values = "copies" }
out    = { out = "kept" }
[process.show]
use    = "log"
in     = { values = "kept" }
[channel.ticks]
capacity = 8
[channel.copies]
capacity = 8
fanout   = "copy"
[channel.kept]
capacity = 8
[control]
listen = "127.0.0.1:0"
END
export LEAT_SOCKETS=$dir/run
: >leat.log
"$program" run scraped.toml 2>>leat.log &
pids+=($!)
address_told() { address=$(sed -n 's|.*the inspector is on http://\([0-9.:]*\)/.*|\1|p' leat.log) && [[ -n $address ]]; }
eventually address_told || fail "the service does not say where it listens"

curl -sf "http://$address/metrics" >metrics.txt || fail "no metrics"
promtool check metrics <metrics.txt >complaints.txt 2>&1 || fail "promtool: $(cat complaints.txt)"
[[ ! -s complaints.txt ]] || fail "promtool: $(cat complaints.txt)"

cat >prometheus.yml <<END
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: leat
    static_configs: [{ targets: ["$address"] }]
END
port=0
for try in 1 2 3; do
  port=$((20000 + RANDOM % 20000))
  prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" \
    2>prometheus.log >&2 &
  pid=$!
  pids+=("$pid")
  ready() { curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null || ! kill -0 "$pid" 2>/dev/null; }
  eventually ready || fail "prometheus is not ready"
  ! kill -0 "$pid" 2>/dev/null || break
  ((try < 3)) || fail "prometheus does not start"
done

query() { curl -sf --get "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1"; }
# has QUERY: it has a result.
has() { query "$1" | grep -q '"result":\[{'; }
for expected in 'up{job="leat"} == 1' 'leat_channel_sent_total{channel="scraped/ticks",reader=""} > 100' \
  'leat_channel_sent_total{channel="scraped/copies",reader="scraped/keep"} > 100' \
  'leat_channel_sent_total{channel="scraped/copies",reader=""} > 100' \
  'sum(leat_process_state{process="scraped/keep"}) == 1' 'leat_healthy == 1' \
  'rate(leat_channel_received_total{channel="scraped/ticks"}[10s]) > 10'; do
  eventually has "$expected" || fail "prometheus does not know: $expected ($(query "${expected%% [><=]*}"))"
done
curl -sf "http://127.0.0.1:$port/api/v1/targets" | grep -q '"lastError":""' || fail "a scrape had an error"
echo "ok"
