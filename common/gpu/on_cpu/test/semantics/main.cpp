// Runs the semantics tests, or says by exit code 77 that there is no device to run them on.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device");
    return 77;
  }
  const int failed = RUN_ALL_TESTS();
  return testing::UnitTest::GetInstance()->test_to_run_count() > 0 ? failed : 1;
}
