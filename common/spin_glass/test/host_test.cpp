// The host's side of the 3D model: what is hashed from the seed, couplings as files, observables, averages, schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "random/streams.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/checkpointer.hpp"
#include "spin_glass/checkpoint/row_journal.hpp"
#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/disorder.hpp"
#include "spin_glass/model/edge_list.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/schedule.hpp"
#include "spin_glass/run/options.hpp"
#include "spin_glass/run/result_table.hpp"
#include "spin_glass/run/run_files.hpp"

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
  for (const char* header :
       {"64", "64 192 0 0", "x 192", "64 x", "64 192 x", "64.0 192", "hello", "# 64 192", "064 192", "64 +192",
        "64 192 -0", "99999999999999999999 192", "64 99999999999999999999"}) {
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
      {"01 2 1", "there is no site \"01\""},
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
      {std::string(1025, '1'), "no line of text, or longer"},
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
  EXPECT_THAT(refusal([&] { RunFiles({twice, twice}, 1); }), HasSubstr(twice + ": the same file"));
  EXPECT_THAT(refusal([&] { RunFiles({.rows = twice, .couplings = {twice}}, 1); }), HasSubstr("the same file"));
  EXPECT_THAT(refusal([&] { RunFiles({.couplings = {twice, path("./t.csv")}}, 2); }), HasSubstr("the same file"));
  EXPECT_THAT(refusal([&] { RunFiles({.couplings = {twice}}, 2); }), HasSubstr("one for each sample, and there are 2"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// ---- Checkpoints

/// Holds a state and streams, and does nothing.
class Still : public Simulation, public Resumable {
 public:
  Still(const Problem& problem, int words) : problem_(problem), words_(words) { restart(); }
  void restart() override {
    state_ = {problem_.size, problem_.samples, problem_.replicas, {}};
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        const std::vector<Spin> spins = start_spins(problem_, sample, replica);
        state_.spins.insert(state_.spins.end(), spins.begin(), spins.end());
      }
    }
    streams_.assign(words_, std::vector<std::uint32_t>(groups(problem_) * sites(problem_)));
    for (std::vector<std::uint32_t>& word : streams_) {
      std::generate(word.begin(), word.end(), std::minstd_rand0(static_cast<unsigned>(1 + (&word - streams_.data()))));
    }
  }
  double advance(std::int64_t half_sweeps) override {
    half_sweeps_ += half_sweeps;
    return 0;
  }
  std::int64_t half_sweeps() const override { return half_sweeps_; }
  State state() const override { return state_; }
  int stream_words() const override { return words_; }
  void save_streams(const TakeWord& take) const override { std::for_each(streams_.begin(), streams_.end(), take); }
  void resume(std::int64_t half_sweeps, const State& state, const GiveWord& give) override {
    half_sweeps_ = half_sweeps;
    state_ = state;
    std::for_each(streams_.begin(), streams_.end(), give);
  }
  Launch launch() const override { return {}; }
  double bytes_per_flip() const override { return 0; }

  Problem problem_;
  int words_;
  std::int64_t half_sweeps_ = 0;
  State state_;
  std::vector<std::vector<std::uint32_t>> streams_;
};

Saved run_of(const Problem& problem) {
  Run run{problem, 1 / problem.beta, 1000, "every:16", {}, "0123456789abcdef"};
  return {.run = run, .stage = "stage", .platform = "cpu"};
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST_F(FilesTest, CheckpointsBringEverythingBack) {
  for (const auto& [samples, replicas, generator] :
       {std::tuple{1, 1, Generator::philox}, {3, 3, Generator::minstd}, {5, 2, Generator::parisi_rapuano}}) {
    Problem problem{.size = 6, .beta = 0.1 + 0.2, .samples = samples, .replicas = replicas, .samples_per_stream = 2};
    problem.generator = generator;
    const int words = stream_words(generator).value();
    Still simulation(problem, words);
    Saved saved = run_of(problem);
    saved.sweeps = 17;
    saved.rows = RowJournal::Extent{12, ~std::uint64_t{0}};
    saved.run.outputs.rows = "/tmp/\xff\x80\xc3\xa4\n\"x.csv";  // not UTF-8
    saved.run.coupling_files = std::vector<std::string>(samples, "a\xfe");
    saved.result.seconds = 1.0 / 3;
    saved.result.energy = -123;
    saved.result.magnetisation = 7;
    saved.result.averages = {{0, {}}, {16, {Average{0.1, 1e-300}, Average{-1, std::nullopt}}}};
    if (samples == 3) {
      saved.run.outputs.correlations = "/c.csv";
      for (AveragesAt& at : saved.result.averages) {
        at.correlations = Correlations{{{1, 0}, {0.5, 0.1}, {0.25, std::nullopt}, {-0.125, 0.2}}, std::nullopt};
      }
      saved.result.averages[1].correlations->xi_12 = Average{1.5, 0.25};
    }
    OutputFile file(path("c"));
    write_checkpoint(file, saved, simulation);
    file.commit();

    Checkpoint checkpoint(path("c"));
    const Saved& back = checkpoint.saved();
    EXPECT_EQ(as_json(back), as_json(saved));
    EXPECT_EQ(back.run.outputs.rows, saved.run.outputs.rows);
    EXPECT_EQ(back.run.coupling_files, saved.run.coupling_files);
    EXPECT_EQ(back.run.problem.beta, 0.1 + 0.2);
    EXPECT_EQ(back.stage + back.platform + back.run.couplings_hash, "stagecpu0123456789abcdef");
    EXPECT_EQ(back.sweeps, 17);
    EXPECT_EQ(back.result.seconds, 1.0 / 3);
    EXPECT_EQ(back.result.energy, saved.result.energy);
    EXPECT_EQ(back.result.magnetisation, 7);
    EXPECT_EQ(back.rows, saved.rows);
    ASSERT_EQ(back.result.averages.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const AveragesAt &one = back.result.averages[i], &other = saved.result.averages[i];
      EXPECT_EQ(one.sweep, other.sweep);
      EXPECT_EQ(one.averages, other.averages);
      ASSERT_EQ(one.correlations.has_value(), other.correlations.has_value());
      if (one.correlations) {
        EXPECT_EQ(one.correlations->c4, other.correlations->c4);
        EXPECT_EQ(one.correlations->xi_12, other.correlations->xi_12);
      }
    }
    Still other(problem, words);
    other.state_.spins.assign(other.state_.spins.size(), 0);
    other.streams_.assign(words, std::vector<std::uint32_t>(other.streams_.empty() ? 0 : other.streams_[0].size()));
    checkpoint.restore(other);
    EXPECT_EQ(other.half_sweeps_, 34);
    EXPECT_EQ(other.state_, simulation.state_);
    EXPECT_EQ(other.streams_, simulation.streams_);
  }
}

TEST_F(FilesTest, DamagedCheckpointsAreRefused) {
  const Problem problem{.size = 4, .samples = 1, .replicas = 1};
  OutputFile file(path("c"));
  Saved saved = run_of(problem);
  saved.result.averages = {{0, {Average{0.1, 0.2}}}};
  write_checkpoint(file, saved, Still(problem, 1));
  file.commit();
  const std::string good = content(path("c"));
  EXPECT_NO_THROW(Checkpoint(path("c")));
  write_file(path("d"), good);
  const auto refused = [&](const std::string& bytes) {
    // In place: a file that is emptied first is written to the disk at once by some file systems.
    std::filesystem::resize_file(path("d"), bytes.size());
    std::fstream(path("d"), std::ios::binary | std::ios::in | std::ios::out) << bytes;
    const std::string message = refusal([&] { Checkpoint(path("d")); });
    EXPECT_THAT(message, HasSubstr(path("d") + ": "));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0);
    return message;
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      refused(bad);
    }
  }
  for (std::size_t length = 0; length < good.size(); ++length) {
    refused(good.substr(0, length));
  }
  EXPECT_THAT(refused(good + '\0'), HasSubstr("damaged"));
  EXPECT_THAT(refused(good + good), HasSubstr("damaged"));
  EXPECT_THAT(refused(std::string(5000, '\0')), HasSubstr("not a checkpoint"));
  EXPECT_THAT(refused("sweep,e\n0,1\n"), HasSubstr("not a checkpoint"));
  std::string newer = good;
  newer[8] = 2;
  EXPECT_THAT(refused(newer), HasSubstr("a checkpoint of version 2; this program has version 1"));
  EXPECT_THAT(refusal([&] { Checkpoint(path("none")); }), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(refusal([&] { Checkpoint c(folder_); }), HasSubstr("a checkpoint is a regular file"));
}

/// A checkpoint with another description, or other bytes after it, and the checksum that goes with them.
struct Crafted {
  nlohmann::ordered_json json;
  std::string text{}, rest;  ///< the text is the description, if it is not empty

  explicit Crafted(const std::string& bytes) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[16])) |
                        static_cast<std::size_t>(static_cast<unsigned char>(bytes[17])) << 8;
    json = nlohmann::ordered_json::parse(bytes.substr(24, length));
    rest = bytes.substr(24 + length, bytes.size() - 32 - length);
  }
  std::string bytes() const {
    const std::string description = text.empty() ? json.dump() : text;
    const std::uint64_t length = description.size();
    std::string result = "psFlip3D" + std::string("\1\0\0\0\0\0\0\0", 8) + in_memory(length) + description + rest;
    Checksum sum;
    sum.add(result.data(), result.size());
    return result + in_memory(sum.value());
  }
  template <class T>
  static std::string in_memory(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  template <class T>
  void put(std::size_t place, const T& value) {
    rest.replace(place, sizeof value, in_memory(value));
  }
};

