/// Tests that run on each platform of a program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace psflip {

/// A test on one of those that `platforms()` lists, GetParam() by name. Skipped where it has no device.
template <auto platforms>
class PlatformTest : public testing::TestWithParam<std::string> {
 protected:
  using Platform = std::decay_t<decltype(platforms().front())>;

  void SetUp() override {
    const auto found = std::ranges::find(platforms(), GetParam(), &Platform::name);
    ASSERT_NE(found, platforms().end());
    platform_ = &*found;
    if (platform_->devices().empty()) GTEST_SKIP() << "no " << GetParam() << " device here";
  }

  const Platform* platform_ = nullptr;
};

/// What such a test is instantiated for (testing::ValuesIn), and how each instance is called.
template <class Platforms>
std::vector<std::string> names_of(const Platforms& platforms) {
  std::vector<std::string> names;
  for (const auto& platform : platforms) names.push_back(platform.name);
  return names;
}
inline const auto by_name = [](const testing::TestParamInfo<std::string>& info) { return info.param; };

}  // namespace psflip
