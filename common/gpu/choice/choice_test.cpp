// How the fastest is found, by a clock that stands still between trials; and the file that keeps what was found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "app/files/output_file.hpp"
#include "gpu/choice/choice_file.hpp"
#include "gpu/choice/fastest.hpp"

namespace psflip {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Candidates that take as long as is said, 0: that cannot be had; and what a trial costs besides.
struct Fake {
  std::vector<Candidate> candidates;
  std::vector<double> truth;
  double overhead = 0.001;
  double now = 100;
  std::vector<std::size_t> order{};  ///< of the trials

  Fastest find(double budget) {
    return fastest(
        candidates, budget,
        [&](std::size_t candidate, double seconds) -> std::optional<double> {
          order.push_back(candidate);
          now += overhead + seconds;
          if (truth[candidate] == 0) return std::nullopt;
          return truth[candidate] * (1 + 0.01 * std::fmod(now * 1e3, 1));
        },
        [&] { return now; });
  }
};

TEST(Fastest, IsFoundWhateverWasExpected) {
  Fake fake{{{1, 0}, {2, 1}, {3, 2}, {3.9, 3}}, {5, 4, 6, 3}};
  const Fastest found = fake.find(1);
  EXPECT_EQ(found.candidate, 3u);
  EXPECT_EQ(found.tried, 4);
  EXPECT_NEAR(found.seconds, 3, 0.03);
  EXPECT_NEAR(found.took, fake.now - 100, 1e-9);
  EXPECT_TRUE(found.complete);
}

TEST(Fastest, LeavesOutWhatIsExpectedToBeSlow) {
  Fake fake{{{4.1, 0}, {1, 1}}, {0.1, 1}};
  EXPECT_EQ(fake.find(1).candidate, 1u);
  EXPECT_THAT(fake.order, ElementsAre(1));
}

TEST(Fastest, TriesTheOthersOfFastGroupsOnly) {
  Fake fake{{{1, 0}, {1, 0}, {1.1, 1}, {1.1, 1}, {1.1, 1}, {1.2, 2}, {1.2, 2}}, {3, 0.5, 1.5, 2, 1.4, 1, 0.9}};
  EXPECT_EQ(fake.find(1).candidate, 6u);
  EXPECT_FALSE(std::ranges::count(fake.order, 1u)) << "the first of its group is three times as slow";
  fake.order.resize(6);
  EXPECT_THAT(fake.order, ElementsAre(0, 2, 5, 6, 3, 4)) << "those of the fastest group come first";
}

TEST(Fastest, BeginsWithWhatIsExpectedToBeFastest) {
  Fake fake{{{3, 0}, {1, 1}, {2, 2}}, {1, 1, 1}};
  fake.find(1);
  fake.order.resize(3);
  EXPECT_THAT(fake.order, ElementsAre(1, 2, 0));
}

TEST(Fastest, TimesAnewWhatIsClose) {
  Fake fake{{{1, 0}, {1, 1}, {1, 2}}, {1, 1.2, 1.4}};
  fake.find(10);
  EXPECT_THAT(fake.order, ElementsAre(0, 1, 2, 0, 1, 0, 1));
}

TEST(Fastest, KeepsToItsBudget) {
  Fake fake{{}, {}, 0.02};
  for (int i = 0; i < 100; ++i) {
    fake.candidates.push_back({1 + 0.01 * i, i});
    fake.truth.push_back(2 - 0.01 * i);
  }
  const Fastest found = fake.find(0.5);
  EXPECT_LE(found.took, 0.5 + 1e-9);
  EXPECT_FALSE(found.complete);
  EXPECT_GT(found.tried, 10);
  EXPECT_EQ(found.candidate, static_cast<std::size_t>(found.tried - 1)) << "the best of those there was time for";
}

TEST(Fastest, TriesOneIfThatAloneTakesTheBudget) {
  Fake fake{{{1, 0}, {1, 1}}, {1, 0.5}, 3};
  EXPECT_EQ(fake.find(1).candidate, 0u);
  EXPECT_EQ(fake.order.size(), 1u);
}

TEST(Fastest, DoesWithoutWhatCannotBeHad) {
  Fake fake{{{1, 0}, {2, 1}}, {0, 7}};
  EXPECT_EQ(fake.find(1).candidate, 1u);
  EXPECT_EQ(fake.find(1).tried, 1);
}

TEST(Fastest, IsTheExpectedOneIfNothingCanBeHad) {
  Fake fake{{{2, 0}, {1, 1}}, {0, 0}};
  EXPECT_EQ(fake.find(1).candidate, 1u);
  EXPECT_EQ(fake.find(1).tried, 0);
}

// ----

class InFolder : public testing::Test {
 protected:
  InFolder() : folder_(testing::TempDir() + "psflip_choices." + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~InFolder() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << text;
  }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path path() const { return folder_ / "launches.json"; }

