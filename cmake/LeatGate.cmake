# Which tests `./dev test` runs in which build: its share. The rest of the combinations is what `./dev soak` and
# `./dev asan`, `./dev tsan` run.
#
#   ThreadSanitizer        fiber, sched, net, and csp but for what is about values: where threads meet
#   AddressSanitizer       all but sched and net, whose code csp and services run as well; of these two, what has one thread;
#                          of csp what is about values; not the examples, which are services as others are
#   plain, as users get it fiber, of sched and csp what has cases for it (stress tests, quick ways, crashes), and what
#                          neither sanitizer has
#
# AddressSanitizer's build is Clang's, where there is one: without optimization, in two thirds of the time that GCC takes; and
# so each landing is compiled by both compilers.
#
# Leaks are looked for in the programs that hold a folder's tests together (leat_tests_together): at the end of each of the
# hundreds of others that takes four seconds on AArch64. `./dev soak` and `./dev asan` look in all of them.
#
# The target `gate` builds the tests of the share, `every-test` all of them. Those beyond it have the label `beyond`, and
# are no part of `all`.
add_custom_target(gate)
add_custom_target(every-test)

set(LEAT_GATE_NOT_ASAN sched csp net examples)
set(LEAT_GATE_TSAN fiber sched csp net)
set(LEAT_GATE_PLAIN fiber sched csp)

# leat_in_gate(RESULT NAME NO_ASAN ONE_THREAD VALUES RELEASE)
function(leat_in_gate result name no_asan one_thread values release)
  string(REGEX MATCH "^[^/]+" folder ${name})
  set(asan ON)
  if(no_asan OR (folder IN_LIST LEAT_GATE_NOT_ASAN AND NOT one_thread AND NOT values))
    set(asan OFF)
  endif()
  set(tsan OFF)
  if(NOT one_thread AND NOT values AND folder IN_LIST LEAT_GATE_TSAN)
    set(tsan ON)
  endif()
  set(in OFF)
  if("address" IN_LIST LEAT_SANITIZE)
    set(in ${asan})
  elseif("thread" IN_LIST LEAT_SANITIZE)
    set(in ${tsan})
  elseif(LEAT_SANITIZE)
    set(in OFF)
  elseif((folder IN_LIST LEAT_GATE_PLAIN AND release) OR NOT (asan OR tsan))
    set(in ON)
  endif()
  set(${result} ${in} PARENT_SCOPE)
endfunction()

# leat_gate_target(TARGET IN_GATE): what a test needs to be built.
function(leat_gate_target target in_gate)
  add_dependencies(every-test ${target})
  if(in_gate)
    add_dependencies(gate ${target})
  else()
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# leat_gate_plain(TEST...): programs that are no tests of ours; the share has them in the plain build alone.
function(leat_gate_plain)
  if(LEAT_SANITIZE)
    set_property(TEST ${ARGN} APPEND PROPERTY LABELS beyond)
  endif()
endfunction()
