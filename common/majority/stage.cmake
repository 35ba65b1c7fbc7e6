# psflip_add_majority_stage(engine): the programs of one stage of the 2D model, from what all its stages share.
# `engine` is the library that defines make_simulation. Makes, in <build>/<stage folder>/:
#   majority            the program
#   majority_test       bits against stage 00, run by ctest on every platform and schedule
#   majority_benchmark  Google Benchmark
function(psflip_add_majority_stage engine)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME stage)
  foreach(program IN ITEMS majority majority_test majority_benchmark)
    # ...
  endforeach()
endfunction()
