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
#include <span>
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
  text("--generator", request.generator, "G", "minstd, parisi-rapuano, mt19937, philox or philox-planes (minstd).")
      .check(one_of({"minstd", "parisi-rapuano", "mt19937", "philox", "philox-planes"}));
  text("--variant", options.variant, "right|poster", "poster: parisi-rapuano as the poster at GTC 2015 has it, wrong.")
      .check(one_of({"right", "poster"}));
  text("--seeding", options.seeding, "mixed|consecutive",
       "How streams begin: from hashes of the seed and their numbers (mixed), or from S, S + 1, S + 2, ...")
      .check(one_of({"mixed", "consecutive"}));
  text("--pack", options.pack, "raw|halves|used|tails",
       "raw: every number as it is, MINSTD's with 31 bits. halves: MINSTD's upper 16 bits, of two numbers together. "
       "philox-planes: used: the bits that a draw has, 8, or 32 if these are zeros, one draw after the other; tails: "
       "the 24 bits after these zeros only.")
      .check(one_of({"raw", "halves", "used", "tails"}));
  text("--streams", request.streams, "N", "Streams, 1 to 16777216 (1).").check(whole_number(1, 1 << 24));
  text("--seed", request.seed, "S", "Seed of all streams (1).").check(whole_number(0));
  text("--count", options.count, "C", "Numbers to write; without it they end when nobody reads them any more.")
      .check(whole_number(0));
  text("--device", options.device, "auto|cpu|gpu|N", "Where to draw: the best there is (auto), or GPU number N.");
}

/// The steps 2k and 2k + 1 of `streams` MINSTD streams become step k: the upper 16 of 31 bits of each.
void pack_halves(std::span<const std::uint32_t> numbers, std::int64_t streams, std::vector<std::uint32_t>& packed) {
  const auto step = static_cast<std::size_t>(streams);
  for (std::size_t k = 0; k < numbers.size(); k += 2 * step) {
    for (std::size_t id = 0; id < step; ++id)
      packed.push_back((numbers[k + id] >> 15) << 16 | numbers[k + step + id] >> 15);
  }
}

/// Bits of any number side by side in words, the first on top.
class BitString {
 public:
  void put(std::uint32_t value, int bits, std::vector<std::uint32_t>& words) {
    bits_ = bits_ << bits | value;
    count_ += bits;
    if (count_ < 32) return;
    count_ -= 32;
    words.push_back(static_cast<std::uint32_t>(bits_ >> count_));
  }

 private:
  std::uint64_t bits_ = 0;
  int count_ = 0;  // that are in no word yet
};

/// How numbers become words.
struct Pack {
  std::int64_t draws;  ///< about so many for a word
  std::string only_of{};
};
Pack pack_of(const std::string& name) {
  if (name == "halves") return {2, "minstd"};
  if (name == "used") return {4, "philox-planes"};
  if (name == "tails") return {256 * 32 / 24, "philox-planes"};
  return {1};
}

void work(const Options& options) {
  NumbersRequest request = options.request;
  request.consecutive_seeds = options.seeding == "consecutive";
  const bool poster = options.variant == "poster";
  const Pack pack = pack_of(options.pack);
  if (poster && request.generator != "parisi-rapuano")
    throw InvalidInput("--variant poster: the poster's is parisi-rapuano, not " + request.generator);
  if (!pack.only_of.empty() && request.generator != pack.only_of)
    throw InvalidInput("--pack " + options.pack + ": that is for " + pack.only_of + ", not " + request.generator);
  if (poster) request.generator += "-poster";
  const ChosenDevice<MakeNumbers> choice = choose_device(platforms(), options.device);
  request.device = choice.device.index;
  if (isatty(STDOUT_FILENO)) throw InvalidInput("standard output is a terminal; send the numbers to a file or program");

  std::signal(SIGPIPE, SIG_IGN);  // fwrite() says EPIPE then
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const std::unique_ptr<Numbers> numbers = choice.platform->make(request);
  const std::int64_t most = numbers->most_steps() / 2 * 2;
  BitString bits;
  std::vector<std::uint32_t> packed;
  for (std::int64_t left = options.count.value_or(std::numeric_limits<std::int64_t>::max()); left > 0;) {
    const std::int64_t wanted = (left - 1) / request.streams + 1;  // of each stream
    const std::int64_t steps = wanted < most / pack.draws ? wanted * pack.draws : most;
    std::span data(numbers->next(steps), static_cast<std::size_t>(steps * request.streams));
    packed.clear();
    if (options.pack == "halves") pack_halves(data, request.streams, packed);
    if (options.pack == "used")
      for (const std::uint32_t draw : data)
        bits.put(draw >> 24 != 0 ? draw >> 24 : draw, draw >> 24 != 0 ? 8 : 32, packed);
    if (options.pack == "tails")
      for (const std::uint32_t draw : data)
        if (draw >> 24 == 0) bits.put(draw, 24, packed);
    if (options.pack != "raw") data = packed;
    data = data.first(std::min(data.size(), static_cast<std::size_t>(left)));
    if (std::fwrite(data.data(), sizeof data[0], data.size(), stdout) != data.size()) {
      if (errno == EPIPE) return;  // the reader has gone
      throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
    left -= std::ssize(data);
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
