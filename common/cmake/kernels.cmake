# psflip_add_kernels(name SOURCES a.cu ... [LINK library ...] [TOGETHER] [CLUSTERS])
#
# Compiles CUDA sources for every platform of this build:
#   name_gpu  by nvcc, into the namespace psflip::gpu
#   name_cpu  by the C++ compiler, into the namespace psflip::cpu, running on host threads (common/gpu/on_cpu)
#   name      both of them, with PSFLIP_HAS_GPU and PSFLIP_HAS_CPU defined as 0 or 1
#   name_counted  as name_cpu, but every load and store is recorded (common/gpu/on_cpu/counters); built when wanted
# Only the launch rewriter touches a source on its way to the CPU. TOGETHER: the sources are compiled as one, for which
# they need different names, but headers that are longer than they are once; so are all with CMAKE_UNITY_BUILD. CLUSTERS: the GPU path is compiled for
# PSFLIP_CLUSTER_ARCHITECTURES, too, where code is another if blocks can be clusters.
set(PSFLIP_CLUSTER_ARCHITECTURES "" CACHE STRING "GPU architectures for which code with clusters of blocks is compiled, too")
mark_as_advanced(PSFLIP_CLUSTER_ARCHITECTURES)
function(psflip_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOGETHER;CLUSTERS" "" "SOURCES;LINK")
  if(CMAKE_UNITY_BUILD)
    set(arg_TOGETHER TRUE)
  endif()
  add_library(${name} INTERFACE)
  target_compile_definitions(${name} INTERFACE PSFLIP_HAS_GPU=$<BOOL:${PSFLIP_HAS_GPU}> PSFLIP_HAS_CPU=$<BOOL:${PSFLIP_HAS_CPU}>)

  if(PSFLIP_HAS_GPU)
    set(gpu_sources ${arg_SOURCES})
    if(arg_TOGETHER)  # UNITY_BUILD knows CUDA from CMake 3.31 on
      set(includes "")
      foreach(source IN LISTS arg_SOURCES)
        get_filename_component(source ${source} ABSOLUTE)
        string(APPEND includes "#include \"${source}\"\n")
      endforeach()
      set(gpu_sources ${CMAKE_CURRENT_BINARY_DIR}/${name}.cu)
      file(CONFIGURE OUTPUT ${gpu_sources} CONTENT "${includes}")
    endif()
    add_library(${name}_gpu STATIC ${gpu_sources})
    if(arg_CLUSTERS AND PSFLIP_CLUSTER_ARCHITECTURES)
      set_target_properties(${name}_gpu PROPERTIES CUDA_ARCHITECTURES
                            "${CMAKE_CUDA_ARCHITECTURES};${PSFLIP_CLUSTER_ARCHITECTURES}")
    endif()
    target_compile_definitions(${name}_gpu PRIVATE PSFLIP_PLATFORM=gpu)
    psflip_link_kernels(${name}_gpu gpu ${arg_LINK})
    target_link_libraries(${name}_gpu PUBLIC CUDA::cudart_static)
    target_include_directories(${name}_gpu PUBLIC ${PSFLIP_ROOT}/common ${PSFLIP_ROOT})
    target_link_libraries(${name} INTERFACE ${name}_gpu)
  endif()

  if(PSFLIP_HAS_CPU)
    foreach(source IN LISTS arg_SOURCES)
      psflip_rewrite(${source} rewritten)
      list(APPEND rewritten_sources ${rewritten})
    endforeach()
    add_custom_target(${name}_rewritten DEPENDS ${rewritten_sources})
    add_library(${name}_cpu STATIC ${rewritten_sources})
    set_target_properties(${name}_cpu PROPERTIES UNITY_BUILD ${arg_TOGETHER})
    target_compile_definitions(${name}_cpu PRIVATE PSFLIP_PLATFORM=cpu)
    target_include_directories(${name}_cpu PUBLIC ${PSFLIP_REWRITTEN}/common ${PSFLIP_REWRITTEN}
                               ${CMAKE_CURRENT_SOURCE_DIR} ${PSFLIP_ROOT}/common ${PSFLIP_ROOT})
    psflip_link_kernels(${name}_cpu cpu ${arg_LINK})
    target_link_libraries(${name}_cpu PUBLIC cuda_on_cpu)
    target_link_libraries(${name} INTERFACE ${name}_cpu)
    add_dependencies(${name}_cpu ${name}_rewritten)

    if(NOT PSFLIP_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      add_library(${name}_counted STATIC EXCLUDE_FROM_ALL ${rewritten_sources})
      add_dependencies(${name}_counted ${name}_rewritten)
      foreach(property IN ITEMS COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES)
        get_target_property(value ${name}_cpu ${property})
        set_target_properties(${name}_counted PROPERTIES ${property} "${value}")
      endforeach()
      get_target_property(includes ${name}_cpu INTERFACE_INCLUDE_DIRECTORIES)
      target_include_directories(${name}_counted INTERFACE ${includes})
      psflip_count_accesses(${name}_counted)
      psflip_link_kernels(${name}_counted counted ${arg_LINK})
    endif()
  endif()
endfunction()

# psflip_link_kernels(target platform library ...): links kernels as they are compiled for the target's platform (gpu, cpu
# or counted), and other libraries as they are.
function(psflip_link_kernels target platform)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library}_${platform})
      target_link_libraries(${target} PUBLIC ${library}_${platform})
    else()
      target_link_libraries(${target} PUBLIC ${library})
    endif()
  endforeach()
endfunction()

# psflip_add_kernel_headers(name header.cuh ...): headers that launch kernels, rewritten for the CPU as well.
# A kernel library that includes them names this one under LINK.
function(psflip_add_kernel_headers name)
  add_library(${name} INTERFACE)
  if(PSFLIP_HAS_CPU)
    foreach(header IN LISTS ARGN)
      psflip_rewrite(${header} rewritten)
      list(APPEND rewritten_headers ${rewritten})
    endforeach()
    add_custom_target(${name}_rewritten DEPENDS ${rewritten_headers})
    add_dependencies(${name} ${name}_rewritten)
  endif()
endfunction()

# psflip_rewrite(file result): the rewritten copy of a .cu or .cuh file keeps its place in the tree.
set(PSFLIP_REWRITTEN ${CMAKE_BINARY_DIR}/rewritten)
function(psflip_rewrite file result)
  get_filename_component(source ${file} ABSOLUTE)
  file(RELATIVE_PATH place ${PSFLIP_ROOT} ${source})
  set(output ${PSFLIP_REWRITTEN}/${place})
  if(file MATCHES "\\.cu$")
    string(APPEND output .cpp)
  endif()
  add_custom_command(OUTPUT ${output} COMMAND rewrite_launches ${source} ${output} DEPENDS ${source} rewrite_launches
                     COMMENT "Rewriting ${place} for the CPU" VERBATIM)
  set(${result} ${output} PARENT_SCOPE)
endfunction()
