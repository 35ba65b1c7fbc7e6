// The host's side of the 3D model: what is hashed from the seed, couplings as files, observables, averages, schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "random/streams.hpp"
#include "spin_glass/averages.hpp"
#include "spin_glass/disorder.hpp"
#include "spin_glass/edge_list.hpp"
#include "spin_glass/observables.hpp"
#include "spin_glass/result_table.hpp"
#include "spin_glass/run_files.hpp"
#include "spin_glass/schedule.hpp"

namespace psflip::spin_glass {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The message of the InvalidInput that `action` throws.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

// ---- What is hashed from the seed

TEST(Mix, IsSplitMix64) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdaf);
  SplitMix64 generator(1234567);
  EXPECT_EQ(generator(), 6457827717110365317u);
  EXPECT_EQ(generator(), 3203168211198807973u);
  EXPECT_EQ(generator(), 9817491932198370423u);
}

TEST(Mix, TellsPurposesSeedsAndNumbersApart) {
  std::vector<std::uint64_t> words;
  for (const std::uint64_t seed : {0, 1, 42}) {
    for (const Purpose purpose : {Purpose::dynamics, Purpose::couplings, Purpose::start}) {
      for (std::uint64_t i = 0; i < 10; ++i) {
        for (std::uint64_t j = 0; j < 100; ++j) {
          words.push_back(hash(seed, purpose, i, j));
        }
      }
    }
  }
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST(Disorder, HasTheFractionThatIsAskedFor) {
  Problem problem;
  problem.size = 32;
  const double bonds = 3.0 * 32 * 32 * 32;
  for (const double p : {0.0, 0.1, 0.5, 0.7913914727, 1.0}) {
    problem.ferromagnetic_fraction = p;
    const std::vector<Coupling> couplings = sample_couplings(problem, 0);
    const auto ferromagnetic = static_cast<double>(std::count(couplings.begin(), couplings.end(), 1));
    EXPECT_EQ(ferromagnetic + static_cast<double>(std::count(couplings.begin(), couplings.end(), -1)), bonds);
    EXPECT_NEAR(ferromagnetic / bonds, p, 5 * std::sqrt(p * (1 - p) / bonds)) << p;
  }
}

TEST(Disorder, DiffersBetweenSamplesAndReplicas) {
  const Problem problem;
  EXPECT_NE(sample_couplings(problem, 0), sample_couplings(problem, 1));
  EXPECT_NE(start_spins(problem, 0, 0), start_spins(problem, 0, 1));
  EXPECT_NE(start_spins(problem, 0, 1), start_spins(problem, 1, 0));
  Problem ordered;
  ordered.start = Start::ordered;
  EXPECT_EQ(magnetisation(start_spins(ordered, 0, 0)), 16 * 16 * 16);
}

TEST(Thresholds, AreTheProbabilitiesInTheScaleOfTheGenerator) {
  // By the number of unsatisfied bonds: exp(-12 beta), exp(-8 beta), exp(-4 beta), computed with 40 digits.
  EXPECT_THAT(thresholds(1, Generator::minstd).of, ElementsAre(13194, 720400, 39332534));
  EXPECT_THAT(thresholds(0.25, Generator::minstd).of, ElementsAre(106916915, 290630307, 790015083));
  EXPECT_THAT(thresholds(1 / 1.1, Generator::minstd).of, ElementsAre(39280, 1490817, 56581857));
  for (const Generator generator : {Generator::mt19937, Generator::parisi_rapuano, Generator::philox}) {
    EXPECT_THAT(thresholds(1, generator).of, ElementsAre(26389, 1440801, 78665070));
    EXPECT_THAT(thresholds(1 / 1.1, generator).of, ElementsAre(78560, 2981635, 113163715));
  }
}

TEST(Thresholds, HaveTheirLimits) {
  // beta = 0: every draw is accepted, but for the largest of 2^32, which no 32-bit number exceeds.
  EXPECT_THAT(thresholds(0, Generator::minstd).of, ElementsAre(2147483646, 2147483646, 2147483646));
  EXPECT_THAT(thresholds(0, Generator::philox).of, ElementsAre(4294967295, 4294967295, 4294967295));
  EXPECT_THAT(thresholds(1e300, Generator::minstd).of, ElementsAre(0, 0, 0));
}

// ---- Files

class FilesTest : public testing::Test {
 protected:
  FilesTest() : folder_(testing::TempDir() + "psflip_spin_glass." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string written(const std::string& text) const {
    std::ofstream(path("a.rudy"), std::ios::binary) << text;
    return path("a.rudy");
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string refused(const std::string& text) const {
    const std::string file = written(text);
    const std::string message = refusal([&] { read_edge_list(file); });
    EXPECT_THAT(message, HasSubstr(file + ": ")) << text.substr(0, 100);
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0);
    return message;
  }

  std::filesystem::path folder_;
};

/// A list of edges as text, made without any code of edge_list.cpp.
struct Edges {
  std::vector<std::string> lines;

  static Edges of(const Instance& instance) {
    const std::int64_t size = instance.size;
    Edges edges;
    for (std::int64_t z = 0; z < size; ++z) {
      for (std::int64_t y = 0; y < size; ++y) {
        for (std::int64_t x = 0; x < size; ++x) {
          const auto number = [size](std::int64_t a, std::int64_t b, std::int64_t c) {
            return 1 + a % size + size * (b % size) + size * size * (c % size);
          };
          const std::int64_t here = number(x, y, z);
          const std::int64_t ends[] = {number(x + 1, y, z), number(x, y + 1, z), number(x, y, z + 1)};
          for (int d = 0; d < 3; ++d) {
            edges.lines.push_back(line(here, ends[d], instance.couplings[3 * (here - 1) + d]));
          }
        }
      }
    }
    return edges;
  }
  static std::string line(std::int64_t i, std::int64_t j, int coupling) {
    return std::to_string(i) + " " + std::to_string(j) + " " + std::to_string(coupling);
  }
  Edges reversed() const {
    Edges result = *this;
    for (std::string& text : result.lines) {
      std::istringstream words(text);
      int i, j, coupling;
      words >> i >> j >> coupling;
      text = line(j, i, coupling);
    }
    return result;
  }
  Edges& operator+=(const Edges& others) {
    lines.insert(lines.end(), others.lines.begin(), others.lines.end());
    return *this;
  }
  std::string text(const std::string& header = "", const std::string& end = "\n") const {
    std::string result = (header.empty() ? "64 " + std::to_string(lines.size()) : header) + end;
    for (const std::string& edge : lines) {
      result += edge + end;
    }
    return result;
  }
};

Instance random_instance(std::int64_t size) {
  Problem problem;
  problem.size = size;
  return {size, sample_couplings(problem, 0)};
}

TEST_F(FilesTest, ReadsEdgesInAnyOrderAndOrientation) {
  for (const std::int64_t size : {4, 6}) {
    const Instance instance = random_instance(size);
    const std::string header = size == 4 ? "64 192" : "216 648";
    Edges edges = Edges::of(instance);
    EXPECT_EQ(read_edge_list(written(edges.text(header))), instance);
    std::shuffle(edges.lines.begin(), edges.lines.end(), std::mt19937(1));
    EXPECT_EQ(read_edge_list(written(edges.text(header))), instance);
    EXPECT_EQ(read_edge_list(written(edges.reversed().text(header))), instance);
  }
}

TEST_F(FilesTest, ReadsWhatOtherProgramsWrite) {
  const Instance instance = random_instance(4);
  const Edges edges = Edges::of(instance);
  EXPECT_EQ(read_edge_list(written(edges.text("64 192 0"))), instance);            // DIMACS
  EXPECT_EQ(read_edge_list(written(edges.text("  64\t192 ", "\r\n"))), instance);  // blanks and CR LF
  EXPECT_EQ(read_edge_list(written(edges.text() + "\n \n\r\n")), instance);
  std::string text = edges.text();
  text.pop_back();  // no end of the last line
  EXPECT_EQ(read_edge_list(written(text)), instance);

  // Every bond twice: once from each end, or twice from the same.
  Edges twice = edges;
  twice += edges.reversed();
  EXPECT_EQ(read_edge_list(written(twice.text("64 384"))), instance);
  std::shuffle(twice.lines.begin(), twice.lines.end(), std::mt19937(2));
  EXPECT_EQ(read_edge_list(written(twice.text())), instance);
  Edges same = edges;
  same += edges;
  EXPECT_EQ(read_edge_list(written(same.text())), instance);
}

TEST_F(FilesTest, ReturnsWhatWasWritten) {
  for (const std::int64_t size : {4, 6, 10}) {
    const Instance instance = random_instance(size);
    OutputFile file(path("b.rudy"));
    write_edge_list(file, instance);
    file.commit();
    EXPECT_EQ(read_edge_list(path("b.rudy")), instance);
    if (size == 4) {
      EXPECT_EQ(content(path("b.rudy")), Edges::of(instance).text());
    }
  }
}

TEST_F(FilesTest, RefusesHeadersThatAreNoLattice) {
  EXPECT_THAT(refused(""), HasSubstr("line 1: the file is empty"));
  EXPECT_THAT(refused("\n"), HasSubstr("line 1: \"\" is not \"N M\""));
  for (const char* header : {"64", "64 192 0 0", "x 192", "64 x", "64 192 x", "64.0 192", "hello", "# 64 192",
                             "99999999999999999999 192", "64 99999999999999999999"}) {
    EXPECT_THAT(refused(std::string(header) + "\n"), HasSubstr("line 1: \"" + std::string(header) + "\" is not"));
  }
  // Odd, too small, no cubes, negative, too large; 1628^3 and 2^63 - 1 must not be allocated first.
  for (const char* sites :
       {"27", "125", "8", "1", "0", "-64", "63", "65", "100", "4314825152", "9223372036854775807"}) {
    EXPECT_THAT(refused(std::string(sites) + " 192\n1 2 1\n"), HasSubstr("line 1: " + std::string(sites) + " sites"));
  }
  for (const char* edges : {"0", "-1", "385", "9223372036854775807"}) {
    EXPECT_THAT(refused("64 " + std::string(edges) + "\n1 2 1\n"),
                HasSubstr("line 1: " + std::string(edges) + " edges"));
  }
  // The largest lattice, and next to no edges: refused without its 12 GB.
  EXPECT_THAT(refused("4283098624 12849295872\n1 2 1\n"), HasSubstr("line 3: the file ends after 1 of 12849295872"));
  EXPECT_THAT(refused("4283098624 1\n1 2 1\n"), HasSubstr("between the sites 1 and 1625 is missing"));
}

TEST_F(FilesTest, RefusesLinesThatAreNoEdges) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"1 2", "\"1 2\" is not \"i j J\""},
      {"1 2 1 1", "\"1 2 1 1\" is not"},
      {"", "\"\" is not"},
      {"# a comment", "there is no site \"#\""},
      {"0 2 1", "there is no site \"0\": allowed are 1 to 64"},
      {"1 65 1", "there is no site \"65\""},
      {"-1 2 1", "there is no site \"-1\""},
      {"1.0 2 1", "there is no site \"1.0\""},
      {"99999999999999999999 2 1", "there is no site \"99999999999999999999\""},
      {"1 2 0", "the coupling is \"0\": allowed are 1 and -1"},
      {"1 2 2", "the coupling is \"2\""},
      {"1 2 1.5", "the coupling is \"1.5\""},
      {"1 2 nan", "the coupling is \"nan\""},
      {"1 2 x", "the coupling is \"x\""},
      {"1 2 99999999999999999999", "the coupling is \"99999999999999999999\""},
      {"1 1 1", "the sites 1 and 1 are no neighbours"},
      {"1 3 1", "the sites 1 and 3 are no neighbours"},
      {"4 5 1", "the sites 4 and 5 are no neighbours"},  // the end of a row and the beginning of the next
      {"1 64 1", "the sites 1 and 64 are no neighbours"},
      {"1 2 1\x01", "the coupling is \"1?\""},
      {std::string(300, '1'), "no line of text, or longer"},
      {std::string("1 2 1\0", 6), "no line of text"},
  };
  for (const auto& [line, complaint] : wrong) {
    Edges edges = Edges::of(random_instance(4));
    edges.lines[6] = line;
    EXPECT_THAT(refused(edges.text()), HasSubstr(": line 8: " + complaint));
  }
}

