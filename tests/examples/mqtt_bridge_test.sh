#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# examples/mqtt-bridge against mosquitto: a reading goes in, its alarm comes out; a stop ends it in order.
#   mqtt_bridge_test.sh LEAT MQTT-BRIDGE.TOML
set -euo pipefail
leat=$1 file=$2
PATH=$PATH:/usr/sbin
"$leat" check "$file"
for tool in mosquitto mosquitto_pub mosquitto_sub; do
  command -v "$tool" >/dev/null || { echo "skipped: there is no $tool here"; exit 0; }
done
folder=$(mktemp -d)
children=()
end() {
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap end EXIT

# A port that nobody has; another one if somebody was faster.
for ((tries = 0; ; ++tries)); do
  port=$((20000 + RANDOM % 12000))
  printf 'listener %d 127.0.0.1\nallow_anonymous true\nlog_type none\n' "$port" >"$folder/conf"
  mosquitto -c "$folder/conf" &
  broker=$!
  for ((i = 0; i < 450; ++i)); do
    kill -0 "$broker" 2>/dev/null || break
    mosquitto_pub -p "$port" -t up -n 2>/dev/null && break 2
    sleep 0.1
  done
  ((tries < 20)) || { echo "mosquitto does not start"; exit 1; }
done
children+=("$broker")

BROKER=mqtt://127.0.0.1:$port "$leat" run "$file" >"$folder/out" 2>&1 &
service=$!
children+=("$service")
# Until it is subscribed to, what is published goes to nobody; the alarm is retained.
for ((i = 0; i < 450; ++i)); do
  mosquitto_pub -p "$port" -q 1 -t plant/boiler/temperature -m '{"sensor":"boiler","value":97.5}'
  alarm=$(mosquitto_sub -p "$port" -t 'site/#' -C 1 -W 1 -v || true)
  [[ -z $alarm ]] || break
done
[[ $alarm == 'site/alarms/boiler '*'"sensor":"boiler"'* ]] || { echo "no alarm: $alarm"; cat "$folder/out"; exit 1; }
kill -TERM "$service"
status=0
wait "$service" || status=$?
((status == 0)) || { echo "it ended with $status"; cat "$folder/out"; exit 1; }
