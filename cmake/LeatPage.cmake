# leat_page(TARGET HEADER NAMESPACE FOLDER HTML CSS SCRIPTS...): a source file of TARGET with one page made of these files
# of FOLDER: the style and, in the order given, the scripts are put into its empty elements, so that a server needs one
# answer for it. HEADER declares NAMESPACE::X() for the page and NAMESPACE::X_policy() for the Content-Security-Policy
# that lets nothing run but this style and this script, by their hashes; X is the name of HEADER.
#
# This file is also the script that makes the source, again whenever a text changes.
if(CMAKE_SCRIPT_MODE_FILE)
  # SHA-256 as policies write it: base 64 of the bytes.
  function(base64_hash text result)
    string(SHA256 hex "${text}")
    set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    string(APPEND hex 00)  # 33 bytes: the last letter is a filler
    set(out "")
    foreach(at RANGE 0 60 6)
      string(SUBSTRING "${hex}" ${at} 6 group)
      foreach(shift IN ITEMS 18 12 6 0)
        math(EXPR index "(0x${group} >> ${shift}) & 63")
        string(SUBSTRING "${letters}" ${index} 1 letter)
        string(APPEND out "${letter}")
      endforeach()
    endforeach()
    string(SUBSTRING "${out}" 0 43 out)
    set(${result} "${out}=" PARENT_SCOPE)
  endfunction()

  file(READ "${FOLDER}/${HTML}" page)
  file(READ "${FOLDER}/${CSS}" style)
  set(script "'use strict';\n")
  foreach(name IN LISTS SCRIPTS)
    file(READ "${FOLDER}/${name}" text)
    string(APPEND script "${text}")
  endforeach()
  base64_hash("${style}" style_hash)
  base64_hash("${script}" script_hash)
  string(REPLACE "<style></style>" "<style>${style}</style>" page "${page}")
  string(REPLACE "<script></script>" "<script>${script}</script>" page "${page}")
  foreach(part IN ITEMS "<style>${style}</style>" "<script>${script}</script>")
    string(FIND "${page}" "${part}" found)
    if(found LESS 0)
      message(FATAL_ERROR "${HTML} has no empty element for the style or the script")
    endif()
  endforeach()
  # In pieces: compilers need not take longer ones.
  set(pieces "")
  string(LENGTH "${page}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${page}" ${at} 15000 piece)
    string(FIND "${piece}" ")page\"" ends)
    if(NOT ends LESS 0)
      message(FATAL_ERROR "the page has the mark that ends its text")
    endif()
    string(APPEND pieces "    text += R\"page(${piece})page\";\n")
    math(EXPR at "${at} + 15000")
  endwhile()
  file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: BSL-1.0
#include <${HEADER}>

#include <string>

namespace ${NAMESPACE} {

std::string_view ${NAME}() {
  static const std::string page = [] {
    std::string text;
${pieces}    return text;
  }();
  return page;
}

std::string_view ${NAME}_policy() {
  return \"default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; \"
         \"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \"
         \"require-trusted-types-for 'script'\";
}

}  // namespace ${NAMESPACE}
")
  return()
endif()

set(LEAT_PAGE_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
function(leat_page target header namespace folder html css)
  get_filename_component(name "${header}" NAME_WE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  set(inputs ${html} ${css} ${ARGN})
  list(TRANSFORM inputs PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DHEADER=${header}" "-DNAMESPACE=${namespace}" "-DNAME=${name}" "-DHTML=${html}"
      "-DCSS=${css}" "-DSCRIPTS=${ARGN}" "-DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "-DOUTPUT=${output}"
      -P "${LEAT_PAGE_SCRIPT}"
    DEPENDS ${inputs} "${LEAT_PAGE_SCRIPT}"
    COMMENT "Making ${folder}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
