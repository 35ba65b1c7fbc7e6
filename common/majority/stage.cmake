# psflip_add_majority_stage(engine [REFERENCE] [TEST file ...]): the programs of one stage of the 2D model, from what all
# its stages share. `engine` is the library that defines make_simulation. Makes, in <build>/<stage folder>/:
#   majority            the program
#   majority_test       bits against stage 00, run by ctest on every platform and schedule; TEST adds the stage's own
#   majority_benchmark  Google Benchmark
# REFERENCE marks stage 00, whose engine is the plain loop (namespace psflip::reference).
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(psflip_add_majority_stage engine)
  cmake_parse_arguments(PARSE_ARGV 1 arg "REFERENCE" "" "TEST")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME stage)
  set(shared ${PSFLIP_ROOT}/common/majority)
  psflip_add_majority_reference()

  # Objects, not an archive: they and psflip_majority call each other.
  add_library(${stage}_platforms OBJECT ${shared}/platforms.cpp)
  target_link_libraries(${stage}_platforms PUBLIC psflip_majority ${engine})
  target_compile_definitions(${stage}_platforms PUBLIC PSFLIP_STAGE="${stage}" PSFLIP_HAS_REFERENCE=$<BOOL:${arg_REFERENCE}>)
  if(arg_REFERENCE)
    target_compile_definitions(${stage}_platforms PUBLIC PSFLIP_HAS_GPU=0 PSFLIP_HAS_CPU=0)
  else()
    target_link_libraries(${stage}_platforms PUBLIC psflip_device)
  endif()

  add_executable(${stage}_majority ${shared}/main.cpp)
  add_executable(${stage}_majority_test ${shared}/test.cpp ${arg_TEST})
  add_executable(${stage}_majority_benchmark ${shared}/benchmark.cpp)
  foreach(program IN ITEMS majority majority_test majority_benchmark)
    set_target_properties(${stage}_${program} PROPERTIES OUTPUT_NAME ${program}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${stage})
    target_link_libraries(${stage}_${program} PRIVATE ${stage}_platforms)
  endforeach()
  target_link_libraries(${stage}_majority_test PRIVATE majority_reference GTest::gmock)
  target_link_libraries(${stage}_majority_benchmark PRIVATE benchmark::benchmark)

  if(arg_REFERENCE)
    add_test(NAME ${stage}.reference COMMAND ${stage}_majority_test)
  elseif(PSFLIP_HAS_CPU)
    foreach(schedule IN ITEMS forward reversed shuffled)
      add_test(NAME ${stage}.cpu.${schedule} COMMAND ${stage}_majority_test --gtest_filter=*/cpu)
      set_tests_properties(${stage}.cpu.${schedule} PROPERTIES ENVIRONMENT PSFLIP_SCHEDULE=${schedule})
    endforeach()
  endif()
  if(PSFLIP_HAS_GPU AND NOT arg_REFERENCE)
    add_test(NAME ${stage}.gpu COMMAND ${stage}_majority_test --gtest_filter=*/gpu)
    set_tests_properties(${stage}.gpu PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu)  # 77: there is no GPU here
  endif()
  add_test(NAME ${stage}.program
           COMMAND ${Python3_EXECUTABLE} ${shared}/program_test.py $<TARGET_FILE:${stage}_majority>)
endfunction()

# Stage 00's engine, which every stage is tested against. Made here because a stage can be built without stage 00.
function(psflip_add_majority_reference)
  if(NOT TARGET majority_reference)
    add_library(majority_reference STATIC ${PSFLIP_ROOT}/00_cpu_reference/majority.cpp)
    target_include_directories(majority_reference PUBLIC ${PSFLIP_ROOT}/common)
  endif()
endfunction()
