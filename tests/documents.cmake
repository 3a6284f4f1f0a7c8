# The programs that documents and examples show are built and run.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md")
file(READ "${PROJECT_SOURCE_DIR}/README.md" leat_readme)
string(FIND "${leat_readme}" "```cpp\n" leat_begin)
if(leat_begin LESS 0)
  message(FATAL_ERROR "README.md shows no C++ program")
endif()
math(EXPR leat_begin "${leat_begin} + 7")
string(SUBSTRING "${leat_readme}" ${leat_begin} -1 leat_readme)
string(FIND "${leat_readme}" "```" leat_end)
string(SUBSTRING "${leat_readme}" 0 ${leat_end} leat_readme)
file(CONFIGURE OUTPUT readme.cpp CONTENT "${leat_readme}" @ONLY)

add_executable(readme-example "${CMAKE_CURRENT_BINARY_DIR}/readme.cpp")
target_link_libraries(readme-example PRIVATE leat::leat leat_build_flags)
# What the output must match, with status 0.
set(leat_expect bash "${CMAKE_CURRENT_LIST_DIR}/support/expect.sh")
add_test(NAME documents/readme COMMAND ${leat_expect} "5050 after 3 ticks" $<TARGET_FILE:readme-example>)
set_tests_properties(documents/readme PROPERTIES TIMEOUT 300)

# All C++ of docs/channels.md is one program, which checks what it shows.
set(leat_channels "${PROJECT_SOURCE_DIR}/docs/channels.md")
add_custom_command(OUTPUT channels.cpp
  COMMAND awk "/^```cpp$/ { on = 1; next } /^```/ { on = 0 } on" "${leat_channels}" > channels.cpp
  DEPENDS "${leat_channels}" COMMENT "Taking the code out of docs/channels.md" VERBATIM)
add_executable(channels-example "${CMAKE_CURRENT_BINARY_DIR}/channels.cpp")
target_link_libraries(channels-example PRIVATE leat::csp leat_build_flags leat_test_flags)
add_test(NAME documents/channels COMMAND channels-example)
set_tests_properties(documents/channels PROPERTIES TIMEOUT 300)

# All C++ of docs/recipes.md is one program, which runs each service of that page.
set(leat_recipes "${PROJECT_SOURCE_DIR}/docs/recipes.md")
add_custom_command(OUTPUT recipes.cpp
  COMMAND awk "/^```cpp$/ { on = 1; next } /^```/ { on = 0 } on" "${leat_recipes}" > recipes.cpp
  DEPENDS "${leat_recipes}" COMMENT "Taking the code out of docs/recipes.md" VERBATIM)
add_executable(recipes "${CMAKE_CURRENT_BINARY_DIR}/recipes.cpp")
target_link_libraries(recipes PRIVATE leat::services leat::process leat_build_flags leat_test_flags)
add_test(NAME documents/recipes COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/documents/run_services.sh"
  $<TARGET_FILE:recipes> "${leat_recipes}" "${CMAKE_CURRENT_BINARY_DIR}/recipes")
set_tests_properties(documents/recipes PROPERTIES TIMEOUT 300)

# The services of docs/expressions.md run with the program of stock classes.
if(TARGET leat-program)
  add_test(NAME documents/expressions COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/documents/run_services.sh"
    $<TARGET_FILE:leat-program> "${PROJECT_SOURCE_DIR}/docs/expressions.md" "${CMAKE_CURRENT_BINARY_DIR}/expressions")
  set_tests_properties(documents/expressions PROPERTIES TIMEOUT 300)
endif()

