# leat_module(NAME SOURCES ... HEADERS ... [DEPENDS leat::x ...] [LINK_PRIVATE lib ...])
#
# One library per module: target leat_NAME, alias leat::NAME. HEADERS are the public ones; they are
# installed under include/leat/NAME and each must compile on its own. Which module may include which
# is data in cmake/layers.txt, checked by cmake/check_layers.sh. Modules are declared lowest first:
# the reverse of that order is the link order that leat.pc gives.
function(leat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPENDS;LINK_PRIVATE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "leat_module(${name}): unknown words: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(leat_${name})
  add_library(leat::${name} ALIAS leat_${name})
  target_sources(leat_${name}
    PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}" FILES ${arg_HEADERS})
  target_compile_features(leat_${name} PUBLIC cxx_std_20)
  target_link_libraries(leat_${name}
    PUBLIC ${arg_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:leat_build_flags> ${arg_LINK_PRIVATE})
  set_target_properties(leat_${name} PROPERTIES
    EXPORT_NAME ${name}
    INSTALL_RPATH "\$ORIGIN"
    VERIFY_INTERFACE_HEADER_SETS ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set_property(GLOBAL APPEND PROPERTY LEAT_MODULES ${name})
endfunction()

# leat::leat, every module at once.
function(leat_umbrella)
  get_property(modules GLOBAL PROPERTY LEAT_MODULES)
  list(TRANSFORM modules PREPEND leat_)
  add_library(leat INTERFACE)
  add_library(leat::leat ALIAS leat)
  target_link_libraries(leat INTERFACE ${modules})
endfunction()

# leat_test(NAME SOURCES ... [LINK leat::x ...] [LABELS ...] [TIMEOUT seconds] [ONE_THREAD])
#
# A doctest program tests/NAME; its main and time limit come from tests/support. The label `slow`
# keeps it out of `./dev test --fast`. TIMEOUT is for a plain build; a sanitized one gets four times
# as long. ONE_THREAD: ThreadSanitizer has nothing to find in it, and it is not built there.
function(leat_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "leat_test(${name}): unknown words: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_ONE_THREAD AND "thread" IN_LIST LEAT_SANITIZE)
    return()
  endif()
  string(REPLACE "/" "-" target "test-${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE leat_test_support ${arg_LINK} leat_build_flags)
  # Compiling the tests takes most of the time of a whole run. Lines are enough for their back-traces; what UBSan
  # is told to leave out of their own code, a crash would show as well; and only those of templates whose speed
  # or interleavings matter are optimized in full.
  target_compile_options(${target} PRIVATE -g1)
  if("undefined" IN_LIST LEAT_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,vptr,object-size,nonnull-attribute,returns-nonnull-attribute>)
  endif()
  if(NOT name MATCHES "^(fiber|sched|csp)/" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -O1)
  endif()
  add_test(NAME ${name} COMMAND ${target})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(LEAT_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
