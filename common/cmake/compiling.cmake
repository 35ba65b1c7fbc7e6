# Compile time.

# ccache, where it is there. Precompiled headers need two liberties of it, and that they are not preprocessed away.
find_program(PSFLIP_CCACHE ccache)
mark_as_advanced(PSFLIP_CCACHE)
if(PSFLIP_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
          ${PSFLIP_CCACHE})
    endif()
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# psflip_compile_soon(target ...): what runs no longer for being optimised less, since it only surrounds what is timed
# (options, files, reports) or checks it (tests), is compiled sooner.
set(PSFLIP_SOON -O1 CACHE STRING "How a release optimises what only surrounds or checks what is timed")
mark_as_advanced(PSFLIP_SOON)
function(psflip_compile_soon)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${PSFLIP_SOON}>)
  endforeach()
endfunction()

# psflip_add_test_program(name [COMPUTES] source ...): a program of tests, compiled soon and with Google Test's headers
# compiled once; never as one with CMAKE_UNITY_BUILD, for test files have the same names. COMPUTES: it works for seconds
# by itself, so that it is worth optimising like the rest.
function(psflip_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES" "" "")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(NOT arg_COMPUTES)
    psflip_compile_soon(${name})
    target_precompile_headers(${name} REUSE_FROM psflip_test_main)
  endif()
endfunction()
