# Fuzz targets: parsers under inputs that nobody thought of.
#
# psflip_add_fuzz_target(name source CORPUS folder ... LINK library ...): the program <build>/fuzz/<name> from a source
# with LLVMFuzzerTestOneInput (fuzz/target.hpp). In the preset fuzz, clang's libFuzzer makes inputs from those in the
# folders (.ci/fuzz). In every build of the whole tree the test fuzz.<name> runs those that are there.
add_custom_target(fuzz_targets)

function(psflip_add_fuzz_target name source)
  if(NOT PSFLIP_COMMON_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "CORPUS;LINK")
  list(TRANSFORM arg_CORPUS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_executable(fuzz_${name} ${source})
  psflip_compile_soon(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LINK} psflip_fuzz)
  add_dependencies(fuzz_targets fuzz_${name})
  set(once "")
  if(PSFLIP_SANITIZE MATCHES fuzzer)
    set(once -runs=0)
  endif()
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${once} ${arg_CORPUS})
  list(JOIN arg_CORPUS "\n" folders)
  file(WRITE ${CMAKE_BINARY_DIR}/fuzz/${name}.corpus "${folders}\n")  # for .ci/fuzz
endfunction()
