# SPDX-License-Identifier: BSL-1.0
# A picture of the ratios, for report.awk: how many times as fast as Go each is, to a logarithmic scale.

function log10(v) { return log(v) / log(10) }
function chart_x(r) { return 190 + 500 * (log10(r < 0.1 ? 0.1 : r > 100 ? 100 : r) + 1) / 3 }
function bar(to, y, r, colour,   x0, x1) {
  x0 = chart_x(1); x1 = chart_x(r)
  printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"7\" fill=\"%s\"/>", (x1 < x0 ? x1 : x0), y, \
    (x1 < x0 ? x0 - x1 : x1 - x0) + 0.5, colour > to
  printf "<text x=\"%.1f\" y=\"%d\">%s</text>\n", (x1 < x0 ? x0 : x1) + 4, y + 7, number(r) > to
}
function key(to, x, colour, text) {
  printf "<rect x=\"%d\" y=\"8\" width=\"8\" height=\"8\" fill=\"%s\"/><text x=\"%d\" y=\"16\">%s</text>\n", x, colour, x + 12, text > to
}
function chart(to,   i, k, y, t, height, colour, order, m) {
  m = split("leat boost epoll asio", order, " ")
  colour["leat"] = "#2a6f4e"; colour["boost"] = "#b0762e"; colour["epoll"] = "#7a7a7a"; colour["asio"] = "#8e6bbf"
  height = 44
  for (i = 1; i <= n; i++) {
    if (median[i, "go"] == "") continue
    for (k = 1; k <= m; k++) if (median[i, order[k]] != "") height += 9
    height += 7
  }
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" font-family=\"sans-serif\" font-size=\"9\">\n", height > to
  printf "<rect width=\"760\" height=\"%d\" fill=\"white\"/>\n", height > to
  print "<text x=\"8\" y=\"16\" font-size=\"13\">How many times as fast as Go</text>" > to
  key(to, 300, colour["leat"], "Leat"); key(to, 350, colour["boost"], "Boost.Fiber")
  key(to, 430, colour["epoll"], "raw epoll"); key(to, 500, colour["asio"], "Asio")
  for (t = 0.1; t < 101; t *= 10) {
    printf "<line x1=\"%.1f\" y1=\"34\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>", chart_x(t), chart_x(t), height - 8, \
      (t > 0.9 && t < 1.1 ? "black" : "#ccc") > to
    printf "<text x=\"%.1f\" y=\"30\" text-anchor=\"middle\">%g</text>\n", chart_x(t), t > to
  }
  y = 40
  for (i = 1; i <= n; i++) {
    if (median[i, "go"] == "") continue
    printf "<text x=\"182\" y=\"%d\" text-anchor=\"end\">%s, P = %s</text>\n", y + 8, name[i], procs[i] > to
    for (k = 1; k <= m; k++) {
      if (median[i, order[k]] == "") continue
      bar(to, y, median[i, "go"] / median[i, order[k]], colour[order[k]])
      y += 9
    }
    y += 7
  }
  print "</svg>" > to
}
