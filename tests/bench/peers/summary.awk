# SPDX-License-Identifier: BSL-1.0
# The runs' JSON lines (flat, written by our own programs) -> report.json: about the machine, then a row a line.

function field(key, quoted,   at, rest) {
  at = index($0, "\"" key "\":")
  if (!at) return ""
  rest = substr($0, at + length(key) + 3)
  if (quoted) { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
  match(rest, /^[-+0-9.eE]+/)
  return substr(rest, 1, RLENGTH) + 0
}
function text(key, v) { gsub(/\\/, "\\\\", v); gsub(/"/, "\\\"", v); printf "\"%s\":\"%s\",\n", key, v }
function cell(peer, key,   n, i, j, v, s, m) {
  n = count[key]
  if (!n) return ""
  for (i = 1; i <= n; i++) {
    v = value[key, i]
    for (j = i - 1; j >= 1 && s[j] > v; j--) s[j + 1] = s[j]
    s[j + 1] = v
  }
  m = n % 2 ? s[(n + 1) / 2] : (s[n / 2] + s[n / 2 + 1]) / 2
  return sprintf(",\"%s\":{\"median\":%.9g,\"min\":%.9g,\"max\":%.9g,\"rounds\":%d}", peer, m, s[1], s[n], n)
}

BEGIN {
  # name, P count, and the most it may take; or a peer, and how many times as fast as that one it must be.
  while ((getline line < goals) > 0) {
    if (line ~ /^#/ || split(line, part, " ") < 3) continue
    goal[part[1] SUBSEP part[2]] = part[4] == "" ? ",\"goal\":" part[3] \
                                                 : ",\"goal_peer\":\"" part[3] "\",\"goal\":" part[4]
  }
  n_peers = split("leat go boost epoll asio", peers, " ")
}
/^\{.*\}$/ {
  row = field("name", 1) SUBSEP field("procs", 0)
  if (!(row in unit)) { rows[++n_rows] = row; unit[row] = field("unit", 1) }
  key = row SUBSEP field("peer", 1)
  value[key, ++count[key]] = field("median", 0)
}
END {
  print "{"
  text("date", date); text("machine", machine); text("kernel", kernel); text("load", load); text("compiler", compiler)
  text("leat", leat); text("commit", commit); text("go", go); text("boost", boost); text("asio", asio)
  text("command", command)
  printf "\"seconds\":%d,\n\"quick\":%s,\n\"interrupted\":%s,\n\"rows\":[\n", seconds, quick ? "true" : "false", \
    interrupted ? "true" : "false"
  for (i = 1; i <= n_rows; i++) {
    split(rows[i], part, SUBSEP)
    printf "{\"name\":\"%s\",\"procs\":%d,\"unit\":\"%s\"%s", part[1], part[2], unit[rows[i]], quick ? "" : goal[rows[i]]
    for (p = 1; p <= n_peers; p++) printf "%s", cell(peers[p], rows[i] SUBSEP peers[p])
    print "}" (i < n_rows ? "," : "")
  }
  print "]}"
}
