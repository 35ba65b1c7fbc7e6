# Whether a GPU is visible, and which GPUs CUDA code is compiled for, decided before project(): what the user says
# (-DCMAKE_CUDA_ARCHITECTURES=90 or the environment variable CUDAARCHS), else the GPU in this machine, else one binary
# for every generation that nvcc knows.
include_guard(GLOBAL)

execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE visible_gpus ERROR_QUIET RESULT_VARIABLE nvidia_smi)
set(PSFLIP_GPU_VISIBLE OFF)
if(nvidia_smi STREQUAL "0" AND visible_gpus MATCHES "GPU 0")
  set(PSFLIP_GPU_VISIBLE ON)
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  if(PSFLIP_GPU_VISIBLE)
    set(CMAKE_CUDA_ARCHITECTURES native CACHE STRING "GPU architectures to compile for")
  else()
    set(CMAKE_CUDA_ARCHITECTURES all-major CACHE STRING "GPU architectures to compile for")
  endif()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo")
endif()
