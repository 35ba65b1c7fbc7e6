# What stages 07 and 08 share.
include_guard(GLOBAL)

psflip_add_kernel_headers(multispin_kernels ${CMAKE_CURRENT_LIST_DIR}/multispin_simulation.cuh
                          ${CMAKE_CURRENT_LIST_DIR}/kernels/cluster_simulation.cuh ${CMAKE_CURRENT_LIST_DIR}/kernels/wide.cuh)
target_link_libraries(multispin_kernels INTERFACE spin_glass_kernels)
psflip_add_kernel_headers(system_kernels ${CMAKE_CURRENT_LIST_DIR}/synchronous/system_simulation.cuh
                          ${CMAKE_CURRENT_LIST_DIR}/synchronous/count.cuh
                          ${CMAKE_CURRENT_LIST_DIR}/synchronous/word_update.cuh)
target_link_libraries(system_kernels INTERFACE spin_glass_kernels)
psflip_add_kernels(systems SOURCES ${CMAKE_CURRENT_LIST_DIR}/synchronous/system_simulation.cu LINK system_kernels)

# Two sweeps in one pass over memory.
psflip_add_kernels(passes CLUSTERS SOURCES ${CMAKE_CURRENT_LIST_DIR}/kernels/overlapped/pass.cu LINK multispin_kernels)

# Observables on the device.
psflip_add_kernel_headers(observe_kernels ${CMAKE_CURRENT_LIST_DIR}/observe/observe.cuh
                          ${CMAKE_CURRENT_LIST_DIR}/tempering/exchange.cuh)
target_link_libraries(observe_kernels INTERFACE psflip_spin_glass)
psflip_add_kernels(observe SOURCES ${CMAKE_CURRENT_LIST_DIR}/observe/observe.cu
                   ${CMAKE_CURRENT_LIST_DIR}/tempering/exchange.cu LINK observe_kernels)