TEST_F(FilesTest, RefusesListsThatAreNotTheLattice) {
  const Edges all = Edges::of(random_instance(4));
  Edges edges = all;
  edges.lines.pop_back();
  EXPECT_THAT(refused(edges.text("64 192")), HasSubstr("line 193: the file ends after 191 of 192 edges"));
  EXPECT_THAT(refused(edges.text()),
              HasSubstr("line 1: with 191 edges, the bond between the sites 64 and 16 is missing"));
  edges = all;
  edges.lines.erase(edges.lines.begin() + 4);
  EXPECT_THAT(refused(edges.text()), HasSubstr("the bond between the sites 2 and 6 is missing"));
  EXPECT_THAT(refused(all.text("64 191")), HasSubstr("line 193: more text after the last of 191 edges"));
  EXPECT_THAT(refused(all.text() + "\n\nx\n"), HasSubstr("line 196: more text after"));

  edges = all;
  edges.lines[100] = edges.lines[4];
  EXPECT_THAT(refused(edges.text()), HasSubstr("line 102: the bond between the sites 2 and 6 is listed a second time"));
  Edges twice = all;
  twice += all.reversed();
  edges = twice;
  edges.lines[100] = edges.lines[4];
  EXPECT_THAT(refused(edges.text()), HasSubstr("line 198: the bond between the sites 2 and 6 is listed a third time"));
  edges = twice;
  edges.lines.erase(edges.lines.begin() + 100);
  EXPECT_THAT(refused(edges.text()), HasSubstr("is listed once and others twice"));
  edges = twice;
  edges.lines[192 + 4] = "6 2 " + std::to_string(-random_instance(4).couplings[4]);
  EXPECT_THAT(refused(edges.text()), HasSubstr("line 198: the bond between the sites 2 and 6 has the coupling"));
  edges = twice;  // twice as many edges, but a bond not at all
  edges.lines.erase(edges.lines.begin() + 192 + 4);
  edges.lines.erase(edges.lines.begin() + 4);
  EXPECT_THAT(refused(edges.text()), HasSubstr("the bond between the sites 2 and 6 is missing"));
}