TEST_F(FilesTest, CraftedCheckpointsAreRefused) {
  const Problem problem{.size = 4, .samples = 2, .replicas = 1, .samples_per_stream = 1};
  Saved saved = run_of(problem);
  saved.sweeps = 17;
  saved.rows = RowJournal::Extent{2, 0};
  saved.run.outputs.rows = "/tmp/rows.csv";
  saved.run.outputs.correlations = "/tmp/c.csv";
  const AveragesAt first{0, {Average{0.1, 0.2}}, Correlations{{{1, 0}, {0.5, 0.1}, {0.25, 0}}, std::nullopt}};
  AveragesAt second = first;
  second.sweep = 16;
  saved.result.averages = {first, second};
  OutputFile file(path("c"));
  write_checkpoint(file, saved, Still(problem, 1));
  file.commit();
  const Crafted good(content(path("c")));
  const auto refused = [&](const auto& change) {
    Crafted crafted = good;
    change(crafted);
    write_file(path("d"), crafted.bytes());
    return refusal([&] { Checkpoint(path("d")); });
  };
  EXPECT_EQ(refused([](Crafted&) {}), "accepted");
  const std::string none = path("d") + ": not a checkpoint of spin_glass";

  // Every field: gone, of another type, or a value that it cannot have.
  using Json = nlohmann::ordered_json;
  const std::uint64_t huge = ~std::uint64_t{0};
  const std::map<std::string, std::vector<Json>> wrong = {
      {"--size", {0, 1, 2, 7, -4, 1626, 4.0, 1e300, true, "4", huge}},
      {"--samples", {0, -1, 1, 3, 1 << 24, (1 << 24) + 1, 1.5, huge}},
      {"--first-sample", {-1, (1 << 26) - 1, 0.5, huge, nullptr}},
      {"--spins", {1, {"a"}}},
      {"--sums", {1}},
      {"--write-spins", {true}},
      {"--replicas", {0, -1, 2, 1 << 24, std::int64_t{1} << 62}},
      {"--samples-per-stream", {0, -1, 2, (1 << 24) + 1, "1"}},
      {"--generator", {"curand-xorwow", "mt19937", "philox", "MINSTD", "", 0, 7}},
      {"--seed", {-1, 1.5, "42"}},
      {"--start", {"down", 1, 2}},
      {"--measure", {"end", "log", "every:0", "every:016", "every:15", "\n", 16}},
      {"--temperature", {0, -1.0, 2, "1", nullptr}},
      {"--temperatures", {{1.0}, {2.0, 1.0}, {1.0, 2.0}, {"1", "2"}, {1.0, nullptr}, "1,2", 1, nullptr}},
      {"--exchange-every", {0, -1, 1.5, "10", huge, nullptr}},
      {"--beta", {-1, 2, 1e308, "1", nullptr}},
      {"--ferromagnetic-fraction", {-0.1, 1.1, "0.5", nullptr}},
      {"--couplings", {{"a"}, {"a", "b", "c"}, {1, 2}, {"a", "\u20ac"}, "ab", Json::object(), nullptr}},
      {"--sweeps", {-1, 16, 100'000'000'001, huge, 1e3, 1.0}},
      {"--write-couplings", {{"a"}, {"a", {"b"}}, {nullptr, nullptr}}},
      {"--output", {1, false, std::string("a\0b", 3), "\u20ac", nullptr}},
      {"--averages", {1, Json::array()}},
      {"--correlations", {1, nullptr}},
      {"--json", {0, 1, "true", nullptr}},
      {"--checkpoint-every", {10, true}},
      {"--device", {0}},
      {"--indexing", {"diagonal", "auto", 1, Json::array()}},
      {"--kernel", {"", "Wide", Json::object()}},
      {"--threads", {0, -1, 1025, 1.5, 64.0, "64", huge, true}},
      {"--cluster", {1025}},
      {"--samples-per-word", {std::int64_t{1} << 32, {1}}},
      {"program", {}},
      {"stage", {1}},
      {"platform", {nullptr}},
      {"options", {1, "text", Json::array(), nullptr}},
      {"couplings_hash", {"0123456789abcde", "0123456789abcdeF", "\n123456789abcdef", 5}},
      {"sweeps", {-1, 15, 1001, 17.0, 1e300, huge, "17"}},
      {"seconds", {-1, "1", nullptr}},
      {"energy", {-385, 385, 0.5, huge}},
      {"magnetisation", {-129, 129, std::int64_t{1} << 62}},
      {"averages", {-1, 0, 1, 3, 1e300, 2.5, huge, std::int64_t{1} << 60}},
      {"stream_words", {-1, 0, 2, 624, 1.0, std::int64_t{1} << 62}},
      {"rows",
       {1,
        "2",
        Json::object(),
        {{"records", 1}, {"checksum", 0}},
        {{"records", 2}, {"checksum", -1}},
        {{"records", 2.0}, {"checksum", 0}},
        {{"records", -1}, {"checksum", 0}},
        nullptr}},
  };
  for (const auto& [name, values] : wrong) {
    const auto holder = [&](Crafted& crafted) -> Json& {
      return name.starts_with("--") ? crafted.json["options"] : crafted.json;
    };
    for (const Json& value : values) {
      const std::string message = refused([&](Crafted& crafted) { holder(crafted)[name] = value; });
      EXPECT_THAT(message, testing::StartsWith(none)) << name << " is " << value;
      EXPECT_THAT(message, testing::Not(HasSubstr("\n"))) << name << " is " << value;
    }
    const bool may_be_missing = name == "--indexing" || name == "--kernel" || name == "--threads" ||
                                name == "--cluster" || name == "--samples-per-word" || name == "program" ||
                                name == "--temperatures" || name == "--exchange-every" || name == "--first-sample" ||
                                name == "--spins" || name == "--sums" || name == "--write-spins";
    EXPECT_EQ(refused([&](Crafted& crafted) { holder(crafted).erase(name); }), may_be_missing ? "accepted" : none);
  }
  for (const auto& item : good.json["options"].items())  // none was forgotten
    EXPECT_TRUE(item.value().is_null() || wrong.contains(item.key())) << item.key();
  for (const auto& item : good.json.items()) EXPECT_TRUE(wrong.contains(item.key())) << item.key();

  for (const std::string& text : {std::string("[]"), std::string("{}"), std::string("{"), std::string("\"\xff\""),
                                  "{\"options\": " + std::string(100000, '[') + std::string(100000, ']') + "}",
                                  good.json.dump() + "x", std::string("{\"sweeps\": 1e999}")})
    EXPECT_THAT(refused([&](Crafted& crafted) { crafted.text = text; }), testing::StartsWith(none));
  std::string many = "{";
  for (int i = 0; i < 100000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.text = many + "\"x\":0}"; }), HasSubstr("too large"));

  // What follows the description: two rows of sweep, 5 averages, xi_12 and 3 C4; 128 spins; 128 words.
  constexpr std::size_t row = 8 * (1 + 2 * 9), words = 2 * row + 16;
  const double infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double sweep : {-1.0, 0.5, 1.0, 1e300, infinite, nan})
    EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(0, sweep); }), HasSubstr("the sweep of an average"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(row, 0.0); }), HasSubstr("the sweep of an average"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(8, infinite); }), HasSubstr("an average"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(8, nan); }), HasSubstr("an average"));  // with an error
  for (const double error : {-0.1, infinite})
    EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(row + 16, error); }), HasSubstr("an average"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(8 * 13, nan), crafted.put(8 * 14, nan); }), none);  // C4(0)
  for (const std::size_t word : {std::size_t{0}, std::size_t{127}})
    for (const std::uint32_t state : {0U, 0x7fffffffU, 0x80000001U})
      EXPECT_THAT(refused([&](Crafted& crafted) { crafted.put(words + 4 * word, state); }),
                  HasSubstr("the state of a random stream"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.rest += "xxxx"; }), HasSubstr("the number of spins"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.rest.pop_back(); }), HasSubstr("the number of spins"));
  EXPECT_THAT(refused([&](Crafted& crafted) { crafted.rest.clear(); }), HasSubstr("the number of averages"));
  std::string longer_description = good.bytes();
  longer_description.replace(16, 8, Crafted::in_memory(longer_description.size() - 31));
  Checksum sum;
  sum.add(longer_description.data(), longer_description.size() - 8);
  longer_description.replace(longer_description.size() - 8, 8, Crafted::in_memory(sum.value()));
  write_file(path("d"), longer_description);
  EXPECT_THAT(refusal([&] { Checkpoint(path("d")); }), HasSubstr("damaged"));
}

