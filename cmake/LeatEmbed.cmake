# leat_embed(TARGET HEADER NAMESPACE FOLDER FILES...): a source file of TARGET with the texts of these files of FOLDER,
# in the order given, as NAMESPACE::embedded_files(), which HEADER declares. A first comment about Leat's license is left
# out: the texts become somebody else's.
#
# This file is also the script that makes the source, again whenever a text changes.
if(CMAKE_SCRIPT_MODE_FILE)
  set(out "// SPDX-License-Identifier: BSL-1.0\n#include <${HEADER}>\n\nnamespace ${NAMESPACE} {\n\n")
  string(APPEND out "const std::vector<embedded_file>& embedded_files() {\n")
  string(APPEND out "  static const std::vector<embedded_file> all{\n")
  foreach(name IN LISTS FILES)
    file(READ "${FOLDER}/${name}" text)
    string(REGEX REPLACE "^// SPDX-License-Identifier: [^\n]*\n(//\n)?" "" text "${text}")
    string(FIND "${text}" ")embedded\"" ends)
    if(NOT ends LESS 0)
      message(FATAL_ERROR "${name} has the mark that ends its text")
    endif()
    string(APPEND out "      {\"${name}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  string(APPEND out "  };\n  return all;\n}\n\n}  // namespace ${NAMESPACE}\n")
  file(WRITE "${OUTPUT}" "${out}")
  return()
endif()

set(LEAT_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
function(leat_embed target header namespace folder)
  get_filename_component(stem "${header}" NAME_WE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${stem}_files.cpp")
  set(inputs ${ARGN})
  list(TRANSFORM inputs PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DHEADER=${header}" "-DNAMESPACE=${namespace}" "-DFILES=${ARGN}"
      "-DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "-DOUTPUT=${output}" -P "${LEAT_EMBED_SCRIPT}"
    DEPENDS ${inputs} "${LEAT_EMBED_SCRIPT}"
    COMMENT "Embedding ${folder}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
