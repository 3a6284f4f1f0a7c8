# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: draws the pictures of the README anew, from the program itself: the graph of the climate example, and its
# live page after it has run for a while.

draw_graph() { build/release/bin/leat graph --svg examples/climate/climate.toml >docs/climate.svg; }

draw_page() {
  local browser port=18080 records pid status=0
  browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo 'no Chromium here: docs/climate-page.png is left as it is'; return 0; }
  records=$(mktemp -d)
  CLIMATE_RECORDS=$records CLIMATE_LISTEN=127.0.0.1:$port CLIMATE_CONTROL=127.0.0.1:0 build/release/bin/leat run examples/climate/climate.toml &
  pid=$!
  sleep 65  # until the trends of a minute are full
  # The page is fed for ever: the budget is what ends the wait.
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,580 \
    --timeout=8000 --screenshot="$PWD/docs/climate-page.png" "http://127.0.0.1:$port/" || status=$?
  kill -TERM "$pid"
  wait "$pid" || status=1
  rm -rf "$records"
  return "$status"
}
