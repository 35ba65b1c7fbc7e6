// The parts of common/app, each by what it promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/abrupt_end.hpp"
#include "app/command_line.hpp"
#include "app/files/file_names.hpp"
#include "app/files/output_file.hpp"
#include "app/files/text_file.hpp"
#include "app/host.hpp"
#include "app/interruption.hpp"
#include "app/invalid_input.hpp"
#include "app/progress.hpp"
#include "app/state_hash.hpp"
#include "app/text.hpp"

namespace {
int error_of_locks = 0;  // unless it is 0, locks fail, as on a file system without them
}  // namespace

/// In the place of the C library's.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (error_of_locks == 0) return static_cast<int>(syscall(SYS_flock, descriptor, operation));
  errno = error_of_locks;
  return -1;
}

namespace psflip {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

TEST(StateHash, IsFnv1a) {
  StateHash hash;
  EXPECT_EQ(hex(hash.value()), "cbf29ce484222325");  // of nothing
  hash.add(false);
  EXPECT_EQ(hex(hash.value()), "af63bd4c8601b7df");  // of one zero byte
  hash.add(true);
  EXPECT_EQ(hex(hash.value()), "08328707b4eb6e3a");  // of the bytes 0 and 1
}

TEST(StateHash, IsJoinedFromThoseOfParts) {
  std::uint64_t bits = 0x9e3779b97f4a7c15;
  StateHash all;
  std::uint64_t joined = all.value();
  for (const int spins : {1, 2, 0, 64, 1, 37, 5, 63}) {  // after an even hash and after an odd one
    StateHash part;
    for (int i = 0; i < spins; ++i, bits = bits >> 1 | bits << 63) {
      part.add((bits & 1) != 0);
      all.add((bits & 1) != 0);
    }
    joined = StateHash::joined(joined, part.value(), spins);
    EXPECT_EQ(hex(joined), hex(all.value()));
  }
}

TEST(Host, HasAProcessorAndMemory) {
  EXPECT_THAT(processor_name(), testing::Not(IsEmpty()));
  EXPECT_GT(host_memory_bytes(), 1 << 24);
}

TEST(Host, SaysBytesInThreeDigits) {
  EXPECT_EQ(readable_bytes(0), "0 MB");
  EXPECT_EQ(readable_bytes(1.234e6), "1.23 MB");
  EXPECT_EQ(readable_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(readable_bytes(999.6e9), "1 TB");
  EXPECT_EQ(readable_bytes(2e24), "2e+06 EB");
}

// ---- Text

TEST(Numbers, AreRead) {
  EXPECT_EQ(number_in<int>("0"), 0);
  EXPECT_EQ(number_in<int>("-17"), -17);
  EXPECT_EQ(number_in<std::int64_t>("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(number_in<double>("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(number_in<double>(".5"), 0.5);
  EXPECT_EQ(number_in<double>("10"), 10);
}

TEST(Numbers, AreNothingElse) {
  for (const char* text : {"", "-", "+1", "007", "010", "-01", "00", "-0", "1.0", "1e3", "0x10", " 1", "1 ", "1,", "4x",
                           "2147483648", "nan", "1\n"})
    EXPECT_EQ(number_in<int>(text), std::nullopt) << text;
  EXPECT_EQ(number_in<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(number_in<int>({"1\0", 2}), std::nullopt);
  for (const char* text : {"", ".", "-", "+1", "nan", "inf", "-inf", "1e999", "0x1p1", "1.5x", " 1", "1d0", "1,5"})
    EXPECT_EQ(number_in<double>(text), std::nullopt) << text;
}

TEST(Lines, HaveWords) {
  EXPECT_EQ(split(" \t ").count, 0);
  const Words words = split("  1\t-2 x ");
  EXPECT_EQ(words.count, 3);
  EXPECT_EQ(words.word[0], "1");
  EXPECT_EQ(words.word[1], "-2");
  EXPECT_EQ(words.word[2], "x");
  EXPECT_EQ(split("1 2 3 4 5 6 7 8").count, 6);
  EXPECT_EQ(in_quotes("a\tb\x80"), "\"a?b?\"");
  const std::string most(40, 'x');
  EXPECT_EQ(in_quotes(most), "\"" + most + "\"");
  EXPECT_EQ(in_quotes(most + "x"), "\"" + most + "...\"");
}

TEST(Lines, AreThoseOfTheFile) {
  const std::string path = testing::TempDir() + "psflip_lines." + std::to_string(getpid());
  const auto lines = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    std::vector<std::string> found;
    try {
      TextFile file(path);
      while (const auto line = file.next()) found.emplace_back(*line);
    } catch (const InvalidInput& error) {
      found = {error.what()};
    }
    std::filesystem::remove(path);
    return found;
  };
  EXPECT_THAT(lines(""), IsEmpty());
  EXPECT_THAT(lines("a\r\n\n b\r\n"), testing::ElementsAre("a", "", " b"));
  EXPECT_THAT(lines("a\rb\n\nc"), testing::ElementsAre("a\rb", "", "c"));
  const std::string longest(TextFile::longest_line, 'x');
  EXPECT_THAT(lines(longest + "\r\n" + longest), testing::ElementsAre(longest, longest));
  const auto refused = testing::ElementsAre(path + ": line 2: no line of text, or longer than 1024 characters");
  for (const std::string end : {"", "\n", "\r\n", "y\n"}) {
    EXPECT_THAT(lines("a\n" + longest + "x" + end), refused);
    EXPECT_THAT(lines(std::string("a\nb\0", 4) + end), refused);
  }
  EXPECT_THAT(lines(std::string("a\n\0", 3)), refused);
}

// ---- How a program ends

struct Ending {
  int exit_code;
  std::string out;
  std::string err;
};

Ending run(
    std::vector<const char*> arguments, const std::function<void()>& work = [] {}) {
  CommandLine line("A program.", "prog");
  std::int64_t size = 0;
  line.option("--size", size, "How large.").check(whole_number(1, 99));
  arguments.insert(arguments.begin(), "prog");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = run_program(line, static_cast<int>(arguments.size()), arguments.data(), work);
  return {exit_code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(RunProgram, SucceedsSilently) {
  const Ending ending = run({"--size", "7"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out + ending.err, "");
}

TEST(RunProgram, HelpGoesToStandardOutputAndDoesNoWork) {
  const Ending ending = run({"--help"}, [] { FAIL() << "worked"; });
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_THAT(ending.out, HasSubstr("How large."));
  EXPECT_EQ(ending.err, "");
}

TEST(RunProgram, RefusesWrongOptionsInOneLine) {
  const std::vector<std::vector<const char*>> wrong = {{"--sise", "3"},     {"3"},
                                                       {"--size"},          {"--size", "0"},
                                                       {"--size", "-3"},    {"--size", "100"},
                                                       {"--size", "1e1"},   {"--size", "0x9"},
                                                       {"--size", "010"},   {"--size", "3 "},
                                                       {"--size", ""},      {"--size", "99999999999999999999"},
                                                       {"--size", "3", "4"}};
  for (const std::vector<const char*>& arguments : wrong) {
    const Ending ending = run(arguments, [] { FAIL() << "worked"; });
    EXPECT_EQ(ending.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(ending.err, MatchesRegex("prog: [^\n]+\n"));
    EXPECT_EQ(ending.out, "");
  }
  EXPECT_THAT(run({"--size", "100"}).err, HasSubstr("--size: 100 is not a whole number from 1 to 99"));
}

TEST(RunProgram, TurnsExceptionsIntoOneLine) {
  const Ending invalid = run({}, [] { throw InvalidInput("--size 5: too small"); });
  EXPECT_EQ(invalid.exit_code, 2);
  EXPECT_EQ(invalid.err, "prog: --size 5: too small\n");

  const Ending failure = run({}, [] { throw std::runtime_error("the device\nis gone"); });
  EXPECT_EQ(failure.exit_code, 1);
  EXPECT_EQ(failure.err, "prog: the device is gone\n");

  const Ending files = run({}, [] { static_cast<void>(std::filesystem::file_size("missing")); });
  EXPECT_EQ(files.exit_code, 2);
  EXPECT_EQ(files.err, "prog: missing: No such file or directory\n");

  const Ending memory = run({}, [] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.exit_code, 1);
  EXPECT_EQ(memory.err, "prog: out of memory\n");
}

TEST(RunProgram, EndsWithTheNumberOfASignal) {
  const Ending ending = run({}, [] { throw Interrupted("ended", SIGTERM); });
  EXPECT_EQ(ending.exit_code, 128 + 15);
  EXPECT_EQ(ending.err, "prog: ended\n");
}

// ---- What a command line can hold

enum class Colour { red, blue };
constexpr std::array<std::string_view, 2> names_of(Colour) { return {"red", "blue"}; }

struct Values {
  std::optional<int> threads;
  int repetitions = 3;
  std::uint32_t seed = 42;
  std::uint64_t large = 1;
  double seconds = 0.5;
  std::string device = "auto";
  std::vector<int> widths{7};
  std::optional<Colour> colour;
  std::vector<std::string> files;
  bool json = false;
  std::string handed_over;
};

/// The error, or "".
std::string parse(std::vector<const char*> arguments, Values& values) {
  CommandLine line("A program.", "prog");
  line.option("--threads", values.threads, "");
  line.option("--repetitions", values.repetitions, "").check(whole_number(1));
  line.option("--seed", values.seed, "").excludes("--threads");
  line.option("--large", values.large, "");
  line.option("--seconds", values.seconds, "").check(number(0));
  line.option("--device", values.device, "").check(one_of({"auto", "cpu"}));
  line.option("--width", values.widths, "").delimiter(',');
  line.option("--colour", values.colour, "");
  line.option("--files", values.files, "");
  line.flag("--json", values.json, "").needs("--files");
  line.callback(
      "--raw", [&](const std::string& text) { values.handed_over = text; }, "");
  arguments.insert(arguments.begin(), "prog");
  try {
    line.parse(static_cast<int>(arguments.size()), arguments.data());
    return "";
  } catch (const InvalidInput& error) {
    return error.what();
  }
}

TEST(CommandLine, ReadsEveryKindOfValue) {
  Values values;
  EXPECT_EQ(parse({}, values), "");
  EXPECT_FALSE(values.threads);
  EXPECT_EQ(values.seed, 42);
  EXPECT_THAT(values.widths, testing::ElementsAre(7));

  EXPECT_EQ(parse({"--threads", "-3", "--large", "9223372036854775807", "--seconds", "1e-3", "--device", "cpu",
                   "--width", "8,16", "--colour", "blue", "--files", "a", "[b,c]", "--json", "--raw", "0x1"},
                  values),
            "");
  EXPECT_EQ(values.threads, -3);
  EXPECT_EQ(values.large, 9223372036854775807U);
  EXPECT_EQ(values.seconds, 1e-3);
  EXPECT_EQ(values.device, "cpu");
  EXPECT_THAT(values.widths, testing::ElementsAre(8, 16));
  EXPECT_EQ(values.colour, Colour::blue);
  EXPECT_THAT(values.files, testing::ElementsAre("a", "[b,c]"));
  EXPECT_TRUE(values.json);
  EXPECT_EQ(values.handed_over, "0x1");
}

TEST(CommandLine, RefusesWhatDoesNotFit) {
  const std::vector<std::vector<const char*>> wrong = {{"--threads", "2147483648"},
                                                       {"--threads", "1.5"},
                                                       {"--threads", ""},
                                                       {"--threads", "[1]"},
                                                       {"--threads", "010"},
                                                       {"--seed", "-0"},
                                                       {"--threads", "1", "--threads", "2"},
                                                       {"--repetitions", "0"},
                                                       {"--repetitions", "4294967297"},
                                                       {"--seed", "-1"},
                                                       {"--seed", "4294967296"},
                                                       {"--seed", "1", "--threads", "1"},
                                                       {"--large", "-1"},
                                                       {"--large", "9223372036854775808"},
                                                       {"--seconds", "nan"},
                                                       {"--seconds", "1e999"},
                                                       {"--seconds", "0x1"},
                                                       {"--seconds", "-0.5"},
                                                       {"--seconds", ""},
                                                       {"--device", "gp"},
                                                       {"--width", "8,x"},
                                                       {"--width", "8,"},
                                                       {"--width", ",8"},
                                                       {"--width", "8,,16"},
                                                       {"--width", ""},
                                                       {"--width", "[8]"},
                                                       {"--colour", "green"},
                                                       {"--width"},
                                                       {"--json"},
                                                       {"--files"},
                                                       {"--raw"}};
  for (const std::vector<const char*>& arguments : wrong) {
    Values values;
    EXPECT_THAT(parse(arguments, values), testing::ContainsRegex(arguments.front()))
        << testing::PrintToString(arguments);
  }
  Values values;
  EXPECT_THAT(parse({"--threads", "1", "2"}, values), HasSubstr("not expected: 2"));
  EXPECT_THAT(parse({"--seconds", "-0.5"}, values), testing::StartsWith("--seconds: -0.5 is less than 0;"));
  EXPECT_THAT(parse({"--device", "gp"}, values), testing::StartsWith("--device: gp not in {auto,cpu};"));
  EXPECT_THAT(parse({"--seed", "-1"}, values), testing::StartsWith("--seed: -1 is not a whole number from 0 to 42949"));
}

// ---- Signals

TEST(Interruption, NotesASignalOnceAndLetsTheSecondEndTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const Interruption interruption;
    EXPECT_EQ(interruption.signal(), 0);
    std::raise(signal);
    EXPECT_EQ(interruption.signal(), signal);
    const pid_t child = fork();
    if (child == 0) {
      std::raise(signal);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
  }
}

TEST(Interruption, LeavesIgnoredSignalsIgnoredAndGivesTheOthersBack) {
  const auto before = std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGTERM, before);
  std::signal(SIGHUP, SIG_IGN);
  {
    const Interruption interruption;
    std::raise(SIGHUP);
    EXPECT_EQ(interruption.signal(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), before);
}

// ---- Ends in the middle of work

/// What a child process says before it ends by `end`, and its status.
std::pair<std::string, int> last_words(const std::function<void()>& end) {
  testing::internal::CaptureStderr();
  const pid_t child = fork();
  if (child == 0) {
    prepare_for_abrupt_end("prog");
    end();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {testing::internal::GetCapturedStderr(), status};
}

TEST(AbruptEnd, BySignalsSaysSo) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) {
    std::signal(signal, SIG_DFL);
    const auto [said, status] = last_words([&] { std::raise(signal); });
    EXPECT_EQ(said, "prog: ended by signal " + std::to_string(signal) + "\n");
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
  }
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(last_words([] { std::raise(SIGPIPE); }).first, "");
  std::signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(last_words([] { std::raise(SIGHUP); }), std::pair(std::string(), 0));
  std::signal(SIGHUP, SIG_DFL);
}

/// As in a destructor.
void where_nothing_may_be_thrown(const std::function<void()>& work) noexcept { work(); }

TEST(AbruptEnd, ByExceptionsSaysTheirText) {
  const auto said = [](const auto& exception) {
    return last_words([&] { where_nothing_may_be_thrown([&] { throw exception; }); });
  };
  const auto [text, status] = said(std::runtime_error("it\nbroke"));
  EXPECT_EQ(text, "prog: it broke\n");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_EQ(said(std::bad_alloc()).first, "prog: out of memory\n");
  EXPECT_EQ(last_words([] { std::thread([] { throw std::runtime_error("broke"); }).join(); }).first, "prog: broke\n");
  EXPECT_EQ(last_words([] { std::terminate(); }).first, "prog: ended by an error without a description\n");
}

// ---- Progress

TEST(Progress, SaysDurationsInTwoUnits) {
  EXPECT_EQ(duration_in_words(0), "0 s");
  EXPECT_EQ(duration_in_words(99.4), "99 s");
  EXPECT_EQ(duration_in_words(99.6), "2 min");
  EXPECT_EQ(duration_in_words(59.4 * 60), "59 min");
  EXPECT_EQ(duration_in_words(3600), "1 h 00 min");
  EXPECT_EQ(duration_in_words(3 * 3600 + 5 * 60 + 29), "3 h 05 min");
  EXPECT_EQ(duration_in_words(3 * 3600 - 1), "3 h 00 min");
  EXPECT_EQ(duration_in_words(24 * 3600 - 1), "1 d 00 h");
  EXPECT_EQ(duration_in_words(52 * 3600), "2 d 04 h");
}

TEST(Progress, SaysNothingWhereNobodyWatches) {
  testing::internal::CaptureStderr();
  {
    Progress progress("steps", 100, 10);
    EXPECT_FALSE(progress.watched());
    progress.at(10);
    progress.at(100);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Parts, GrowToATenthOfASecond) {
  Parts parts;
  EXPECT_EQ(parts.next(100), 1);
  parts.took(1, 0.01);
  EXPECT_EQ(parts.next(100), 2);
  parts.took(1, 0.01);  // the end of something is no sign
  EXPECT_EQ(parts.next(100), 2);
  parts.took(2, 0.06);
  EXPECT_EQ(parts.next(100), 2);
  parts.took(2, 0.04);
  EXPECT_EQ(parts.next(100), 4);
  EXPECT_EQ(parts.next(3), 3);
}

TEST(Parts, ShrinkWhereTheyHaveBecomeSlow) {
  Parts parts;
  parts.took(1, 0.01);
  parts.took(2, 0.01);
  parts.took(3, 1);  // the end of something
  EXPECT_EQ(parts.next(100), 4);
  parts.took(4, 1);
  EXPECT_EQ(parts.next(100), 2);
  parts.took(2, 1);
  parts.took(1, 1);
  EXPECT_EQ(parts.next(100), 1);
}

// ---- A file that appears only when complete

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() : folder_(testing::TempDir() + "psflip_output_file." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::filesystem::path folder_;
};

TEST_F(OutputFileTest, AppearsWithCommit) {
  OutputFile file(path("a"));
  std::fputs("text", file.stream());
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  file.commit();
  EXPECT_EQ(read(path("a")), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    OutputFile file(path("a"));
    std::fputs("text", file.stream());
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFileTest, ReplacesAFileOnlyWithCommitAndKeepsItsPermissions) {
  write(path("a"), "old");
  const auto permissions = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path("a"), permissions);
  {
    OutputFile file(path("a"));
    std::fputs("new", file.stream());
    file.flush();
  }
  EXPECT_EQ(read(path("a")), "old");
  {
    OutputFile file(path("a"));
    std::fputs("new", file.stream());
    file.commit();
  }
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), permissions);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, IsWrittenByOneAtATime) {
  OutputFile first(path("a"));
  std::fputs("first", first.stream());
  try {
    OutputFile second(path("a"));
    ADD_FAILURE() << "two at a time";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.what(), path("a") + ": another program is writing it");
  }
  first.commit();
  EXPECT_EQ(read(path("a")), "first");
  OutputFile third(path("a"));
  std::fputs("3", third.stream());
  third.commit();
  EXPECT_EQ(read(path("a")), "3");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, SaysOnceThatThereAreNoLocks) {
  testing::internal::CaptureStderr();
  error_of_locks = ENOLCK;
  {
    const FileLock lock(path("c"));
    OutputFile(path("a")).commit();
    OutputFile(path("b")).commit();
  }
  error_of_locks = 0;
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            path("c") + ": No locks available: no other program should write there\n");
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFileTest, TakesWhatAKilledProgramLeft) {
  const pid_t child = fork();
  if (child == 0) {
    OutputFile file(path("a"));
    std::fputs("long text of another program", file.stream());
    std::fflush(file.stream());
    std::raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(files(), 1);
  OutputFile file(path("a"));
  EXPECT_EQ(files(), 1);
  std::fputs("text", file.stream());
  file.commit();
  EXPECT_EQ(read(path("a")), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, DoesNotFollowALinkThatSomebodyPutInItsWay) {
  write(path("precious"), "old");
  std::filesystem::create_symlink("precious", path("a.psflip.part"));
  EXPECT_THROW(OutputFile(path("a")), InvalidInput);
  EXPECT_EQ(read(path("precious")), "old");
}

TEST_F(OutputFileTest, WritesThroughASymbolicLink) {
  write(path("a"), "old");
  std::filesystem::create_symlink("a", path("link"));
  OutputFile file(path("link"));
  std::fputs("new", file.stream());
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(path("a")), "new");
}

TEST_F(OutputFileTest, WritesDevicesDirectly) {
  OutputFile file("/dev/null");
  std::fputs("text", file.stream());
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, SharesTheFilePositionOfStandardOutput) {
  testing::internal::CaptureStdout();  // which is now a regular file, as in `program > file`
  std::printf("before ");
  std::fflush(stdout);
  OutputFile file("/dev/stdout");
  EXPECT_TRUE(file.is_standard_output());
  std::fputs("text ", file.stream());
  file.commit();
  std::printf("after");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before text after");
}

TEST_F(OutputFileTest, IsGoneWithAProgramThatEndsAbruptly) {
  write(path("a"), "old");
  last_words([&] {
    OutputFile first(path("b"));
    first.commit();
    const FileLock lock(path("c"));
    OutputFile file(path("a"));
    std::raise(SIGTERM);
  });
  last_words([&] {
    where_nothing_may_be_thrown([&] {
      OutputFile file(path("c"));
      throw std::bad_alloc();
    });
  });
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_TRUE(std::filesystem::exists(path("b")));
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFileTest, OfAnotherProgramStaysWhenOneEndsAbruptly) {
  last_words([&] {
    OutputFile file(path("a"));
    std::filesystem::remove(path("a.psflip.part"));
    write(path("a.psflip.part"), "another program's");
    std::raise(SIGTERM);
  });
  EXPECT_EQ(read(path("a.psflip.part")), "another program's");
}

TEST_F(OutputFileTest, FollowsALinkToAFileThatIsNotThereYet) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("folder/a", path("first"));
  std::filesystem::create_symlink("first", path("second"));
  OutputFile file(path("second"));
  std::fputs("new", file.stream());
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("second")));
  EXPECT_EQ(read(path("folder/a")), "new");
}

TEST_F(OutputFileTest, RefusesLinksThatLeadNowhere) {
  std::filesystem::create_symlink("b", path("a"));
  std::filesystem::create_symlink("a", path("b"));
  try {
    OutputFile file(path("a"));
    ADD_FAILURE() << "opened";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.what(), path("a") + ": cannot be opened for writing: Too many levels of symbolic links");
  }
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFileTest, KeepsTheReasonWhyItCannotBeWritten) {
  OutputFile file("/dev/full");
  for (int i = 0; i < 100'000; ++i) std::fputs("text", file.stream());
  errno = EINVAL;
  try {
    file.flush();
    ADD_FAILURE() << "written";
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot be written: No space left on device");
  }
}

// ---- Names of files

class FileNames : public OutputFileTest {
 protected:
  FileNames() : before_(std::filesystem::current_path()) {
    folder_ = std::filesystem::canonical(folder_);
    std::filesystem::current_path(folder_);
    std::filesystem::create_directories("sub/deeper");
    std::filesystem::create_directory_symlink("sub/deeper", "way");
  }
  ~FileNames() override { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

TEST_F(FileNames, AreOfOneFileOrTwo) {
  write("a", "");
  std::filesystem::create_hard_link("a", "hard");
  std::filesystem::create_symlink("a", "soft");
  std::filesystem::create_symlink("new", "dangling");
  refuse_twins({"a", "b", "sub/a", "way/a", "a.psflip"}, {"c", "c", "c.psflip.part"});
  for (const char* name : {"a", "./a", "sub/../a", "hard", "soft", "way/../../a", "./a.psflip.part"}) {
    EXPECT_THROW(refuse_twins({"b", "a", name}), InvalidInput) << name;
    EXPECT_THROW(refuse_twins({"b", name, "a"}), InvalidInput) << name;
    EXPECT_THROW(refuse_twins({"b", "a"}, {"c", name}), InvalidInput) << name;
  }
  EXPECT_THROW(refuse_twins({"new", "dangling"}), InvalidInput);
  EXPECT_THROW(refuse_twins({"sub/deeper/new", "way/new"}), InvalidInput);
  EXPECT_THROW(refuse_twins({"soft"}, {"a.psflip.part"}), InvalidInput);  // where the soft link's file is written
}

TEST_F(FileNames, AreKeptSoThatAFolderCanMove) {
  const std::string here = folder_.string();
  // name, the folder that it is kept in, how it is kept
  const std::vector<std::array<std::string, 3>> cases = {
      {"a", "", "a"},
      {"sub/a", "", "sub/a"},
      {"../a", "", "../a"},
      {"a", "sub", "../a"},
      {"sub/a", "sub", "a"},
      {"sub/a", "way", "../a"},
      {"a", "way", "../../a"},
      {here + "/sub/a", "sub", "a"},
      {here + "/a", "sub", here + "/a"},
      {"/dev/stdout", "sub", "/dev/stdout"},
  };
  for (const auto& [name, folder, kept] : cases) {
    EXPECT_EQ(kept_name(name, folder), kept) << name << " in " << folder;
    if (!name.starts_with(here)) {
      EXPECT_EQ(name_here(kept, folder), name) << kept << " in " << folder;
    }
  }
  std::filesystem::rename("sub", "moved");
  EXPECT_EQ(name_here("a", "moved"), "moved/a");
  std::filesystem::current_path("moved");
  EXPECT_EQ(name_here("a", ""), "a");
  EXPECT_EQ(name_here("../a", "../moved"), "../a");
}

TEST_F(OutputFileTest, NoticesAFullDisk) {
  OutputFile file("/dev/full");
  std::fputs("text", file.stream());
  EXPECT_THROW(file.flush(), InvalidInput);
  OutputFile unflushed("/dev/full");
  std::fputs("text", unflushed.stream());
  EXPECT_THROW(unflushed.commit(), InvalidInput);
}

TEST_F(OutputFileTest, RefusesAtOnceWhatCannotBeWritten) {
  for (const std::string& name :
       {std::string(), path("missing/a"), path(""), std::string("/proc/a"), path("missing/")}) {
    try {
      OutputFile file(name);
      ADD_FAILURE() << "opened " << name;
    } catch (const InvalidInput& error) {
      EXPECT_THAT(error.what(), MatchesRegex(name + ": [^\n]+"));
    }
  }
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace psflip
