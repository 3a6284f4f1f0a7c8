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

# A picture of the ratios: a bar for each peer in each row, to a logarithmic scale; left of the line Leat loses.
function log10(v) { return log(v) / log(10) }
function chart_x(r) { return 190 + 520 * (log10(r < 0.1 ? 0.1 : r > 100 ? 100 : r) + 1) / 3 }
function bar(y, r, colour,   x0, x1) {
  x0 = chart_x(1); x1 = chart_x(r)
  printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"8\" fill=\"%s\"/>", (x1 < x0 ? x1 : x0), y, \
    (x1 < x0 ? x0 - x1 : x1 - x0) + 0.5, colour > svg
  printf "<text x=\"%.1f\" y=\"%d\">%.1f</text>\n", (x1 < x0 ? x0 : x1) + 4, y + 8, r > svg
}
function chart(   i, y, t, part, height) {
  height = 60 + 26 * n_rows
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" font-family=\"sans-serif\" font-size=\"10\">\n", height > svg
  printf "<rect width=\"760\" height=\"%d\" fill=\"white\"/>\n", height > svg
  print "<text x=\"8\" y=\"16\" font-size=\"13\">How many times as long as Leat</text>" > svg
  print "<rect x=\"300\" y=\"8\" width=\"8\" height=\"8\" fill=\"#00add8\"/><text x=\"312\" y=\"16\">Go</text>" > svg
  print "<rect x=\"340\" y=\"8\" width=\"8\" height=\"8\" fill=\"#b0762e\"/><text x=\"352\" y=\"16\">Boost.Fiber</text>" > svg
  for (t = 0.1; t < 101; t *= 10) {
    printf "<line x1=\"%.1f\" y1=\"34\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>", chart_x(t), chart_x(t), height - 8, \
      (t > 0.9 && t < 1.1 ? "black" : "#ccc") > svg
    printf "<text x=\"%.1f\" y=\"30\" text-anchor=\"middle\">%g</text>\n", chart_x(t), t > svg
  }
  for (i = 1; i <= n_rows; i++) {
    y = 42 + 26 * (i - 1)
    split(rows[i], part, SUBSEP)
    printf "<text x=\"182\" y=\"%d\" text-anchor=\"end\">%s, P = %s</text>\n", y + 12, part[1], part[2] > svg
    if (go_ratio[i]) bar(y, go_ratio[i], "#00add8")
    if (boost_ratio[i]) bar(y + 10, boost_ratio[i], "#b0762e")
  }
  print "</svg>" > svg
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
    if (l != "" && l > 0) {
      if (g != "") go_ratio[i] = g / l
      if (b != "") boost_ratio[i] = b / l
    }
    printf format, part[1], part[2], unit[row], number(l), number(g), number(b), ratio(g, l), ratio(b, l)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], unit[row], \
      number(l) spread(row SUBSEP "leat", l), number(g) spread(row SUBSEP "go", g), \
      number(b) spread(row SUBSEP "boost", b), ratio(g, l), ratio(b, l) > md
    printf "{\"name\":\"%s\",\"procs\":%d,\"unit\":\"%s\",\"quick\":%s%s%s%s}\n", part[1], part[2], unit[row], \
      quick == 1 ? "true" : "false", cell_json("leat", row SUBSEP "leat", l), cell_json("go", row SUBSEP "go", g), \
      cell_json("boost", row SUBSEP "boost", b) > json
  }
  chart()
}