TEST_F(FilesTest, RefusesWhatCannotBeRead) {
  EXPECT_THAT(refusal([&] { read_edge_list(path("missing")); }), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(refusal([&] { read_edge_list(folder_); }), HasSubstr("cannot be read: Is a directory"));
  EXPECT_THAT(refusal([&] { read_edge_list("/dev/zero"); }), HasSubstr("/dev/zero: line 1: no line of text"));
}

TEST_F(FilesTest, NoticesAFullDisk) {
  OutputFile file("/dev/full");
  EXPECT_THROW(write_edge_list(file, random_instance(20)), InvalidInput);
}

TEST_F(FilesTest, HoldTablesAsCsvAndJson) {
  for (const std::string name : {"t.csv", "t.json"}) {
    ResultTable table("--output", path(name));
    table.write_header({{"program", "p"}, {"problem", {{"size", 4}, {"files", {"a\nb"}}}}}, {"sweep", "e"});
    table.write_row({std::int64_t{7}, 0.1});
    table.write_row({std::int64_t{8}, std::monostate()});
    table.write_end();
    table.file().commit();
  }
  EXPECT_EQ(content(path("t.csv")),
            "# program: \"p\"\n# problem: {\"size\":4,\"files\":[\"a\\nb\"]}\nsweep,e\n7,0.1\n8,\n");
  const auto json = nlohmann::json::parse(content(path("t.json")));
  EXPECT_EQ(json["problem"]["files"][0], "a\nb");
  EXPECT_EQ(json["rows"], nlohmann::json::parse(R"([{"sweep": 7, "e": 0.1}, {"sweep": 8, "e": null}])"));

  for (const std::string name : {"t", "t.txt", "t.csv.gz", ""}) {
    EXPECT_EQ(refusal([&] { ResultTable("--output", name); }),
              "--output " + name + ": the name has to end in .csv or .json");
  }
}

TEST_F(FilesTest, AreNotUsedForTwoPurposes) {
  const std::string twice = path("t.csv");
  EXPECT_THAT(refusal([&] { RunFiles({twice, twice, {}}, 1); }), HasSubstr(twice + ": the same file"));
  EXPECT_THAT(refusal([&] { RunFiles({twice, std::nullopt, {twice}}, 1); }), HasSubstr("the same file"));
  EXPECT_THAT(refusal([&] {
                RunFiles({std::nullopt, std::nullopt, {twice, path("./t.csv")}}, 2);
              }),
              HasSubstr("the same file"));
  EXPECT_THAT(refusal([&] {
                RunFiles({std::nullopt, std::nullopt, {twice}}, 2);
              }),
              HasSubstr("one for each sample, and there are 2"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// ---- Observables

/// - sum J s s' by coordinates.
std::int64_t plain_energy(std::int64_t size, std::span<const Spin> spins, std::span<const Coupling> couplings) {
  const auto site = [size](std::int64_t x, std::int64_t y, std::int64_t z) {
    return x % size + size * (y % size + size * (z % size));
  };
  std::int64_t energy = 0;
  for (std::int64_t x = 0; x < size; ++x) {
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t z = 0; z < size; ++z) {
        const std::int64_t s = site(x, y, z);
        energy -= couplings[3 * s + 0] * spins[s] * spins[site(x + 1, y, z)];
        energy -= couplings[3 * s + 1] * spins[s] * spins[site(x, y + 1, z)];
        energy -= couplings[3 * s + 2] * spins[s] * spins[site(x, y, z + 1)];
      }
    }
  }
  return energy;
}

TEST(Observables, AreThoseOfStatesMadeByHand) {
  const std::int64_t size = 6, sites = size * size * size;
  const std::vector<Coupling> ferromagnet(3 * sites, 1), antiferromagnet(3 * sites, -1);
  std::vector<Spin> up(sites, 1);
  EXPECT_EQ(energy(size, up, ferromagnet), -3 * sites);
  EXPECT_EQ(energy(size, up, antiferromagnet), 3 * sites);
  EXPECT_EQ(magnetisation(up), sites);
  EXPECT_EQ(overlap(up, up), sites);

  std::vector<Spin> one_down = up;
  one_down[17] = -1;
  EXPECT_EQ(energy(size, one_down, ferromagnet), -3 * sites + 12);
  EXPECT_EQ(magnetisation(one_down), sites - 2);
  EXPECT_EQ(overlap(up, one_down), sites - 2);

  std::vector<Spin> checkerboard(sites);
  for (std::int64_t s = 0; s < sites; ++s) {
    checkerboard[s] = (s + s / size + s / size / size) % 2 == 0 ? 1 : -1;
  }
  EXPECT_EQ(energy(size, checkerboard, ferromagnet), 3 * sites);
  EXPECT_EQ(energy(size, checkerboard, antiferromagnet), -3 * sites);
  EXPECT_EQ(magnetisation(checkerboard), 0);
  EXPECT_EQ(overlap(checkerboard, up), 0);

  // One bond in each direction and at each boundary, alone antiferromagnetic.
  for (const std::int64_t bond : {0L, 1L, 2L, 3 * 5L, 3 * 30L + 1, 3 * 180L + 2, 3 * sites - 1}) {
    std::vector<Coupling> couplings = ferromagnet;
    couplings[bond] = -1;
    EXPECT_EQ(energy(size, up, couplings), -3 * sites + 2) << bond;
    std::vector<Spin> spins = up;
    spins[bond / 3] = -1;
    EXPECT_EQ(energy(size, spins, couplings), -3 * sites + 10) << bond;
  }
}

TEST(Observables, AreThoseOfPlainLoops) {
  for (const std::int64_t size : {4, 6, 10, 44}) {  // 44^3 > 2^16, beyond which sums are cut into parts
    Problem problem;
    problem.size = size;
    problem.ferromagnetic_fraction = 0.3;
    const std::vector<Coupling> couplings = sample_couplings(problem, 3);
    State state{size, 2, 4, {}};
    for (std::int64_t sample = 0; sample < 2; ++sample) {
      for (std::int64_t replica = 0; replica < 4; ++replica) {
        const std::vector<Spin> spins = start_spins(problem, sample, replica);
        state.spins.insert(state.spins.end(), spins.begin(), spins.end());
      }
    }
    const SampleObservables observables = observe(state, 1, couplings);
    for (std::int64_t a = 0; a < 4; ++a) {
      const auto spins = state.of(1, a);
      EXPECT_EQ(observables.energies[a], plain_energy(size, spins, couplings));
      EXPECT_EQ(observables.magnetisations[a], std::accumulate(spins.begin(), spins.end(), std::int64_t{0}));
      for (std::int64_t b = a + 1; b < 4; ++b) {
        const auto others = state.of(1, b);
        EXPECT_EQ(observables.overlaps[pair_index(4, a, b)],
                  std::inner_product(spins.begin(), spins.end(), others.begin(), std::int64_t{0}));
      }
    }
    EXPECT_EQ(observables.overlaps.size(), 6u);
  }
}

TEST(Observables, NumberPairsWithoutGaps) {
  for (const std::int64_t replicas : {1, 2, 3, 4, 5, 9}) {
    std::int64_t next = 0;
    for (std::int64_t a = 0; a < replicas; ++a) {
      for (std::int64_t b = a + 1; b < replicas; ++b) {
        EXPECT_EQ(pair_index(replicas, a, b), next++);
      }
    }
    EXPECT_EQ(pairs(replicas), next);
  }
}

TEST(Observables, HashBytesInTheCanonicalOrder) {
  EXPECT_EQ(hex(state_hash({1, 2, 1, {-1, 1}})), "08328707b4eb6e3a");  // of the bytes 0 and 1
  EXPECT_EQ(hex(couplings_hash({{-1}, {1}})), "08328707b4eb6e3a");
}

/// The known ground states of the instances: no state may lie below, and zero-temperature descents from many starts
/// reach them. A wrong neighbour or sign in energy() or in the files would miss both.
TEST(Instances, HaveTheirGroundStates) {
  const std::pair<const char*, std::int64_t> instances[] = {
      {"J4_mt1000.rudy", -110}, {"J4_mt1001.rudy", -112}, {"J4_mt1002.rudy", -114}};
  for (const auto& [name, ground] : instances) {
    const Instance instance = read_edge_list(std::string(PSFLIP_INSTANCES) + "/" + name);
    ASSERT_EQ(instance.size, 4);
    std::mt19937 random(1);
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (int start = 0; start < 400; ++start) {
      std::vector<Spin> spins(64);
      std::generate(spins.begin(), spins.end(), [&] { return random() & 1 ? 1 : -1; });
      std::int64_t now = energy(4, spins, instance.couplings);
      for (int trial = 0; trial < 2000; ++trial) {  // flips that cost nothing are taken too
        Spin& spin = spins[random() % 64];
        spin = static_cast<Spin>(-spin);
        const std::int64_t then = energy(4, spins, instance.couplings);
        if (then <= now) {
          now = then;
        } else {
          spin = static_cast<Spin>(-spin);
        }
      }
      lowest = std::min(lowest, now);
    }
    EXPECT_EQ(lowest, ground) << name;
  }
}

// ---- Averages

TEST(Averages, AreOverSamplesAndErrorsOverGroups) {
  const std::vector<double> values{1, 2, 3, 4};
  const auto by_sample = average_over_groups(values, 1);
  EXPECT_DOUBLE_EQ(by_sample->value, 2.5);
  EXPECT_DOUBLE_EQ(*by_sample->error, std::sqrt(5.0 / 3 / 4));  // variance 5/3, four samples
  const auto by_pair = average_over_groups(values, 2);          // means 1.5 and 3.5
  EXPECT_DOUBLE_EQ(by_pair->value, 2.5);
  EXPECT_DOUBLE_EQ(*by_pair->error, 1);
}

TEST(Averages, WeightASmallerLastGroup) {
  const auto average = average_over_groups(std::vector<double>{-1, 0, 1, 4}, 3);  // means 0 and 4, weights 3/4 and 1/4
  EXPECT_DOUBLE_EQ(average->value, 1);
  EXPECT_DOUBLE_EQ(*average->error, std::sqrt(2 * (0.75 * 0.75 * 1 + 0.25 * 0.25 * 9)));
}

TEST(Averages, HaveNoErrorFromOneGroup) {
  for (const std::int64_t width : {4, 5, 1 << 24}) {
    const auto average = average_over_groups(std::vector<double>{1, 2, 3, 4}, width);
    EXPECT_EQ(average->value, 2.5);
    EXPECT_EQ(average->error, std::nullopt);
  }
  EXPECT_EQ(average_over_groups(std::vector<double>{7}, 1)->error, std::nullopt);
  EXPECT_EQ(average_over_groups({}, 1), std::nullopt);
}

TEST(Averages, KnowThatSamplesOfAGroupAreCorrelated) {
  // Wholly correlated: 32 samples of a group say what one says.
  const std::vector<double> groups{1, 2, 3, 5};
  std::vector<double> samples;
  for (const double value : groups) {
    samples.insert(samples.end(), 32, value);
  }
  const auto of_groups = average_over_groups(groups, 1);
  const auto of_samples = average_over_groups(samples, 32);
  EXPECT_DOUBLE_EQ(of_samples->value, of_groups->value);
  EXPECT_DOUBLE_EQ(*of_samples->error, *of_groups->error);
  EXPECT_LT(*average_over_groups(samples, 1)->error, *of_groups->error / 5);  // what must not be said
}

TEST(Averages, AreThoseOfAHandCalculation) {
  Problem problem;
  problem.size = 4;
  problem.samples = 2;
  problem.replicas = 3;
  problem.samples_per_stream = 1;
  Averager averager(problem);
  averager.add({{-64, -96, -128}, {64, 0, -32}, {64, -32, 0}});
  averager.add({{-64, -64, -64}, {0, 0, 0}, {-64, -64, -64}});
  const auto [e, m, m2, abs_q, q2] = averager.averages();
  EXPECT_DOUBLE_EQ(e->value, -1.25);  // samples -1.5 and -1
  EXPECT_DOUBLE_EQ(*e->error, 0.25);
  EXPECT_DOUBLE_EQ(m->value, (1 + 0 - 0.5) / 3 / 2);
  EXPECT_DOUBLE_EQ(m2->value, (1 + 0 + 0.25) / 3 / 2);
  EXPECT_DOUBLE_EQ(abs_q->value, (0.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(q2->value, ((1 + 0.25) / 3 + 1) / 2);
  EXPECT_DOUBLE_EQ(*q2->error, (1 - (1 + 0.25) / 3) / 2);
}

TEST(Averages, HaveNoOverlapOfOneReplica) {
  Problem problem;
  problem.replicas = 1;
  Averager averager(problem);
  averager.add({{-64}, {64}, {}});
  const Averages averages = averager.averages();
  EXPECT_TRUE(averages[0] && averages[1] && averages[2]);
  EXPECT_EQ(averages[3], std::nullopt);
  EXPECT_EQ(averages[4], std::nullopt);
}

// ---- Schedule

std::vector<std::int64_t> times(const std::string& rule, std::int64_t sweeps) {
  const Schedule schedule(rule, sweeps);
  std::vector<std::int64_t> result{schedule.first()};
  while (result.back() != sweeps) {
    result.push_back(schedule.after(result.back()));
  }
  EXPECT_EQ(schedule.count(), static_cast<std::int64_t>(result.size())) << rule << ' ' << sweeps;
  return result;
}

TEST(Schedule, MeasuresWhenItIsAskedTo) {
  EXPECT_THAT(times("end", 0), ElementsAre(0));
  EXPECT_THAT(times("end", 10), ElementsAre(10));
  EXPECT_THAT(times("log", 0), ElementsAre(0));
  EXPECT_THAT(times("log", 1), ElementsAre(0, 1));
  EXPECT_THAT(times("log", 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(times("log", 8), ElementsAre(0, 1, 2, 4, 8));
  EXPECT_THAT(times("log", 10), ElementsAre(0, 1, 2, 4, 8, 10));
  EXPECT_THAT(times("every:1", 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(times("every:3", 10), ElementsAre(0, 3, 6, 9, 10));
  EXPECT_THAT(times("every:5", 10), ElementsAre(0, 5, 10));
  EXPECT_THAT(times("every:100", 10), ElementsAre(0, 10));
  EXPECT_THAT(times("every:9223372036854775807", 10), ElementsAre(0, 10));
  EXPECT_THAT(times("every:7", 0), ElementsAre(0));
  EXPECT_EQ(times("log", 100'000'000'000).size(), 39u);
}

TEST(Schedule, RefusesOtherRules) {
  for (const char* rule : {"", "Log", "every", "every:", "every:0", "every:-1", "every:1.5", "every:x", "every: 1",
                           "every:9223372036854775808"}) {
    EXPECT_THAT(refusal([&] { Schedule(rule, 10); }), HasSubstr("--measure is " + std::string(rule) + ": ")) << rule;
  }
}

}  // namespace
}  // namespace psflip::spin_glass
