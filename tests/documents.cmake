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
add_test(NAME documents/readme COMMAND readme-example)
set_tests_properties(documents/readme PROPERTIES TIMEOUT 300 PASS_REGULAR_EXPRESSION "5050 after 3 ticks")

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

if(TARGET first)
  add_test(NAME examples/first COMMAND first)
  set_tests_properties(examples/first PROPERTIES TIMEOUT 300 PASS_REGULAR_EXPRESSION "tick 10.*the reader says 42.*retaken [1-9]")
endif()
foreach(name IN ITEMS hello pipeline)
  if(TARGET ${name})
    add_test(NAME examples/${name} COMMAND ${name} run "${PROJECT_SOURCE_DIR}/examples/${name}/${name}.toml")
    set_tests_properties(examples/${name} PROPERTIES TIMEOUT 300)
  endif()
endforeach()
if(TARGET hello)
  set_tests_properties(examples/hello PROPERTIES ENVIRONMENT "USER=reader"
    PASS_REGULAR_EXPRESSION "1: hello, reader.*3: hello, reader.*sent 3 = received 3 \\+ dropped 0 \\+ left 0")
endif()
if(TARGET pipeline)
  set_tests_properties(examples/pipeline PROPERTIES
    PASS_REGULAR_EXPRESSION "sum of 200000: 19999900000.0.*scaled -> sum +sent 200000 = received 200000 \\+ dropped 0 \\+ left 0")
endif()
