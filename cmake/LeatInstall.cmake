# Headers, libraries, find_package(leat) and pkg-config. Every path in the installed files is
# relative to the file itself, so a prefix may be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(leat_modules GLOBAL PROPERTY LEAT_MODULES)
set(leat_targets ${leat_modules})
list(TRANSFORM leat_targets PREPEND leat_)
set(leat_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leat")

# As in the build: see framework/CMakeLists.txt.
target_include_directories(leat_base PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/leat/base/system>")
target_include_directories(leat_net PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/leat/net/system>")
install(TARGETS ${leat_targets} leat leat_plugin leat_host EXPORT leatTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT leatTargets NAMESPACE leat:: DESTINATION "${leat_cmake_dir}")

if(BUILD_SHARED_LIBS)
  set(leat_static OFF)
else()
  set(leat_static ON)
endif()
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/leatConfig.cmake.in" "${PROJECT_BINARY_DIR}/leatConfig.cmake"
  INSTALL_DESTINATION "${leat_cmake_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break users, as its SOVERSION says.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/leatConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/leatConfig.cmake"
  "${PROJECT_BINARY_DIR}/leatConfigVersion.cmake"
  DESTINATION "${leat_cmake_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/services/leat/leat.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/config/boards" DESTINATION "${CMAKE_INSTALL_DATADIR}/leat"
  FILES_MATCHING PATTERN "*.toml")

# Programs have it inside; for those who do not let gdb load it from there.
install(FILES framework/leat/sched/leat-gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/leat")

# As they lie here, so that the links from one to another hold.
install(FILES README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY config/boards DESTINATION "${CMAKE_INSTALL_DOCDIR}/config")

# A user who links the highest module first needs the reverse of the order of declaration.
set(leat_pc_libs ${leat_modules})
list(REVERSE leat_pc_libs)
list(TRANSFORM leat_pc_libs PREPEND "-lleat_")
list(JOIN leat_pc_libs " " leat_pc_libs)
# Static archives do not record what they need. With no shared ones to choose, plain
# `pkg-config --libs leat` must be enough, so there it stands in Libs.
set(leat_pc_libs_private "-lboost_context -pthread")
if(LEAT_WITH_SQLITE)
  string(PREPEND leat_pc_libs_private "-lsqlite3 ")
endif()
if(LEAT_WITH_TLS)
  string(PREPEND leat_pc_libs_private "-lssl -lcrypto ")
endif()
if(leat_static)
  string(APPEND leat_pc_libs " ${leat_pc_libs_private}")
  set(leat_pc_libs_private "")
endif()
file(RELATIVE_PATH leat_pc_prefix
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" leat_pc_prefix "${leat_pc_prefix}")

# What the modules ask of their users' compiler (stack probes, definitions), the same as CMake
# passes on. GENERATE, because these may be generator expressions.
set(leat_pc_cflags "$<JOIN:$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:leat,INTERFACE_COMPILE_OPTIONS>>, >")
set(leat_pc_defines "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:leat,INTERFACE_COMPILE_DEFINITIONS>>")
set(leat_pc_defines "$<$<BOOL:${leat_pc_defines}>:-D$<JOIN:${leat_pc_defines}, -D>>")
configure_file("${CMAKE_CURRENT_LIST_DIR}/leat.pc.in" "${PROJECT_BINARY_DIR}/leat.pc.gen" @ONLY)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/leat.pc" INPUT "${PROJECT_BINARY_DIR}/leat.pc.gen")
install(FILES "${PROJECT_BINARY_DIR}/leat.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
