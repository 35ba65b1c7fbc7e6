/// Writes random numbers to standard output, raw, for programs that judge them.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
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

using Platform = psflip::Platform<MakeNumbers>;

/// Best first: the GPU before the CPU.
const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::make_numbers},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::make_numbers},
#endif
  };
  return all;
}

struct Options {
  std::string generator = "minstd";
  std::string variant = "right";
  std::string seeding = "mixed";
  std::string pack = "raw";
  std::int64_t streams = 1;
  std::int64_t seed = 1;
  std::optional<std::int64_t> count;
  std::string device = "auto";
};

const std::map<std::string, Source> sources = {{"minstd", Source::minstd},
                                               {"parisi-rapuano", Source::parisi_rapuano},
                                               {"mt19937", Source::mt19937},
                                               {"philox", Source::philox}};

void declare(CommandLine& line, Options& options) {
  const auto text = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return line.option(name, value, help).type(type);
  };
  text("--generator", options.generator, "G", "minstd, parisi-rapuano, mt19937 or philox (minstd).")
      .check(one_of({"minstd", "parisi-rapuano", "mt19937", "philox"}));
  text("--variant", options.variant, "right|poster", "poster: parisi-rapuano as the poster at GTC 2015 has it, wrong.")
      .check(one_of({"right", "poster"}));
  text("--seeding", options.seeding, "mixed|consecutive",
       "How streams begin: from hashes of the seed and their numbers (mixed), or from S, S + 1, S + 2, ...")
      .check(one_of({"mixed", "consecutive"}));
  text("--pack", options.pack, "raw|halves",
       "raw: every number as it is, MINSTD's with 31 bits. halves: MINSTD's upper 16 bits, of two numbers together.")
      .check(one_of({"raw", "halves"}));
  text("--streams", options.streams, "N", "Streams, 1 to 16777216 (1).").check(whole_number(1, 1 << 24));
  text("--seed", options.seed, "S", "Seed of all streams (1).").check(whole_number(0));
  text("--count", options.count, "C", "Numbers to write; without it they end when nobody reads them any more.")
      .check(whole_number(0));
  text("--device", options.device, "auto|cpu|gpu|N", "Where to draw: the best there is (auto), or GPU number N.");
}

/// Whether standard output took everything; not if its reader has gone.
bool write_all(const void* data, std::size_t bytes) {
  const char* position = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(STDOUT_FILENO, position, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0) throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    position += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
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
  Request request;
  request.source = sources.at(options.generator);
  if (options.variant == "poster") {
    if (request.source != Source::parisi_rapuano)
      throw InvalidInput("--variant poster: the poster's is parisi-rapuano, not " + options.generator);
    request.source = Source::parisi_rapuano_poster;
  }
  const bool halves = options.pack == "halves";
  if (halves && request.source != Source::minstd)
    throw InvalidInput("--pack halves: only minstd has fewer than 32 bits, not " + options.generator);
  request.seeding = options.seeding == "consecutive" ? Seeding::consecutive : Seeding::mixed;
  request.streams = options.streams;
  request.seed = static_cast<std::uint64_t>(options.seed);
  const Choice<MakeNumbers> choice = choose_device(platforms(), options.device);
  request.device = choice.device.index;
  if (isatty(STDOUT_FILENO)) throw InvalidInput("standard output is a terminal; send the numbers to a file or program");

  std::signal(SIGPIPE, SIG_IGN);  // write() says EPIPE then
  const std::unique_ptr<Numbers> numbers = choice.platform->make_simulation(request);
  const std::int64_t per_step = request.streams, draws = halves ? 2 : 1;
  const std::int64_t most = std::max(numbers->most_steps() / draws, std::int64_t{1});
  std::vector<std::uint32_t> packed, collected;
  std::int64_t left = options.count.value_or(std::numeric_limits<std::int64_t>::max());
  while (left > 0) {
    const std::int64_t steps = std::min(most, (left - 1) / per_step + 1);
    const std::int64_t words = std::min(left, steps * per_step);
    const std::uint32_t* data = nullptr;
    if (!halves) {
      data = numbers->next(steps);
    } else {
      // One call may be too small for two steps.
      collected.clear();
      for (std::int64_t done = 0; done < 2 * steps;) {
        const std::int64_t now = std::min(numbers->most_steps(), 2 * steps - done);
        const std::uint32_t* more = numbers->next(now);
        collected.insert(collected.end(), more, more + now * per_step);
        done += now;
      }
      packed.resize(static_cast<std::size_t>(steps * per_step));
      pack_halves(collected.data(), per_step, packed);
      data = packed.data();
    }
    if (!write_all(data, 4 * static_cast<std::size_t>(words))) return;
    left -= words;
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