  std::filesystem::path folder_;
};

Remembered choice(int size, const std::string& kernel = "wide") {
  return {{{"device", "A \"GPU\""}, {"size", std::to_string(size)}}, {{"kernel", kernel}}, 23, 1.5e-5};
}

TEST_F(InFolder, KeepsChoices) {
  const ChoiceFile file(folder_ / "new" / "folders");
  EXPECT_FALSE(file.find(choice(8).key));
  file.remember(choice(8));
  file.remember(choice(16, "small"));
  EXPECT_EQ(file.find(choice(8).key), choice(8));
  EXPECT_EQ(ChoiceFile(folder_ / "new" / "folders").find(choice(16).key), choice(16, "small"));
  EXPECT_FALSE(file.find(choice(24).key));
  file.remember(choice(8, "update"));
  EXPECT_EQ(file.find(choice(8).key), choice(8, "update"));
  EXPECT_EQ(choices_in(text_of({choice(8), choice(16)})).size(), 2u);
}

TEST_F(InFolder, ForgetsTheOldest) {
  const ChoiceFile file(folder_);
  std::vector<Remembered> many;
  for (int i = 0; i < static_cast<int>(ChoiceFile::most); ++i) many.push_back(choice(i));
  write(text_of(many));
  file.remember(choice(-1));
  EXPECT_TRUE(file.find(choice(-1).key));
  EXPECT_TRUE(file.find(choice(198).key));
  EXPECT_FALSE(file.find(choice(199).key));
}

TEST_F(InFolder, ReplacesWhatIsDamagedOrForeign) {
  const std::string whole = text_of({choice(8)});
  for (const std::string& wrong :
       {whole.substr(0, whole.size() / 2), std::string("all of it\n"), std::string(), std::string("[]"),
        std::string(100'000, '['), std::string(R"({"format": "psFlip launches, version 2", "choices": []})")}) {
    write(wrong);
    const ChoiceFile file(folder_);
    EXPECT_FALSE(file.find(choice(8).key));
    file.remember(choice(8));
    EXPECT_EQ(text(), whole);
  }
}

TEST_F(InFolder, DoesWithoutAFileThatCannotBeWritten) {
  const auto does_without = [](const std::filesystem::path& folder) {
    const ChoiceFile file(folder);
    file.remember(choice(8));
    EXPECT_FALSE(file.find(choice(8).key)) << folder;
  };
  does_without("/proc/psflip");
  does_without("/dev/null");
  std::filesystem::create_directories(path());  // a folder in the file's place
  does_without(folder_);
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/dev/full", path());
  does_without(folder_);
  const ChoiceFile none(std::nullopt);
  none.remember(choice(8));
  EXPECT_FALSE(none.find(choice(8).key));
}

TEST_F(InFolder, LetsAnotherProgramFinish) {
  const ChoiceFile file(folder_);
  file.remember(choice(8));
  OutputFile other(path());
  file.remember(choice(16));
  EXPECT_FALSE(file.find(choice(16).key));
  const std::string text = text_of({choice(24), choice(8)});
  std::fwrite(text.data(), 1, text.size(), other.stream());
  other.commit();
  file.remember(choice(16));
  for (const int size : {8, 16, 24}) EXPECT_TRUE(file.find(choice(size).key)) << size;
}

/// The folder with these variables; nullptr: not set.
std::string folder_with(const char* psflip, const char* xdg, const char* home) {
  const auto set = [](const char* name, const char* value) {
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  };
  set("PSFLIP_LAUNCHES", psflip);
  set("XDG_CACHE_HOME", xdg);
  set("HOME", home);
  return choices_are_off() ? "off" : choices_folder().value_or("none").string();
}

TEST(Folder, IsWhatTheEnvironmentSays) {
  EXPECT_EQ(folder_with(nullptr, nullptr, "/home/me"), "/home/me/.cache/psflip");
  EXPECT_EQ(folder_with(nullptr, "/cache", "/home/me"), "/cache/psflip");
  EXPECT_EQ(folder_with("/mine", "/cache", "/home/me"), "/mine");
  EXPECT_EQ(folder_with("off", "/cache", "/home/me"), "off");
  EXPECT_EQ(folder_with(nullptr, "relative", "/home/me"), "/home/me/.cache/psflip");
  EXPECT_EQ(folder_with(nullptr, "", ""), "none");
  EXPECT_EQ(folder_with(nullptr, nullptr, nullptr), "none");
}

TEST(ProgramIdentity, IsThere) { EXPECT_THAT(program_identity(), testing::MatchesRegex("-?[0-9]+ [0-9]+")); }

}  // namespace
}  // namespace psflip
