# leat_module(NAME SOURCES ... [HEADERS ...] [INTERNAL ...] [ALONE ...] [DEPENDS leat::x ...] [LINK_PRIVATE lib ...])
#
# One library per module: target leat_NAME, alias leat::NAME. HEADERS are the public ones, which are installed under
# include/leat/NAME; INTERNAL ones are for other modules and stay at home, as do those that are named nowhere. Each of both kinds
# must compile on its own. Which module may include which is data in cmake/layers.txt, checked by cmake/check_layers.sh.
# Modules are declared lowest first: the reverse of that order is the link order that leat.pc gives.
#
# With LEAT_UNITY several files of a module are compiled as one. Then what they define for themselves has names that no
# other file of the module has, or the file stands under ALONE as well: so does one with flags of its own.
function(leat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;INTERNAL;ALONE;DEPENDS;LINK_PRIVATE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "leat_module(${name}): unknown words: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(leat_${name})
  add_library(leat::${name} ALIAS leat_${name})
  set(sources ${arg_SOURCES})
  set_target_properties(leat_${name} PROPERTIES LEAT_SOURCES "${arg_SOURCES}")
  if(LEAT_UNITY)
    leat_joined(sources ${name} "${arg_ALONE}")
    set_target_properties(leat_${name} PROPERTIES LEAT_JOINED ON)
  endif()
  target_sources(leat_${name} PRIVATE ${sources})
  if(arg_HEADERS)
    target_sources(leat_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}" FILES ${arg_HEADERS})
  endif()
  leat_headers_alone(${name} ${arg_HEADERS} ${arg_INTERNAL})
  target_include_directories(leat_${name} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>")
  target_compile_features(leat_${name} PUBLIC cxx_std_20)
  target_link_libraries(leat_${name}
    PUBLIC ${arg_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:leat_build_flags> ${arg_LINK_PRIVATE})
  set_target_properties(leat_${name} PROPERTIES
    EXPORT_NAME ${name}
    INSTALL_RPATH "\$ORIGIN"
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set_property(GLOBAL APPEND PROPERTY LEAT_MODULES ${name})
endfunction()

# leat_joined(VARIABLE NAME ALONE): in the place of the sources in it, files that include eight of them each; 32 in sanitized builds,
# which are not optimized: there most of the time goes into headers, and a third of it is saved. CMake's own have the whole path of
# each in them, and ccache takes them for others in another clone.
function(leat_joined variable name alone)
  set(at_once 8)
  if(LEAT_SANITIZE)
    set(at_once 32)
  endif()
  set(result ${alone})
  set(rest ${${variable}})
  list(REMOVE_ITEM rest ${alone})
  set(n 0)
  set(text "")
  foreach(source IN LISTS rest)
    string(APPEND text "#include \"${source}\"\n")
    math(EXPR n "${n} + 1")
    math(EXPR place "${n} % ${at_once}")
    list(LENGTH rest size)
    if(place EQUAL 0 OR n EQUAL size)
      set(file "${CMAKE_CURRENT_BINARY_DIR}/joined/${name}_${n}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
      list(APPEND result "${file}")
      set(text "")
    endif()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# leat_headers_alone(NAME HEADERS...): the target `headers` compiles a file for each of them that includes nothing else. The standard
# library is precompiled, which makes it three times as fast and hides what a header lacks of it: that is what
# cmake/check_includes.sh looks for.
function(leat_headers_alone name)
  if(LEAT_SANITIZE OR NOT ARGN OR NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  if(NOT TARGET headers)
    add_custom_target(headers)
  endif()
  set(sources "")
  foreach(header IN LISTS ARGN)
    if(header MATCHES "\\.hpp$")
      string(REPLACE "/" "_" source "${header}")
      set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${source}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n" @ONLY)
      list(APPEND sources "${source}")
    endif()
  endforeach()
  add_library(leat_${name}_headers OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(leat_${name}_headers PRIVATE leat_${name} leat_build_flags)
  target_compile_options(leat_${name}_headers PRIVATE -O0 -g0)
  set_target_properties(leat_${name}_headers PROPERTIES CXX_COMPILER_LAUNCHER "")  # a cache takes longer
  add_dependencies(headers leat_${name}_headers)
  get_property(maker GLOBAL PROPERTY LEAT_HEADERS_PCH)
  if(maker)
    target_precompile_headers(leat_${name}_headers REUSE_FROM ${maker})
    return()
  endif()
  set_property(GLOBAL PROPERTY LEAT_HEADERS_PCH leat_${name}_headers)
  set(standard algorithm array atomic bit charconv chrono cmath compare concepts csignal cstddef cstdint cstdio cstdlib cstring
    deque exception filesystem fstream functional iterator limits list map memory mutex new optional set span sstream stdexcept
    string string_view system_error thread tuple type_traits unordered_map unordered_set utility variant vector)
  list(TRANSFORM standard REPLACE ".+" "<\\0>")
  target_precompile_headers(leat_${name}_headers PRIVATE ${standard})
endfunction()

# leat::leat, every module at once.
function(leat_umbrella)
  get_property(modules GLOBAL PROPERTY LEAT_MODULES)
  list(TRANSFORM modules PREPEND leat_)
  add_library(leat INTERFACE)
  add_library(leat::leat ALIAS leat)
  target_link_libraries(leat INTERFACE ${modules})
endfunction()

# leat::plugin, for a shared object with process classes (add_library(NAME MODULE ...)), and leat::host, for a program
# that loads such. There must be one Leat in a program. As static libraries it is in the program alone: all of it,
# exported, and a plug-in gets headers and flags only, and finds the rest when it is loaded. As shared libraries it is
# in these, and both link them.
function(leat_plugin_targets)
  add_library(leat_plugin INTERFACE)
  add_library(leat::plugin ALIAS leat_plugin)
  add_library(leat_host INTERFACE)
  add_library(leat::host ALIAS leat_host)
  set_target_properties(leat_plugin PROPERTIES EXPORT_NAME plugin)
  set_target_properties(leat_host PROPERTIES EXPORT_NAME host)
  target_link_libraries(leat_host INTERFACE leat)
  if(BUILD_SHARED_LIBS)
    target_link_libraries(leat_plugin INTERFACE leat)
    return()
  endif()
  target_compile_features(leat_plugin INTERFACE cxx_std_20)
  target_include_directories(leat_plugin INTERFACE "$<TARGET_PROPERTY:leat,INTERFACE_INCLUDE_DIRECTORIES>")
  target_compile_options(leat_plugin INTERFACE "$<TARGET_PROPERTY:leat,INTERFACE_COMPILE_OPTIONS>")
  target_compile_definitions(leat_plugin INTERFACE "$<TARGET_PROPERTY:leat,INTERFACE_COMPILE_DEFINITIONS>")
  get_property(modules GLOBAL PROPERTY LEAT_MODULES)
  # Whoever wants the stock processes says so.
  list(REMOVE_ITEM modules stock)
  list(TRANSFORM modules REPLACE ".+" "$<TARGET_FILE:leat::\\0>")
  target_link_options(leat_host INTERFACE -rdynamic LINKER:--whole-archive ${modules} LINKER:--no-whole-archive)
endfunction()

# Compiling the tests takes most of the time of a whole run. Lines are enough for their back-traces; and only those of
# templates whose speed or interleavings matter (OPTIMIZED) are optimized in full, and in plain builds.
add_library(leat_test_flags INTERFACE)
target_compile_options(leat_test_flags INTERFACE -g1)

# What takes the least time to compile, with the headers that there are. Clang has no -Og of its own.
set(LEAT_TEST_OPTIMIZATION $<IF:$<CXX_COMPILER_ID:GNU>,-Og,-O1>)
if("address" IN_LIST LEAT_SANITIZE)
  set(LEAT_TEST_OPTIMIZATION $<IF:$<CXX_COMPILER_ID:GNU>,-Og,-O0>)
endif()

# Tests of these folders drive the product from outside, which is where faults are looked for: they themselves are not
# instrumented, and take 40 % less time to compile. What headers find out about the build they must find as it is.
set(LEAT_TESTS_FROM_OUTSIDE config remote services control store stock plugins fuzz)
add_library(leat_test_from_outside INTERFACE)
if("address" IN_LIST LEAT_SANITIZE)
  target_compile_options(leat_test_from_outside INTERFACE -fno-sanitize=all -D__SANITIZE_ADDRESS__=1)
endif()

# leat_test(NAME SOURCES ... [LINK leat::x ...] [LABELS ...] [TIMEOUT seconds] [ONE_THREAD] [NO_ASAN] [TOGETHER]
#           [PLAIN] [VALUES] [SERIAL] [LONG] [OPTIMIZED] [RELEASE] [SOAK_CASES])
#
# A doctest program tests/NAME; its main and time limit come from tests/support. The label `slow`
# keeps it out of `./dev test --fast`. TIMEOUT is for a plain build; a sanitized one gets four times
# as long. ONE_THREAD: ThreadSanitizer has nothing to find in it, and it is not built there.
# NO_ASAN: it measures, or reads texts; AddressSanitizer and UBSan have nothing more to find, and it is not built there.
# PLAIN: both of these.
# VALUES: it is about what comes out, not about threads that meet: `./dev test` leaves ThreadSanitizer to others.
# TOGETHER: it may share a process with others of its folder (see leat_tests_together).
# SERIAL: it measures, and ctest runs nothing beside it in plain builds.
# LONG: it takes more than some seconds, and is among the first to begin.
# OPTIMIZED: a stress test or a measurement, compiled as programs are. The others take half the time to compile.
# RELEASE: it has cases for the build that users get, with no sanitizer and no debug checks. So has what is OPTIMIZED.
# SOAK_CASES: it has cases of the suite `soak` (support/soak.hpp). They are a test of their own, NAME/soak.
#
# The label `soak` is for what measures, sweeps or takes long: `./dev test` leaves it out, `./dev soak` runs it.
function(leat_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD;NO_ASAN;PLAIN;VALUES;TOGETHER;SERIAL;LONG;OPTIMIZED;RELEASE;SOAK_CASES"
    "TIMEOUT" "SOURCES;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "leat_test(${name}): unknown words: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_PLAIN)
    set(arg_ONE_THREAD ON)
    set(arg_NO_ASAN ON)
  endif()
  if((arg_ONE_THREAD AND "thread" IN_LIST LEAT_SANITIZE) OR (arg_NO_ASAN AND "address" IN_LIST LEAT_SANITIZE))
    return()
  endif()
  string(REPLACE "/" "-" target "test-${name}")
  if(name MATCHES "^fiber/")
    set(arg_OPTIMIZED ON)  # what the optimizer does across a switch is their subject
  endif()
  if(arg_OPTIMIZED)
    set(arg_RELEASE ON)
  endif()
  leat_in_gate(in_gate ${name} ${arg_NO_ASAN} ${arg_ONE_THREAD} ${arg_VALUES} ${arg_RELEASE})
  if("soak" IN_LIST arg_LABELS)
    set(in_gate OFF)
  elseif(NOT in_gate)
    list(APPEND arg_LABELS beyond)
  endif()
  if(LEAT_SANITIZE)
    set(arg_OPTIMIZED OFF)
  endif()
  string(REGEX MATCH "^[^/]+" folder ${name})
  if(NOT "address" IN_LIST LEAT_SANITIZE OR (in_gate AND folder IN_LIST LEAT_GATE_NOT_ASAN))
    set(arg_TOGETHER OFF)
  endif()
  if(arg_TOGETHER)
    # -fPIE, as programs are compiled, which share a precompiled header with it.
    add_library(${target} OBJECT ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF COMPILE_OPTIONS -fPIE)
    get_filename_component(folder ${name} DIRECTORY)
    set_property(GLOBAL APPEND PROPERTY LEAT_TOGETHER_${folder} ${target})
    list(APPEND arg_LABELS alone)
    set(command tests-${folder} "--source-file=*/${folder}/${arg_SOURCES}")
  else()
    add_executable(${target} ${arg_SOURCES})
    set(command ${target})
  endif()
  add_test(NAME ${name} COMMAND ${command})
  leat_gate_target(${target} ${in_gate})
  target_link_libraries(${target} PRIVATE leat_test_support ${arg_LINK} leat_build_flags leat_test_flags)
  set(from_outside OFF)
  if(folder IN_LIST LEAT_TESTS_FROM_OUTSIDE AND "address" IN_LIST LEAT_SANITIZE)
    target_link_libraries(${target} PRIVATE leat_test_from_outside)
    set(from_outside ON)
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT arg_OPTIMIZED)
    target_compile_options(${target} PRIVATE ${LEAT_TEST_OPTIMIZATION})
  endif()
  leat_test_precompiled(${target} ${name} "${arg_LINK}" "${arg_OPTIMIZED}" ${from_outside})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(LEAT_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  if(arg_LONG)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(arg_SERIAL AND NOT LEAT_SANITIZE)
    # First: later it would wait until the last of the others has ended.
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON COST 10000)
  endif()
  if(arg_SOAK_CASES)
    get_test_property(${name} TIMEOUT timeout)
    add_test(NAME ${name}/soak COMMAND ${command})
    set_tests_properties(${name}/soak PROPERTIES LABELS soak ENVIRONMENT LEAT_SOAK=1 RUN_SERIAL ON TIMEOUT ${timeout})
  endif()
endfunction()

# leat_tests_together(FOLDER): the search for leaks takes four seconds of each process on AArch64, more than most tests
# take. So a whole run under AddressSanitizer has the tests of a folder in one process, FOLDER/together; each by itself,
# labelled `alone`, is the same program told to run one file, for running it by name. `./dev` leaves one or the other out; ctest
# by itself runs both. What such a test file defines must be in an unnamed namespace, or have a name that no other file of the
# folder has.
function(leat_tests_together folder)
  get_property(targets GLOBAL PROPERTY LEAT_TOGETHER_${folder})
  if(NOT targets)
    return()
  endif()
  set(objects ${targets})
  list(TRANSFORM objects REPLACE ".+" "$<TARGET_OBJECTS:\\0>")
  add_executable(tests-${folder} ${objects})
  leat_in_gate(in_gate ${folder}/together OFF OFF OFF OFF)
  leat_gate_target(tests-${folder} ${in_gate})
  set(labels together)
  if(NOT in_gate)
    list(APPEND labels beyond)
  endif()
  foreach(target IN LISTS targets)
    target_link_libraries(tests-${folder} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  endforeach()
  add_test(NAME ${folder}/together COMMAND tests-${folder})
  set_tests_properties(${folder}/together PROPERTIES TIMEOUT 2400 LABELS "${labels}" COST 1000
    ENVIRONMENT LSAN_OPTIONS=detect_leaks=1)
endfunction()

# Tests with the same flags share a precompiled header: those of sched and csp, those of net, and the rest. The first
# test makes it. Leat's own headers are in it in sanitized builds alone: the compiler gives no warnings about precompiled ones,
# and a test that includes too little would not be found.
option(LEAT_TEST_PCH "Precompile the headers that most tests include" ON)
function(leat_test_precompiled target name module optimized from_outside)
  if(NOT LEAT_TEST_PCH)
    return()
  endif()
  if(module MATCHES "^leat::(sched|csp|net)$")
    string(REPLACE csp sched kind ${module})
  elseif(name MATCHES "^fiber/")
    return()  # flags of their own, and few
  else()
    set(kind others)
  endif()
  if(optimized)
    string(APPEND kind _optimized)
  endif()
  if(from_outside)
    string(APPEND kind _from_outside)
  endif()
  get_property(maker GLOBAL PROPERTY LEAT_TEST_PCH_${kind})
  if(maker)
    target_precompile_headers(${target} REUSE_FROM ${maker})
    return()
  endif()
  set(makes ${target})
  if(from_outside)
    # The first of these has definitions of its own.
    set(makes leat_test_precompiled_from_outside)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/tests/precompiled.cpp" CONTENT "")
    add_library(${makes} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/tests/precompiled.cpp")
    set_target_properties(${makes} PROPERTIES POSITION_INDEPENDENT_CODE OFF COMPILE_OPTIONS "-fPIE;${LEAT_TEST_OPTIMIZATION}")
    target_link_libraries(${makes} PRIVATE leat_test_support leat::base leat_build_flags leat_test_flags leat_test_from_outside)
  endif()
  set_property(GLOBAL PROPERTY LEAT_TEST_PCH_${kind} ${makes})
  set(headers doctest/doctest.h algorithm atomic chrono condition_variable cstdio cstdlib deque functional map memory
    mutex optional random stdexcept string thread tuple variant vector)
  if(module STREQUAL "leat::net")
    list(APPEND headers asio/io_context.hpp asio/ip/tcp.hpp asio/steady_timer.hpp)
  elseif(kind MATCHES "^others")
    list(APPEND headers filesystem fstream set sstream)
  endif()
  if(LEAT_SANITIZE)
    list(APPEND headers leat/leat.hpp)
  endif()
  list(TRANSFORM headers REPLACE ".+" "<\\0>")
  target_precompile_headers(${makes} PRIVATE ${headers})
  if(NOT makes STREQUAL target)
    target_precompile_headers(${target} REUSE_FROM ${makes})
  endif()
endfunction()
