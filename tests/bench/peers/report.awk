# SPDX-License-Identifier: BSL-1.0
# The runs' JSON lines (flat, written by our own programs) -> a table, Markdown and JSON.
# A cell is the median over the rounds; the spread is (max - min) / median.

function field(key, quoted,   at, rest) {
  at = index($0, "\"" key "\":")
  if (!at) return ""
  rest = substr($0, at + length(key) + 3)
  if (quoted) { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
  match(rest, /^[-+0-9.eE]+/)
  return substr(rest, 1, RLENGTH) + 0
}
function number(v) { return v == "" ? "-" : sprintf(v < 10 ? "%.2f" : v < 1000 ? "%.1f" : "%.0f", v) }
function ratio(a, b) { return a == "" || b == "" || b == 0 ? "-" : sprintf("%.2f", a / b) }
function sort_values(key, n,   i, j, v) {
  for (i = 2; i <= n; i++) {
    v = value[key, i]
    for (j = i - 1; j >= 1 && value[key, j] > v; j--) value[key, j + 1] = value[key, j]
    value[key, j + 1] = v
  }
}
function median(key, n) {
  n = count[key]
  if (!n) return ""
  sort_values(key, n)
  return n % 2 ? value[key, (n + 1) / 2] : (value[key, n / 2] + value[key, n / 2 + 1]) / 2
}
function cell_json(peer, key, m) {
  return m == "" ? "" : sprintf(",\"%s\":{\"median\":%.9g,\"min\":%.9g,\"max\":%.9g,\"rounds\":%d}", peer, m, \
                                value[key, 1], value[key, count[key]], count[key])
}
function spread(key, m) {
  return m == "" || m == 0 ? "" : sprintf(" ±%d%%", 50 * (value[key, count[key]] - value[key, 1]) / m + 0.5)
}

/^\{/ {
  row = field("name", 1) SUBSEP field("procs", 0)
  if (!(row in unit)) { rows[++n_rows] = row; unit[row] = field("unit", 1) }
  key = row SUBSEP field("peer", 1)
  value[key, ++count[key]] = field("median", 0)
}

END {
  printf "" > json
  print "# Leat beside its peers\n" > md
  print machine "; " versions "; " seconds " s" (quick == 1 ? "; **quick run: a first look, not a result**" : "") ".\n" > md
  print "Median over interleaved rounds, ± half the spread. Lower is better; a ratio above 1 means that Leat leads.\n" > md
  print "| workload | procs | unit | Leat | Go | Boost.Fiber | Go / Leat | Boost / Leat |" > md
  print "|---|---:|---|---:|---:|---:|---:|---:|" > md
  format = "%-16s %5s %-4s %10s %10s %10s %9s %11s\n"
  printf format, "workload", "procs", "unit", "leat", "go", "boost", "go/leat", "boost/leat"
  for (i = 1; i <= n_rows; i++) {
    row = rows[i]
    split(row, part, SUBSEP)
    l = median(row SUBSEP "leat"); g = median(row SUBSEP "go"); b = median(row SUBSEP "boost")
    printf format, part[1], part[2], unit[row], number(l), number(g), number(b), ratio(g, l), ratio(b, l)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], unit[row], \
      number(l) spread(row SUBSEP "leat", l), number(g) spread(row SUBSEP "go", g), \
      number(b) spread(row SUBSEP "boost", b), ratio(g, l), ratio(b, l) > md
    printf "{\"name\":\"%s\",\"procs\":%d,\"unit\":\"%s\",\"quick\":%s%s%s%s}\n", part[1], part[2], unit[row], \
      quick == 1 ? "true" : "false", cell_json("leat", row SUBSEP "leat", l), cell_json("go", row SUBSEP "go", g), \
      cell_json("boost", row SUBSEP "boost", b) > json
  }
}
