# SPDX-License-Identifier: BSL-1.0
# report.json (a row a line, as summary.awk writes it) -> a table on stdout, Markdown, a picture, and the page.

function after(line, key,   at) {
  at = index(line, "\"" key "\":")
  return at ? substr(line, at + length(key) + 3) : ""
}
function word(line, key,   rest) {
  rest = after(line, key)
  if (rest == "") return ""
  sub(/^"/, "", rest)
  match(rest, /([^"\\]|\\.)*"/)
  rest = substr(rest, 1, RLENGTH - 1)
  gsub(/\\"/, "\"", rest); gsub(/\\\\/, "\\", rest)
  return rest
}
function figure(line, key,   rest) {
  rest = after(line, key)
  match(rest, /^[-+0-9.eE]+/)
  return rest == "" ? "" : substr(rest, 1, RLENGTH) + 0
}
function number(v) { return v == "" ? "-" : sprintf(v < 10 ? "%.2f" : v < 1000 ? "%.1f" : "%.0f", v) }
function ratio(a, b) { return a == "" || b == "" || b == 0 ? "-" : sprintf("%.2f", a / b) }
function spread(i, peer,   m) {
  m = median[i, peer]
  return m == "" || m == 0 ? "" : sprintf(" ±%d%%", 50 * (high[i, peer] - low[i, peer]) / m + 0.5)
}
function cell(i, peer) { return number(median[i, peer]) spread(i, peer) }
# Thousands of requests a second.
function rate(i, peer,   m) {
  m = median[i, peer]
  return m == "" ? "-" : sprintf("%.0fk", 1e6 / m) spread(i, peer)
}
function goal_text(i) {
  return goal[i] == "" ? "" : (goal_peer[i] == "" ? "" : peer_name[goal_peer[i]] " x ") goal[i]
}
function leads(i, peer) { return median[i, "leat"] == "" || median[i, peer] == "" ? "" : median[i, peer] / median[i, "leat"] }
function misses_goal(i) {
  if (goal[i] == "" || median[i, "leat"] == "") return 0
  return goal_peer[i] == "" ? median[i, "leat"] > goal[i] : leads(i, goal_peer[i]) != "" && leads(i, goal_peer[i]) < goal[i]
}
function mark(i) { return goal[i] == "" || median[i, "leat"] == "" ? "" : misses_goal(i) ? " (missed)" : " (met)" }

function tables(to,   i) {
  print "| workload | P | unit | Leat | least | goal | Go | Boost.Fiber | to Go | to Boost |" > to
  print "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|" > to
  for (i = 1; i <= n; i++) {
    if (tcp[i]) continue
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name[i], procs[i], unit[i], cell(i, "leat"), \
      number(low[i, "leat"]), goal_text(i) mark(i), cell(i, "go"), cell(i, "boost"), ratio(median[i, "go"], median[i, "leat"]), \
      ratio(median[i, "boost"], median[i, "leat"]) > to
  }
  if (!any_tcp) return
  print "\nTCP, 64 connections with a request of 64 bytes each, in thousands of requests a second; p99 in us.\n" > to
  print "| server | P | Leat | goal | Go | raw epoll | Asio | to Go | to epoll | to Asio |" > to
  print "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|" > to
  for (i = 1; i <= n; i++) {
    if (!tcp[i]) continue
    printf "| %s | %s", name[i], procs[i] > to
    if (unit[i] == "us") printf " | %s | | %s | %s | %s", cell(i, "leat"), cell(i, "go"), cell(i, "epoll"), cell(i, "asio") > to
    else printf " | %s | %s | %s | %s | %s", rate(i, "leat"), goal_text(i) mark(i), rate(i, "go"), rate(i, "epoll"), rate(i, "asio") > to
    printf " | %s | %s | %s |\n", ratio(median[i, "go"], median[i, "leat"]), ratio(median[i, "epoll"], median[i, "leat"]), \
      ratio(median[i, "asio"], median[i, "leat"]) > to
  }
}
function explain(to) {
  print "Medians over rounds in which Leat and its peers take turns, ± half the spread between the least and the most. Lower is" > to
  print "better, but for requests a second; \"to Go\" is how many times as fast as Go Leat is: above 1 it leads. Goals are for the" > to
  print "median. \"least\" is Leat's best round: on a machine that is shared, what lies between the two is others' doing as a rule.\n" > to
}

# notes.txt: a paragraph under `## NAME [NAME...]`; what comes before the first is the page's own introduction.
function read_notes(   line, part, k, i, comment) {
  k = 0
  while ((getline line < notes) > 0) {
    if (line ~ /^<!--/) comment = 1
    if (comment) {
      comment = line !~ /-->$/
      continue
    }
    if (line ~ /^## /) {
      k = split(substr(line, 4), part, " ")
      continue
    }
    if (!k) { intro = intro line "\n"; continue }
    if (line != "") for (i = 1; i <= k; i++) note[part[i]] = note[part[i]] (note[part[i]] == "" ? "" : " ") line
  }
}
function add_loss(what, i, peer) {
  if (leads(i, peer) == "" || leads(i, peer) >= 0.95) return what
  return what (what == "" ? "" : ", ") peer_name[peer] " " number(median[i, peer])
}
# Rows that the same note is about stand together.
function losses(to,   i, k, what, base, said, why, rows_of, n_notes, order) {
  for (i = 1; i <= n; i++) {
    what = misses_goal(i) ? "the goal is " goal_text(i) : ""
    what = add_loss(add_loss(add_loss(add_loss(what, i, "go"), i, "boost"), i, "epoll"), i, "asio")
    if (what == "") continue
    base = name[i]
    sub(/\..*/, "", base)
    why = note[name[i]] != "" ? note[name[i]] : note[base]
    if (why == "") {
      print "report: notes.txt says nothing of " name[i] ", which loses: P = " procs[i] ", " what > "/dev/stderr"
      why = "Nothing is said of it yet."
    }
    if (!(why in rows_of)) order[++n_notes] = why
    rows_of[why] = rows_of[why] (rows_of[why] == "" ? "" : "; ") "**" name[i] "** P = " procs[i] ": " \
      number(median[i, "leat"]) " " unit[i] " (" what ")"
  }
  for (k = 1; k <= n_notes; k++) print "- " rows_of[order[k]] ". " order[k] > to
  if (!n_notes) print "None in this run." > to
}

/^"[a-z]+":"/ { split($0, part, "\""); about[part[2]] = word($0, part[2]) }
/^"seconds":/ { seconds = figure($0, "seconds") }
/^"quick":true/ { quick = 1 }
/^"interrupted":true/ { interrupted = 1 }
/^\{"name":/ {
  n++
  name[n] = word($0, "name"); procs[n] = figure($0, "procs"); unit[n] = word($0, "unit")
  goal[n] = figure($0, "goal"); goal_peer[n] = word($0, "goal_peer")
  tcp[n] = name[n] ~ /^tcp_/
  any_tcp = any_tcp || tcp[n]
  for (p in peer_name) {
    rest = after($0, p)
    if (rest == "") continue
    median[n, p] = figure(rest, "median"); low[n, p] = figure(rest, "min"); high[n, p] = figure(rest, "max")
  }
}
BEGIN {
  peer_name["leat"] = "Leat"; peer_name["go"] = "Go"; peer_name["boost"] = "Boost.Fiber"
  peer_name["epoll"] = "epoll"; peer_name["asio"] = "Asio"
}
END {
  warning = (quick ? "; **quick run: a first look, not a result**" : "") (interrupted ? "; **interrupted**" : "")
  machine = about["machine"] ", " about["kernel"]
  versions = "Leat " about["leat"] " (" about["commit"] "), Go " about["go"] ", Boost.Fiber " about["boost"] ", Asio " \
    about["asio"] ", " about["compiler"]

  format = "%-18s %5s %-5s %10s %10s %10s %10s %10s %9s %9s %9s\n"
  printf format, "workload", "procs", "unit", "leat", "go", "boost", "epoll", "asio", "to go", "to boost", "to epoll"
  for (i = 1; i <= n; i++)
    printf format, name[i], procs[i], unit[i], number(median[i, "leat"]), number(median[i, "go"]), number(median[i, "boost"]), \
      number(median[i, "epoll"]), number(median[i, "asio"]), ratio(median[i, "go"], median[i, "leat"]), \
      ratio(median[i, "boost"], median[i, "leat"]), ratio(median[i, "epoll"], median[i, "leat"])

  print "# Leat beside its peers\n" > md
  print machine "; " versions "; load " about["load"] "; " seconds " s" warning ".\n" > md
  explain(md)
  tables(md)
  chart(svg)
  if (page != "") {
    if (quick || interrupted) print "report: this page is made of a run that was " (quick ? "quick" : "interrupted") > "/dev/stderr"
    read_notes()
    print "<!-- Made by tests/bench/peers/report from build/bench/report.json; the prose is in tests/bench/peers/notes.txt. -->" > page
    print "# Benchmarks\n" > page
    printf "%s", intro > page
    print "| | |\n|---|---|" > page
    print "| machine | " machine " |" > page
    print "| versions | " versions " |" > page
    print "| command | `" about["command"] "`, " seconds " s" warning " |" > page
    print "| date, load | " about["date"] ", " about["load"] " |\n" > page
    explain(page)
    tables(page)
    picture = page_svg
    sub(/.*\//, "", picture)
    print "\n![How many times as fast as Go, to a logarithmic scale](" picture ")\n" > page
    print "## What Leat loses\n" > page
    print "Each row above that misses its goal, or in which a peer is faster by more than a twentieth, and what bounds it.\n" > page
    losses(page)
    chart(page_svg)
  }
}
