# SPDX-License-Identifier: BSL-1.0
# Lines of NAME PROCS BUILD FIGURE UNIT -> a table: what an operation takes, and what of it is a feature's. A time is the
# median over the rounds of what two builds differ by within a round; one that its spread does not set off from 0 is 0.

function sorted(v, n,   i, j, x) {
  for (i = 2; i <= n; i++) {
    x = v[i]
    for (j = i - 1; j >= 1 && v[j] > x; j--) v[j + 1] = v[j]
    v[j + 1] = x
  }
}
function middle(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
function typical(key,   i, n, v) {
  n = count[key]
  for (i = 1; i <= n; i++) v[i] = figure[key, i]
  sorted(v, n)
  return middle(v, n)
}
function number(v) { return sprintf(v < 100 ? "%.1f" : "%.0f", v) }
function difference(row, b, unit,   all, other, i, n, v, away, m, doubt) {
  all = row SUBSEP "all" SUBSEP unit; other = row SUBSEP b SUBSEP unit
  n = count[other] < count[all] ? count[other] : count[all]
  if (!n) return ""
  for (i = 1; i <= n; i++) v[i] = (figure[all, i] - figure[other, i]) * (b == "watched" ? -1 : 1)
  sorted(v, n)
  m = middle(v, n)
  if (unit == "instructions") return m <= 1 && m >= -1 ? "0" : sprintf("%d", m)  # sysmon runs now and then
  for (i = 1; i <= n; i++) away[i] = v[i] < m ? m - v[i] : v[i] - m
  sorted(away, n)
  doubt = 3.7 * middle(away, n) / sqrt(n)  # two standard errors of a median, from the median deviation
  if ((m < 0 ? -m : m) < (doubt > 0.1 ? doubt : 0.1)) return "0"
  return (m < 0 ? "-" : "") number(m < 0 ? -m : m)
}
function both(t, i) { return t (t == "" || i == "" ? "" : ", ") i }
{
  row = $1 SUBSEP $2
  if (!(row in seen)) { seen[row] = 1; rows[++n_rows] = row }
  key = row SUBSEP $3 SUBSEP $5
  figure[key, ++count[key]] = $4
}
END {
  n_features = split("counters events marks guards overrun watched", feature, " ")
  head = "| an operation of | P | takes"
  rule = "|---|---:|---:"
  for (f = 1; f <= n_features; f++) { head = head " | " feature[f]; rule = rule "|---:" }
  print head " |"
  print rule "|"
  for (r = 1; r <= n_rows; r++) {
    split(rows[r], part, SUBSEP)
    t = rows[r] SUBSEP "all" SUBSEP "ns"; c = rows[r] SUBSEP "all" SUBSEP "instructions"
    line = "| " part[1] " | " part[2] " | " both(count[t] ? number(typical(t)) : "", count[c] ? typical(c) : "")
    for (f = 1; f <= n_features; f++)
      line = line " | " both(difference(rows[r], feature[f], "ns"), difference(rows[r], feature[f], "instructions"))
    print line " |"
  }
}
