# psflip_add_stage(model engine [REFERENCE] [START objects] [TEST file ...]): the programs of one stage, from what all
# stages of a model share (common/<model>). `engine` is the library that defines make_simulation. A folder within a stage
# may call it, too, for an engine of its own. Makes, in <build>/<the folder>/:
#   <model>            the program, majority or spin_glass
#   <model>_test       bits against the reference, run by ctest on every platform and schedule; TEST adds the stage's own
#   <model>_benchmark  Google Benchmark
#   <model>_far        indices beyond int, where the model has far.cpp; built when wanted
#   <model>_counted    the program on the CPU path, recording what kernels do to memory; built when wanted
# REFERENCE marks the stage whose engine is the plain loop (namespace psflip::reference). START is an object library with
# the stage's own psflip::start (app/start.hpp), which only the 3D model's programs call.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(psflip_add_stage model engine)
  cmake_parse_arguments(PARSE_ARGV 2 arg "REFERENCE" "START" "TEST")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PSFLIP_ROOT} OUTPUT_VARIABLE folder)
  string(REPLACE / _ stage ${folder})
  if(NOT TARGET psflip_${model})
    add_subdirectory(${PSFLIP_ROOT}/common/${model} ${CMAKE_BINARY_DIR}/common/${model})
  endif()
  get_target_property(platforms_source psflip_${model} PSFLIP_PLATFORMS)
  get_target_property(program_test psflip_${model} PSFLIP_PROGRAM_TEST)

  # Objects, not an archive: they and what they are linked with call each other.
  set(platforms ${stage}_${model}_platforms)
  add_library(${platforms} OBJECT ${platforms_source})
  target_link_libraries(${platforms} PUBLIC psflip_${model} psflip_platforms ${engine})
  target_compile_definitions(${platforms} PUBLIC PSFLIP_STAGE="${folder}")
  if(arg_REFERENCE)
    target_compile_definitions(${platforms} PUBLIC PSFLIP_HAS_GPU=0 PSFLIP_HAS_CPU=0)
  else()
    target_link_libraries(${platforms} PUBLIC psflip_device)
  endif()

  add_executable(${stage}_${model})
  psflip_add_test_program(${stage}_${model}_test ${arg_TEST})
  add_executable(${stage}_${model}_benchmark)
  foreach(program IN ITEMS ${model} ${model}_test ${model}_benchmark)
    set_target_properties(${stage}_${program} PROPERTIES OUTPUT_NAME ${program}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
    target_link_libraries(${stage}_${program} PRIVATE ${platforms} ${arg_START} psflip_start)
  endforeach()
  target_link_libraries(${stage}_${model} PRIVATE psflip_${model}_program)
  target_link_libraries(${stage}_${model}_test PRIVATE psflip_${model}_test)
  target_link_libraries(${stage}_${model}_benchmark PRIVATE psflip_${model}_benchmark)

  if(TARGET psflip_${model}_far AND NOT arg_REFERENCE)
    add_executable(${stage}_${model}_far EXCLUDE_FROM_ALL)
    set_target_properties(${stage}_${model}_far PROPERTIES OUTPUT_NAME ${model}_far
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
    target_link_libraries(${stage}_${model}_far PRIVATE ${platforms} psflip_${model}_far)
  endif()
  if(TARGET ${engine}_counted)
    add_library(${platforms}_counted OBJECT EXCLUDE_FROM_ALL ${platforms_source})
    target_link_libraries(${platforms}_counted PUBLIC psflip_${model} psflip_platforms psflip_device_cpu ${engine}_counted)
    target_compile_definitions(${platforms}_counted PUBLIC PSFLIP_STAGE="${folder}" PSFLIP_HAS_GPU=0 PSFLIP_HAS_CPU=1)
    add_executable(${stage}_${model}_counted EXCLUDE_FROM_ALL)
    set_target_properties(${stage}_${model}_counted PROPERTIES OUTPUT_NAME ${model}_counted
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
    target_link_libraries(${stage}_${model}_counted PRIVATE ${platforms}_counted ${arg_START} psflip_start
                          psflip_${model}_program)
  endif()

  set(spared "")
  if(PSFLIP_SANITIZE MATCHES thread)  # minutes for averages, which show no race that the comparison of bits does not
    set(spared "-*Physics*:*VeryManySamples*:*VeryLarge*")
  endif()
  if(arg_REFERENCE)
    add_test(NAME ${stage}.${model} COMMAND ${stage}_${model}_test --gtest_filter=*${spared})
    set_tests_properties(${stage}.${model} PROPERTIES COST 8)
  else()
    set(physics *Physics*)
    if(model STREQUAL spin_glass AND NOT PSFLIP_SANITIZE)  # averages, which the bits that are compared determine
      set(physics LAB *Physics*)
    endif()
    psflip_add_platform_tests(${stage}.${model} ${stage}_${model}_test */cpu${spared} */gpu
                              COST 8 ONCE *VeryMany* *VeryLarge* *ManyAwkward* *ObservesAsTheHostDoes* ${physics})
  endif()
  # Whoever starts its programs in its own way tests them in its own way, and a room's program is its stage's but for bits.
  if(NOT arg_START AND stage STREQUAL folder)
    set(command ${Python3_EXECUTABLE} ${program_test} $<TARGET_FILE:${stage}_${model}>)
    set(without "")
    if(model STREQUAL spin_glass)
      set(without --but LongRuns)
      add_test(NAME ${stage}.${model}_program.long_runs COMMAND ${command} LongRuns)
      set_tests_properties(${stage}.${model}_program.long_runs PROPERTIES LABELS thorough COST 5)
    endif()
    add_test(NAME ${stage}.${model}_program COMMAND ${command} ${without})
  endif()
endfunction()

# psflip_add_platform_tests(name program on_cpu on_gpu [LAUNCHER command ...] [SCHEDULES schedule ...]
#                           [ENVIRONMENT variable=value ...] [PROCESSORS number] [COST seconds] [THOROUGH]
#                           [ONCE pattern ...] [LAB pattern ...]):
# <name>.cpu.<schedule> for each schedule, and <name>.gpu, as far as this build has the platforms. on_cpu and on_gpu are
# Google Test filters; an empty one: no such test. LAUNCHER is what the program is started by, mpirun -n 2 say, and
# PROCESSORS how many it keeps busy. SCHEDULES are all three unless some are named. ONCE are patterns of tests that take
# long and say little about the order of threads: on the CPU they are in the last schedule only, the one that
# common/test --quick runs. LAB are those that the CPU runs in .ci/lab only, as <name>.cpu.lab.
#
# What common/test --quick leaves out has the label thorough: schedules but the last, and all if THOROUGH is given. What
# common/test leaves out, too, is of the configuration Lab, which `common/test --lab` asks for, and has the label lab.
# COST is a guess in seconds: ctest begins with the longest.
function(psflip_add_platform_tests name program on_cpu on_gpu)
  cmake_parse_arguments(PARSE_ARGV 4 arg "THOROUGH" "PROCESSORS;COST" "LAUNCHER;SCHEDULES;ENVIRONMENT;ONCE;LAB")
  if(NOT arg_SCHEDULES)
    set(arg_SCHEDULES forward reversed shuffled)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  if(NOT arg_COST)
    set(arg_COST 3)
  endif()
  set(command ${arg_LAUNCHER} $<TARGET_FILE:${program}>)
  if(PSFLIP_HAS_CPU AND on_cpu)
    list(GET arg_SCHEDULES -1 last)
    foreach(schedule IN LISTS arg_SCHEDULES)
      set(without ${arg_LAB})
      set(labels "")
      if(NOT schedule STREQUAL last)
        list(APPEND without ${arg_ONCE})
      endif()
      if(arg_THOROUGH OR NOT schedule STREQUAL last)
        set(labels LABELS thorough)
      endif()
      set(filter ${on_cpu})
      if(without)
        list(JOIN without : without)
        if(filter MATCHES -)  # what follows the first hyphen is left out
          string(APPEND filter :${without})
        else()
          string(APPEND filter -${without})
        endif()
      endif()
      add_test(NAME ${name}.cpu.${schedule} COMMAND ${command} --gtest_filter=${filter})
      set_tests_properties(${name}.cpu.${schedule} PROPERTIES PROCESSORS ${arg_PROCESSORS} COST ${arg_COST} ${labels}
                           ENVIRONMENT "PSFLIP_SCHEDULE=${schedule};${arg_ENVIRONMENT}")
    endforeach()
    if(arg_LAB)
      list(TRANSFORM arg_LAB APPEND /cpu OUTPUT_VARIABLE filter)
      list(JOIN filter : filter)
      add_test(NAME ${name}.cpu.lab CONFIGURATIONS Lab COMMAND ${command} --gtest_filter=${filter})
      set_tests_properties(${name}.cpu.lab PROPERTIES PROCESSORS ${arg_PROCESSORS} LABELS lab
                           ENVIRONMENT "PSFLIP_SCHEDULE=${last};${arg_ENVIRONMENT}")
    endif()
  endif()
  if(PSFLIP_HAS_GPU AND on_gpu)
    add_test(NAME ${name}.gpu COMMAND ${command} --gtest_filter=${on_gpu})
    set_tests_properties(${name}.gpu PROPERTIES PROCESSORS ${arg_PROCESSORS} ENVIRONMENT "${arg_ENVIRONMENT}"
                         SKIP_RETURN_CODE 77 LABELS gpu)  # 77: there is no GPU here
  endif()
endfunction()

# The reference's engine, which every stage of the model is tested against. Made with the model, because a stage can be
# built without that one.
function(psflip_add_reference model)
  add_library(${model}_reference STATIC ${PSFLIP_ROOT}/00_cpu_reference/${model}.cpp)
  target_include_directories(${model}_reference PUBLIC ${PSFLIP_ROOT}/common)
  target_link_libraries(${model}_reference PUBLIC psflip_${model})
endfunction()
