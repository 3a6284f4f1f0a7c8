# Bench builds that leave out a safety feature, to see what it costs: framework/leat/base/safety.hpp says what each name
# removes, tests/bench/cost builds and measures them. Such a build has no tests and no install rules.
set(LEAT_WITHOUT "" CACHE STRING "For benchmarks only: leave out counters, events, marks, guards, overrun (a list)")
set(leat_features counters events marks guards overrun)
foreach(feature IN LISTS LEAT_WITHOUT)
  if(NOT feature IN_LIST leat_features)
    message(FATAL_ERROR "LEAT_WITHOUT: there is no '${feature}'; it may list: ${leat_features}")
  endif()
endforeach()
if(LEAT_WITHOUT)
  message(WARNING "LEAT_WITHOUT: a bench build without ${LEAT_WITHOUT}; never use its programs for anything else")
  if("guards" IN_LIST LEAT_WITHOUT)
    set(LEAT_STACK_PROBES "")
  endif()
endif()

# leat_without(TARGET): whoever uses it must see the same, since much of it is inlined.
function(leat_without target)
  if(LEAT_WITHOUT)
    string(REPLACE ";" "," names "${LEAT_WITHOUT}")
    target_compile_definitions(${target} PUBLIC "LEAT_WITHOUT=\"${names}\"")
  endif()
endfunction()
