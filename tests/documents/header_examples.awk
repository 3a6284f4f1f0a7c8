# SPDX-License-Identifier: BSL-1.0
#
# awk -v given=FILE -f header_examples.awk HEADER...: the examples in the comments of these headers, as one C++ source.
#
# An example is a block of comment lines that are indented by three spaces or more, if leat:: or LEAT_ occurs in it. So
# every such block must compile; a table does without these words. In an example
#
#   ...                               stands for anything: a statement, or what is between braces
#   class, struct, int main, LEAT_X   as the first word: it stands at namespace scope
#   {this, ...}                       anywhere in another one: it stands in a class of a process
#   neither                           it stands in a function
#
# What an example takes for granted is in the file `given`. The compiler's messages name the header and its line.

function flush(    i, first, scope, text) {
  if (count && wanted) {
    first = lines[1]
    scope = first ~ /^ *(class|struct|int main|LEAT_)/ ? "namespace" : member ? "class" : "function"
    examples++
    text = "namespace given::example_" examples " {\n"
    if (scope == "class") text = text "class example : public leat::process {\n  void run() override {}\n"
    if (scope == "function") text = text "[[maybe_unused]] void example() {\n"
    text = text "#line " start " \"" file "\"\n"
    for (i = 1; i <= count; ++i) text = text lines[i] "\n"
    if (scope == "class") text = text "};\n"
    if (scope == "function") text = text "}\n"
    code = code text "}\n"
    used[file] = 1
  }
  count = wanted = member = 0
}

FNR == 1 {
  flush()
  file = FILENAME
  files[++file_count] = file
}
/^ *\/\/   +[^ ]/ {
  if (!count) start = FNR
  line = $0
  sub(/^ *\/\//, "", line)
  if (line ~ /leat::|LEAT_[A-Z]/) wanted = 1
  if (line ~ /\{this,/) member = 1
  gsub(/\{\.\.\.\}/, "{}", line)
  gsub(/ \.\.\./, " {}", line)
  lines[++count] = line
  next
}
{ flush() }
END {
  flush()
  for (i = 1; i <= file_count; ++i) {
    if (!(files[i] in used)) continue
    name = files[i]
    sub(/.*\/leat\//, "leat/", name)
    print "#include <" name ">"
  }
  print "#include \"" given "\""
  print code
  print "#line 1 \"header_examples.awk\""
  print "#include <cstdio>"
  print "int main() { std::puts(\"" examples " examples\"); }"
}
