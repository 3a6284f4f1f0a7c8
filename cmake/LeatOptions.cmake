# How Leat's own code is compiled. Nothing here reaches a consumer, except the stack probes that
# leat::fiber exports on purpose (see framework/CMakeLists.txt).

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endif()

find_program(LEAT_CCACHE ccache)
if(LEAT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache refuses precompiled headers unless told that no file depends on what it cannot see in them. Paths below
  # the source folder are told to the compiler as relative ones, so that one clone can use what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER bash "${PROJECT_SOURCE_DIR}/cmake/clang_ccache.sh")
    # It writes the time into what it precompiles, and each build would be another.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "${LEAT_CCACHE}")
endif()

option(LEAT_UNITY "Compile several files of a module as one: faster, where it is done in one go" OFF)

# A compiler newer than ours warns of more, and that must not end a user's build.
set(leat_werror ${LEAT_WERROR})
if(LEAT_WERROR STREQUAL "KNOWN")
  set(leat_werror OFF)
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
     OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 20))
    set(leat_werror ON)
  endif()
endif()

# Where several files are compiled as one, a local name may well be that of another file: there GCC looks at local ones only.
set(leat_shadow -Wshadow)
if(LEAT_UNITY)
  set(leat_shadow "")
  if(NOT LEAT_SANITIZE)
    set(leat_shadow "$<IF:$<BOOL:$<TARGET_PROPERTY:LEAT_JOINED>>,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>")
  endif()
endif()

add_library(leat_build_flags INTERFACE)
target_compile_options(leat_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion
  ${leat_shadow}
  $<$<BOOL:${leat_werror}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # A parked G is shown by walking its frames, so they are kept in every build.
  -fno-omit-frame-pointer)
if(LEAT_SANITIZE)
  # No part of "undefined", although machines differ in what they make of it.
  if("undefined" IN_LIST LEAT_SANITIZE)
    list(APPEND LEAT_SANITIZE float-cast-overflow)
  endif()
  string(REPLACE ";" "," leat_sanitize_csv "${LEAT_SANITIZE}")
  target_compile_options(leat_build_flags INTERFACE -fsanitize=${leat_sanitize_csv} -fno-sanitize-recover=all)
  target_link_options(leat_build_flags INTERFACE -fsanitize=${leat_sanitize_csv})
  # A third of what GCC takes goes into the checks of pointers. Beside AddressSanitizer, which sees most of that, they are left
  # out; the preset `ubsan` has them.
  if("address" IN_LIST LEAT_SANITIZE AND "undefined" IN_LIST LEAT_SANITIZE)
    target_compile_options(leat_build_flags INTERFACE
      $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,vptr,object-size,nonnull-attribute,returns-nonnull-attribute>
      $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=alignment,pointer-overflow>)
  endif()
  # GCC's instrumentation makes it warn about standard headers (<regex>, <functional>) that are right.
  target_compile_options(leat_build_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# Clang's sanitizers are static libraries of a hundred megabytes in each program: GNU's linker takes 1.5 s for one, this one 0.3.
# AddressSanitizer is there as a shared one too. So nobody is stopped inside its allocator (sched/quarantine.hpp).
if(LEAT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  if("address" IN_LIST LEAT_SANITIZE)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -fsanitize=address -shared-libsan "-###" -x c++ /dev/null
      ERROR_VARIABLE leat_clang_links OUTPUT_QUIET)
    if(leat_clang_links MATCHES "\"([^\"]*)/libclang_rt\\.asan[^/\"]*\\.so\"")
      target_link_options(leat_build_flags INTERFACE -shared-libsan "LINKER:-rpath,${CMAKE_MATCH_1}")
    endif()
  endif()
  find_program(LEAT_LLD ld.lld)
  mark_as_advanced(LEAT_LLD)
  if(LEAT_LLD)
    target_link_options(leat_build_flags INTERFACE -fuse-ld=lld)
  endif()
endif()

# Frames larger than the guard page must not step over it. GCC on AArch64 assumes a 64 KiB guard
# unless told that ours is one page; Clang 14 has the option on x86 only.
include(CheckCXXCompilerFlag)
set(CMAKE_REQUIRED_FLAGS -Werror)
check_cxx_compiler_flag(-fstack-clash-protection LEAT_HAS_STACK_CLASH)
check_cxx_compiler_flag("--param=stack-clash-protection-guard-size=12" LEAT_HAS_STACK_CLASH_GUARD)
unset(CMAKE_REQUIRED_FLAGS)
# They are exported, and a user may have another compiler than the one asked here.
set(LEAT_STACK_PROBES "")
if(LEAT_HAS_STACK_CLASH)
  list(APPEND LEAT_STACK_PROBES "$<$<CXX_COMPILER_ID:${CMAKE_CXX_COMPILER_ID}>:-fstack-clash-protection>")
  if(LEAT_HAS_STACK_CLASH_GUARD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND LEAT_STACK_PROBES
      "$<$<CXX_COMPILER_ID:GNU>:--param=stack-clash-protection-guard-size=12>")
  endif()
endif()

# Lock order, link states and all other LEAT_DCHECKs, in optimised builds too.
set(leat_debug_checks_default OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR LEAT_SANITIZE)
  set(leat_debug_checks_default ON)
endif()
option(LEAT_DEBUG_CHECKS "Compile the debug checks in" ${leat_debug_checks_default})
if(LEAT_DEBUG_CHECKS)
  target_compile_definitions(leat_build_flags INTERFACE LEAT_DEBUG_CHECKS=1)
endif()