# The examples in the comments of public headers: header_examples.awk says which those are. To compile them is the test;
# warnings of names that nobody uses are not.
function(leat_header_examples name given)
  set(headers "")
  foreach(module IN LISTS ARGN)
    get_target_property(more leat_${module} HEADER_SET)
    list(APPEND headers ${more})
  endforeach()
  set(rule "${PROJECT_SOURCE_DIR}/tests/documents/header_examples.awk")
  add_custom_command(OUTPUT ${name}.cpp
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C awk -v given=${given} -f "${rule}" ${headers} > ${name}.cpp
    DEPENDS ${headers} "${rule}" COMMENT "Taking the examples out of headers: ${name}" VERBATIM)
  add_executable(${name} "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${name} PRIVATE -w)
  target_link_libraries(${name} PRIVATE leat::process leat_build_flags leat_test_flags)
  add_test(NAME documents/${name} COMMAND ${leat_expect} "^[1-9][0-9]* examples" $<TARGET_FILE:${name}>)
  set_tests_properties(documents/${name} PROPERTIES TIMEOUT 300)
endfunction()
leat_header_examples(header_examples documents/header_examples.hpp base fiber sched csp process expression)
target_link_libraries(header_examples PRIVATE leat::expression)
if(LEAT_ASIO_HAS_COROUTINES)
  leat_header_examples(header_examples_net net/header_examples.hpp net)
  target_link_libraries(header_examples_net PRIVATE leat::net)
endif()
if(TARGET leat::tls)
  leat_header_examples(header_examples_tls tls/header_examples.hpp tls)
  target_link_libraries(header_examples_tls PRIVATE leat::tls)
  # The program of docs/tls.md, with an authority that is made as that page says.
  set(leat_tls_document "${PROJECT_SOURCE_DIR}/docs/tls.md")
  add_custom_command(OUTPUT tls_document.cpp
    COMMAND awk "/^```cpp$/ { on = 1; next } /^```/ { on = 0 } on" "${leat_tls_document}" > tls_document.cpp
    DEPENDS "${leat_tls_document}" COMMENT "Taking the code out of docs/tls.md" VERBATIM)
  add_executable(tls-document "${CMAKE_CURRENT_BINARY_DIR}/tls_document.cpp")
  target_link_libraries(tls-document PRIVATE leat::tls leat::process leat_build_flags leat_test_flags)
  add_test(NAME documents/tls COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/documents/tls.sh"
    $<TARGET_FILE:tls-document> "${leat_tls_document}")
  set_tests_properties(documents/tls PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
# The lines with curl of docs/operating.md.
if(TARGET leat-program)
  add_test(NAME documents/operating COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/documents/operating.sh"
    $<TARGET_FILE:leat-program> "${PROJECT_SOURCE_DIR}/docs/operating.md")
  set_tests_properties(documents/operating PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
add_test(NAME documents/header_examples-can-fail
  COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/documents/header_examples_test.sh" "${CMAKE_CXX_COMPILER}")
set_tests_properties(documents/header_examples-can-fail PROPERTIES TIMEOUT 300)

if(TARGET first)
  add_test(NAME examples/first COMMAND ${leat_expect} "tick 10.*the reader says 42.*retaken [1-9]" $<TARGET_FILE:first>)
  set_tests_properties(examples/first PROPERTIES TIMEOUT 300)
endif()
function(leat_example name expected)
  if(NOT TARGET ${name})
    return()
  endif()
  add_test(NAME examples/${name} COMMAND ${leat_expect} "${expected}" $<TARGET_FILE:${name}> run
    "${PROJECT_SOURCE_DIR}/examples/${name}/${name}.toml")
  set_tests_properties(examples/${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "USER=reader")
endfunction()
leat_example(hello "1: hello, reader.*3: hello, reader.*sent 3 = received 3 \\+ dropped 0 \\+ left 0")
leat_example(pipeline "sum of 200000: 19999900000.0.*scaled -> sum +sent 200000 = received 200000 \\+ dropped 0 \\+ left 0")
leat_example(rule-book
  "boiler: .\"alarm\":true,\"text\":\"too hot\".*pump: .\"alarm\":false,\"text\":\"fine\".*sump: no verdict, failed.*has no field.*pump: .\"alarm\":true,\"text\":\"too high\"")
if(TARGET rule-book)
  add_test(NAME examples/rule-book-test COMMAND rule-book-test)
  set_tests_properties(examples/rule-book-test PROPERTIES TIMEOUT 300)
endif()

get_property(leat_document_tests DIRECTORY PROPERTY TESTS)
list(FILTER leat_document_tests INCLUDE REGEX "^(documents|examples)/")
leat_gate_plain(${leat_document_tests})