TEST_F(FilesTest, JournalsBringBackTheRowsOfTheirExtent) {
  const Problem problem{.size = 4, .samples = 2, .replicas = 3};
  const auto observables = [](std::int64_t i) {
    return SampleObservables{{i, i + 1, i + 2}, {-i, -i, -i}, {7 * i, 8 * i, 9 * i}};
  };
  RowJournal::Extent extent;
  {
    RowJournal journal(path("r"), problem, {}, {});
    EXPECT_EQ(journal.synchronise(), extent);
    for (const std::int64_t sweep : {0, 1, 2}) {
      for (const std::int64_t sample : {0, 1}) {
        journal.add(sweep, sample, observables(10 * sweep + sample));
      }
      if (sweep == 1) {
        extent = journal.synchronise();
      }
    }
  }
  EXPECT_EQ(extent.records, 2);
  const std::string all = content(path("r"));
  EXPECT_EQ(all.size(), 3 * (1 + 2 * 9) * 8u);

  const auto reopen = [&](const RowJournal::Extent& wanted) {
    std::vector<std::pair<std::int64_t, SampleObservables>> rows;
    RowJournal journal(path("r"), problem, wanted,
                       [&](std::int64_t sweep, std::int64_t sample, const SampleObservables& row) {
                         rows.emplace_back(10 * sweep + sample, row);
                       });
    journal.add(2, 0, observables(20));
    journal.add(2, 1, observables(21));
    EXPECT_EQ(journal.synchronise().records, wanted.records + 1);
    return rows;
  };
  const auto rows = reopen(extent);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].first, (std::array<std::int64_t, 4>{0, 1, 10, 11})[i]);
    EXPECT_EQ(rows[i].second, observables(rows[i].first));
  }
  EXPECT_EQ(content(path("r")), all);  // what was cut off came again

  for (const std::size_t length : {std::size_t{0}, all.size() / 3, 2 * all.size() / 3 - 1}) {
    write_file(path("r"), all.substr(0, length));
    EXPECT_THAT(refusal([&] { reopen(extent); }),
                HasSubstr(path("r") + ": not the rows that the checkpoint goes with"));
    EXPECT_EQ(content(path("r")).size(), length);
  }
  std::string bad = all;
  bad[100] ^= 1;
  write_file(path("r"), bad);
  EXPECT_THAT(refusal([&] { reopen(extent); }), HasSubstr("or damaged"));
  EXPECT_EQ(content(path("r")), bad);
  bad = all;  // the first time measured twice
  std::copy_n(all.begin(), 8, bad.begin() + static_cast<std::ptrdiff_t>(all.size() / 3));
  write_file(path("r"), bad);
  Checksum sum;
  sum.add(bad.data(), 2 * bad.size() / 3);
  EXPECT_THAT(refusal([&] { reopen({2, sum.value()}); }), HasSubstr("or damaged"));
  std::filesystem::remove(path("r"));
  EXPECT_THAT(refusal([&] { reopen(extent); }), HasSubstr("cannot be opened"));
  EXPECT_TRUE(reopen({}).empty());
}

