# SPDX-License-Identifier: BSL-1.0
# Lines of NAME PROCS BUILD FIGURE UNIT -> a table: what an operation takes, and what of it is a feature's. Times are the
# least over the rounds: what comes on top of it is the machine's. One that lies within the noise is said to be 0.
function least(key) { return low[key] }
# Half of what separates the quickest third of the rounds: the least of two builds differ by that much without a cause.
function noise(key,   n, i, j, v, s) {
  n = count[key]
  for (i = 1; i <= n; i++) {
    v = all[key, i]
    for (j = i - 1; j >= 1 && s[j] > v; j--) s[j + 1] = s[j]
    s[j + 1] = v
  }
  return s[int((n + 2) / 3)] - s[1]
}
function number(v) { return sprintf(v < 100 ? "%.1f" : "%.0f", v) }
function difference(row, b, unit,   a, w, d, within) {
  a = row SUBSEP "all" SUBSEP unit; w = row SUBSEP b SUBSEP unit
  if (!(w in low)) return ""
  d = b == "guarded" ? low[w] - low[a] : low[a] - low[w]
  if (unit == "instructions") return sprintf("%d", d)
  within = noise(a) > noise(w) ? noise(a) : noise(w)
  if (d < within && -d < within) return "0"
  return (d < 0 ? "-" : "") number(d < 0 ? -d : d)
}
function cell(row, b,   t, i) {
  t = difference(row, b, "ns"); i = difference(row, b, "instructions")
  return t (i == "" ? "" : (t == "" ? "" : ", ") i)
}
{
  row = $1 SUBSEP $2
  if (!(row in seen)) { seen[row] = 1; rows[++n_rows] = row }
  key = row SUBSEP $3 SUBSEP $5
  all[key, ++count[key]] = $4
  if (!(key in low) || $4 < low[key]) low[key] = $4
}
END {
  n = split("counters events marks guards overrun", feature, " ")
  head = "| an operation of | P | takes"
  rule = "|---|---:|---:"
  for (f = 1; f <= n; f++) { head = head " | " feature[f]; rule = rule "|---:" }
  print head " | watched |"
  print rule "|---:|"
  for (i = 1; i <= n_rows; i++) {
    split(rows[i], part, SUBSEP)
    t = rows[i] SUBSEP "all" SUBSEP "ns"; c = rows[i] SUBSEP "all" SUBSEP "instructions"
    line = "| " part[1] " | " part[2] " | " (t in low ? number(low[t]) : "") (c in low ? (t in low ? ", " : "") low[c] : "")
    for (f = 1; f <= n; f++) line = line " | " cell(rows[i], feature[f])
    print line " | " cell(rows[i], "guarded") " |"
  }
}
