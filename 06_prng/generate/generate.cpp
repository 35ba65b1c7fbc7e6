/// Writes random numbers to standard output, raw, for programs that judge them.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "06_prng/generate/generate.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "gpu/platforms.hpp"

namespace psflip::prng {
namespace {

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(make_numbers);
  return all;
}

struct Options {
  NumbersRequest request;
  std::string variant = "right";
  std::string seeding = "mixed";
  std::string pack = "raw";
  std::optional<std::int64_t> count;
  std::string device = "auto";
};

void declare(CommandLine& line, Options& options) {
  const auto text = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return line.option(name, value, help).type(type);
  };
  NumbersRequest& request = options.request;
  text("--generator", request.generator, "G", "minstd, parisi-rapuano, mt19937 or philox (minstd).")
      .check(one_of({"minstd", "parisi-rapuano", "mt19937", "philox"}));
  text("--variant", options.variant, "right|poster", "poster: parisi-rapuano as the poster at GTC 2015 has it, wrong.")
      .check(one_of({"right", "poster"}));
  text("--seeding", options.seeding, "mixed|consecutive",
       "How streams begin: from hashes of the seed and their numbers (mixed), or from S, S + 1, S + 2, ...")
      .check(one_of({"mixed", "consecutive"}));
  text("--pack", options.pack, "raw|halves",
       "raw: every number as it is, MINSTD's with 31 bits. halves: MINSTD's upper 16 bits, of two numbers together.")
      .check(one_of({"raw", "halves"}));
  text("--streams", request.streams, "N", "Streams, 1 to 16777216 (1).").check(whole_number(1, 1 << 24));
  text("--seed", request.seed, "S", "Seed of all streams (1).").check(whole_number(0));
  text("--count", options.count, "C", "Numbers to write; without it they end when nobody reads them any more.")
      .check(whole_number(0));
  text("--device", options.device, "auto|cpu|gpu|N", "Where to draw: the best there is (auto), or GPU number N.");
}

/// The steps 2k and 2k + 1 of `streams` MINSTD streams become step k: the upper 16 of 31 bits of each.
void pack_halves(const std::uint32_t* numbers, std::int64_t streams, std::vector<std::uint32_t>& packed) {
  for (std::size_t k = 0; k < packed.size(); k += static_cast<std::size_t>(streams)) {
    for (std::size_t id = 0; id < static_cast<std::size_t>(streams); ++id) {
      const std::uint32_t first = numbers[2 * k + id], second = numbers[2 * k + static_cast<std::size_t>(streams) + id];
      packed[k + id] = (first >> 15) << 16 | second >> 15;
    }
  }
}

void work(const Options& options) {
  NumbersRequest request = options.request;
  request.consecutive_seeds = options.seeding == "consecutive";
  const bool poster = options.variant == "poster", halves = options.pack == "halves";
  if (poster && request.generator != "parisi-rapuano")
    throw InvalidInput("--variant poster: the poster's is parisi-rapuano, not " + request.generator);
  if (halves && request.generator != "minstd")
    throw InvalidInput("--pack halves: only minstd has fewer than 32 bits, not " + request.generator);
  if (poster) request.generator += "-poster";
  const ChosenDevice<MakeNumbers> choice = choose_device(platforms(), options.device);
  request.device = choice.device.index;
  if (isatty(STDOUT_FILENO)) throw InvalidInput("standard output is a terminal; send the numbers to a file or program");

  std::signal(SIGPIPE, SIG_IGN);  // fwrite() says EPIPE then
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const std::unique_ptr<Numbers> numbers = choice.platform->make(request);
  const std::int64_t draws = halves ? 2 : 1, most = numbers->most_steps() / draws;
  std::vector<std::uint32_t> packed;
  for (std::int64_t left = options.count.value_or(std::numeric_limits<std::int64_t>::max()); left > 0;) {
    const std::int64_t steps = std::min(most, (left - 1) / request.streams + 1);
    const auto words = static_cast<std::size_t>(std::min(left, steps * request.streams));
    const std::uint32_t* data = numbers->next(draws * steps);
    if (halves) {
      packed.resize(static_cast<std::size_t>(steps * request.streams));
      pack_halves(data, request.streams, packed);
      data = packed.data();
    }
    if (std::fwrite(data, sizeof *data, words, stdout) != words) {
      if (errno == EPIPE) return;  // the reader has gone
      throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
    left -= static_cast<std::int64_t>(words);
  }
}

}  // namespace
}  // namespace psflip::prng

int main(int argc, char** argv) {
  using namespace psflip;
  CommandLine line(
      "Writes random numbers as raw little-endian 32-bit words to standard output: number 0 of all streams, then\n"
      "number 1 of all, and so on.",
      "generate");
  prng::Options options;
  prng::declare(line, options);
  line.footer("For instance: generate --generator philox --streams 65536 | dieharder -g 200 -d 0");
  return run_program(line, argc, argv, [&] { prng::work(options); });
}