TEST_F(FilesTest, CheckpointsAreTakenWhenTheyAreDue) {
  const Problem problem{.size = 4, .samples = 1, .replicas = 1};
  Checkpointer by_sweeps(path("c"), false);
  by_sweeps.set_interval("10");
  Still simulation(problem, 1);
  by_sweeps.begin(run_of(problem), nullptr, simulation);
  EXPECT_EQ(by_sweeps.next(0), 10);
  EXPECT_EQ(by_sweeps.next(9), 10);
  EXPECT_EQ(by_sweeps.next(10), 20);
  EXPECT_FALSE(by_sweeps.is_due(9));
  EXPECT_TRUE(by_sweeps.is_due(10));
  simulation.advance(20);
  by_sweeps.save(simulation, {.averages = {{0, {}}}});
  EXPECT_FALSE(by_sweeps.is_due(10));
  EXPECT_EQ(Checkpoint(path("c")).saved().sweeps, 10);
  EXPECT_THAT(refusal([&] { Checkpointer(path("c"), false); }), HasSubstr("another program is writing it"));
  EXPECT_THAT(refusal([&] { Checkpointer(path("c"), true); }), HasSubstr("another program is writing it"));
  for (const char* every :
       {"", "0", "-1", "1.5", "10s", "m", "10 m", "10mm", "007", "010m", "9999999999", "0m", "1d", "10M"}) {
    EXPECT_THAT(refusal([&] { by_sweeps.set_interval(every); }), HasSubstr("--checkpoint-every is")) << every;
  }
  by_sweeps.set_interval("1m");
  EXPECT_EQ(by_sweeps.next(10), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(by_sweeps.is_due(1000));
}

TEST(OptionsOfAResumedRun, MayNotMakeItAnother) {
  Problem problem{.size = 6, .beta = 0.5, .samples = 3, .replicas = 2, .samples_per_stream = 2, .seed = 7};
  auto saved = run_of(problem).run;
  saved.outputs.averages = "/a.csv";
  const auto same_run = [](const auto& one, const auto& other) {
    return as_json({.run = one}) == as_json({.run = other}) && one.couplings_hash == other.couplings_hash;
  };
  Options alone;
  alone.resume = "c";
  EXPECT_TRUE(same_run(make_run(alone, &saved), saved));

  const auto refused = [&](auto change) {
    Options given = alone;
    change(given);
    return refusal([&] { make_run(given, &saved); });
  };
  EXPECT_EQ(refused([](Options& o) { o.size = 8; }), "--size is 8: the run to be resumed has 6; leave --size out");
  EXPECT_THAT(refused([](Options& o) { o.temperature = 1.1; }),
              HasSubstr("--temperature is 1.1: the run to be resumed has 2.0"));
  EXPECT_THAT(refused([](Options& o) { o.beta = 0.6; }), HasSubstr("--beta is 0.6: the run to be resumed has 0.5"));
  EXPECT_THAT(refused([](Options& o) { o.samples = 1; }), HasSubstr("--samples is 1"));
  EXPECT_THAT(refused([](Options& o) { o.replicas = 4; }), HasSubstr("--replicas is 4"));
  EXPECT_THAT(refused([](Options& o) { o.samples_per_stream = 32; }), HasSubstr("--samples-per-stream is 32"));
  EXPECT_THAT(refused([](Options& o) { o.generator = Generator::philox; }), HasSubstr("--generator is philox"));
  EXPECT_THAT(refused([](Options& o) { o.seed = 42; }), HasSubstr("--seed is 42"));
  EXPECT_THAT(refused([](Options& o) { o.start = Start::ordered; }), HasSubstr("--start is ordered"));
  EXPECT_THAT(refused([](Options& o) { o.ferromagnetic_fraction = 0.6; }),
              HasSubstr("--ferromagnetic-fraction is 0.6"));
  EXPECT_THAT(refused([](Options& o) { o.couplings = {"x"}; }), HasSubstr("--couplings is x"));
  EXPECT_THAT(refused([](Options& o) { o.measure = "end"; }),
              HasSubstr("--measure is end: the run to be resumed has every:16"));
  EXPECT_THAT(refused([](Options& o) { o.outputs.rows = "x.csv"; }), HasSubstr("--output is x.csv"));
  EXPECT_THAT(refused([](Options& o) { o.outputs.correlations = "x.csv"; }), HasSubstr("--correlations is x.csv"));
  EXPECT_THAT(refused([](Options& o) { o.checkpoint = "d"; }), HasSubstr("--checkpoint is d"));

  Options same = alone;  // what changes nothing may be said again
  same.size = 6;
  same.temperature = 2;
  same.seed = 7;
  same.measure = "every:16";
  same.checkpoint = "./c";
  EXPECT_TRUE(same_run(make_run(same, &saved), saved));
  Options more = alone;
  more.sweeps = 2000;
  more.outputs.averages = "b.csv";
  auto longer = saved;
  longer.sweeps = 2000;
  longer.outputs.averages = "b.csv";
  EXPECT_TRUE(same_run(make_run(more, &saved), longer));
}

TEST(LaunchFields, AreWhatALaunchHas) {
  LaunchValues values;
  for (const LaunchField& field : launch_fields()) {
    EXPECT_EQ(field.get({}), std::nullopt) << field.name;
    values[field.name] = field.words.empty() ? std::to_string(field.most) : field.words.back();
    EXPECT_THAT(field.option, testing::MatchesRegex("--[a-z-]+"));
  }
  const Launch launch = launch_with<Launch>(values, 3);
  EXPECT_EQ(launch.device, 3);
  EXPECT_EQ(launch.indexing, Indexing::sliced_grid);
  EXPECT_EQ(launch.cluster, 1024);
  EXPECT_EQ(launch.transport, Transport::peer);
  EXPECT_EQ(values_of(launch), values);
  EXPECT_EQ(values_of(launch_with<Launch>({{"kernel", "auto"}, {"threads", "7"}}, 0)),
            (LaunchValues{{"threads", "7"}}));
  EXPECT_EQ(in_words(Launch{.threads = 7, .samples_per_word = 64}), "threads 7, samples per word 64");
  EXPECT_EQ(in_words(Launch{}), "left to the stage");
}

TEST(WhatACheckpointSays, MayBeOlderThanAnOptionOfTheLaunch) {
  Saved saved = run_of(Problem{});
  saved.launch = {{"kernel", "wide"}, {"threads", "64"}};
  nlohmann::ordered_json json = as_json(saved);
  EXPECT_EQ(json.erase("--transport"), 1);
  EXPECT_EQ(as_json(saved_of(json)), as_json(saved));
  EXPECT_EQ(json.erase("--size"), 1);
  EXPECT_THROW(saved_of(json), nlohmann::json::exception);
}

TEST(WhatACheckpointSays, MayNameAKernelThatIsNoMore) {
  Saved saved = run_of(Problem{});
  saved.launch = {{"kernel", "wide"}, {"threads", "64"}};
  nlohmann::ordered_json json = as_json(saved);
  json["--kernel"] = "fused";
  EXPECT_EQ(saved_of(json).launch, LaunchValues{});
  json["--kernel"] = "never";
  EXPECT_ANY_THROW(saved_of(json));
  json["--kernel"] = 5;
  EXPECT_ANY_THROW(saved_of(json));
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

TEST(Observables, CorrelateOverlapsAlongTheAxes) {
  for (const std::int64_t size : {4, 6, 10}) {
    const Problem problem{.size = size, .samples = 1, .replicas = 3};
    State state{size, 1, 3, {}};
    for (std::int64_t replica = 0; replica < 3; ++replica) {
      const std::vector<Spin> spins = start_spins(problem, 0, replica);
      state.spins.insert(state.spins.end(), spins.begin(), spins.end());
    }
    const SampleObservables observables = observe(state, 0, sample_couplings(problem, 0), true);
    ASSERT_EQ(std::ssize(observables.correlations), 3 * (size / 2 + 1));
    EXPECT_TRUE(observe(state, 0, sample_couplings(problem, 0)).correlations.empty());
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = a + 1; b < 3; ++b) {
        const auto q = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
          const std::int64_t s = x % size + size * (y % size + size * (z % size));
          return state.of(0, a)[s] * state.of(0, b)[s];
        };
        for (std::int64_t r = 0; r <= size / 2; ++r) {
          std::int64_t expected = 0;
          for (std::int64_t x = 0; x < size; ++x) {
            for (std::int64_t y = 0; y < size; ++y) {
              for (std::int64_t z = 0; z < size; ++z) {
                expected += q(x, y, z) * (q(x + r, y, z) + q(x, y + r, z) + q(x, y, z + r));
              }
            }
          }
          EXPECT_EQ(observables.correlations[pair_index(3, a, b) * distances(size) + r], expected);
        }
        EXPECT_EQ(observables.correlations[pair_index(3, a, b) * distances(size)], 3 * size * size * size);
      }
    }
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
  Problem problem{.samples = 2};
  problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(
      std::initializer_list<std::vector<Coupling>>{{-1}, {1}});
  EXPECT_EQ(hex(couplings_hash(problem)), "08328707b4eb6e3a");
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

/// f = x^2 y of two quantities, five samples in groups of two, two and one, by writing the definition down.
TEST(Jackknife, IsThatOfADirectCalculation) {
  const std::vector<std::vector<double>> values{{1, 2, 4, 8, 5}, {3, 1, 4, 1, 5}};
  const auto f = [](std::span<const double> means) -> std::optional<double> { return means[0] * means[0] * means[1]; };
  const double all = 4.0 * 4.0 * 2.8;
  const double without[] = {std::pow((4 + 8 + 5) / 3.0, 2) * (4 + 1 + 5) / 3.0,
                            std::pow((1 + 2 + 5) / 3.0, 2) * (3 + 1 + 5) / 3.0,
                            std::pow((1 + 2 + 4 + 8) / 4.0, 2) * (3 + 1 + 4 + 1) / 4.0};
  const double left[] = {0.6, 0.6, 0.8};
  double squares = 0;
  for (int g = 0; g < 3; ++g) {
    squares += std::pow(left[g] * (without[g] - all), 2);
  }
  const auto found = jackknife_over_groups(values, 2, f);
  EXPECT_DOUBLE_EQ(found->value, all);
  EXPECT_DOUBLE_EQ(*found->error, std::sqrt(1.5 * squares));
}

TEST(Jackknife, IsTheErrorOfTheMeanForMeans) {
  const std::vector<double> values{1, 5, 2, 2, 7, -3, 4};
  const auto mean = [](std::span<const double> means) { return std::optional(3 * means[0] + 1); };
  for (const std::int64_t width : {1, 2, 3, 4}) {
    const auto found = jackknife_over_groups({values}, width, mean);
    const auto expected = average_over_groups(values, width);
    EXPECT_DOUBLE_EQ(found->value, 3 * expected->value + 1);
    EXPECT_NEAR(*found->error, 3 * *expected->error, 1e-13);
  }
  EXPECT_EQ(jackknife_over_groups({values}, 7, mean)->error, std::nullopt);
  EXPECT_EQ(jackknife_over_groups({}, 1, mean), std::nullopt);
  EXPECT_EQ(jackknife_over_groups({values}, 1, [](auto) { return std::optional<double>(); }), std::nullopt);
}

TEST(CoherenceLength, IsARatioOfSums) {
  const std::vector<double> c4{1, 0.5, 0.25, 0.125};
  // Trapezoidal rule: I_1 = 0.5 + 0.5 + 0.375/2, I_2 = 0.5 + 1 + 1.125/2
  EXPECT_DOUBLE_EQ(*coherence_length(c4, {}, 4), 2.0625 / 1.1875);
  EXPECT_DOUBLE_EQ(*coherence_length(c4, {}, 3), 1.5);  // two distances are no tail
  EXPECT_DOUBLE_EQ(*coherence_length(c4, {}, 2), 1);
  EXPECT_EQ(coherence_length(c4, {}, 1), std::nullopt);
  EXPECT_EQ(coherence_length(c4, {}, 0), std::nullopt);
}

TEST(CoherenceLength, GoesOnBeyondTheCutoffAsTheDataBegin) {
  // Data that are the form itself: whatever is cut off comes back, whatever is there instead does not matter.
  std::vector<double> c4{1}, errors{0};
  for (int r = 1; r <= 40; ++r) {
    c4.push_back(0.7 * std::pow(r, -0.4) * std::exp(-std::pow(r / 6.5, 1.5)));
    errors.push_back(0.001 * (1 + r % 3));
  }
  const double whole = *coherence_length(c4, errors, 41);
  for (const std::int64_t cutoff : {4, 6, 8, 20, 40}) {
    std::vector<double> noisy = c4;
    std::fill(noisy.begin() + cutoff, noisy.end(), 17);
    EXPECT_NEAR(*coherence_length(noisy, errors, cutoff), whole, 1e-9) << cutoff;
    EXPECT_NEAR(*coherence_length(noisy, {}, cutoff), whole, 1e-9) << cutoff;
  }
  // What does not decay is not continued.
  const std::vector<double> flat(41, 0.5);
  EXPECT_DOUBLE_EQ(*coherence_length(flat, errors, 6), (1 + 4 + 9 + 16 + 25) / 15.0);
}

TEST(CoherenceLength, IsCutWhereTheNoiseBegins) {
  const auto cutoff = [](std::vector<double> values, std::optional<double> error) {
    std::vector<Average> c4;
    for (const double value : values) {
      c4.push_back({value, error});
    }
    return coherence_cutoff(c4);
  };
  EXPECT_EQ(cutoff({1, 0.5, 0.375, 0.37, 0.4}, 0.125), 3);
  EXPECT_EQ(cutoff({1, 0.5, 0.375, 0.375, 0.4}, 0.125), 5);
  EXPECT_EQ(cutoff({1, 0.5, -0.1, 0.29, 0.4}, std::nullopt), 2);
  EXPECT_EQ(cutoff({1, 0.5, 0.1, 0.29, 0.4}, std::nullopt), 5);
}

TEST(Averages, HaveCorrelationsOfAllPairsAndTheirErrors) {
  const Problem problem{.size = 4, .samples = 2, .replicas = 3, .samples_per_stream = 1};
  Averager averager(problem);
  EXPECT_EQ(averager.correlations(), std::nullopt);
  averager.add({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {192, 96, 48, 192, 96, 48, 192, 96, 48}});
  averager.add({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {192, 0, 0, 192, 96, 24, 192, 48, 24}});
  const Correlations correlations = averager.correlations().value();
  EXPECT_EQ(correlations.c4[0], (Average{1, 0}));
  EXPECT_DOUBLE_EQ(correlations.c4[1].value, (0.5 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(*correlations.c4[1].error, 0.125);
  EXPECT_DOUBLE_EQ(correlations.c4[2].value, (0.25 + 0.25 / 3) / 2);
  // 3 errors at r = 1 are C4 itself, and 1/12 is half of it at r = 2.
  EXPECT_DOUBLE_EQ(correlations.xi_12->value, 1);
  EXPECT_DOUBLE_EQ(*correlations.xi_12->error, 0);
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
  EXPECT_THAT(times("log:1", 10), ElementsAre(0, 1, 2, 4, 8, 10));
  EXPECT_THAT(times("log:2", 25), ElementsAre(0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 25));
  EXPECT_THAT(times("log:1000", 12), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_EQ(times("log:4", 100'000'000'000).back(), 100'000'000'000);
  EXPECT_EQ(times("log", 100'000'000'000).size(), 39u);
}

TEST(Schedule, HasPowersOfTwoInEveryLog) {
  for (const std::int64_t k : {1, 3, 7, 1000}) {
    const Schedule schedule("log:" + std::to_string(k), 100'000'000'000);
    for (std::int64_t power = 1; power < 100'000'000'000; power *= 2) {
      EXPECT_TRUE(schedule.has(power)) << k << ' ' << power;
    }
  }
}

TEST(Schedule, KnowsWhatItHas) {
  for (const char* rule : {"end", "log", "log:3", "every:7"}) {
    const std::vector<std::int64_t> all = times(rule, 50);
    const Schedule schedule(rule, 50);
    for (std::int64_t time = -1; time <= 60; ++time) {
      EXPECT_EQ(schedule.has(time), std::ranges::count(all, time) == 1) << rule << ' ' << time;
      if (time < 50) {
        EXPECT_EQ(schedule.after(time), *std::ranges::upper_bound(all, time)) << rule << ' ' << time;
      }
    }
  }
}

TEST(Schedule, RefusesOtherRules) {
  for (const char* rule :
       {"", "Log", "every", "every:", "every:0", "every:-1", "every:1.5", "every:x", "every: 1",
        "every:9223372036854775808", "log:", "log:0", "log:-1", "log:1001", "log:x", "log:2.5", "log2"}) {
    EXPECT_THAT(refusal([&] { Schedule(rule, 10); }), HasSubstr("--measure is " + std::string(rule) + ": ")) << rule;
  }
}

}  // namespace
}  // namespace psflip::spin_glass
