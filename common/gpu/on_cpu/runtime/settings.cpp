#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "kernel/sanitizers.hpp"

namespace cuda_on_cpu {
namespace {

/// Ranks that Open MPI started have the same environment, as a rule, and the first says it for all: mpirun ends the
/// others meanwhile.
[[noreturn]] void refuse(const char* variable, std::string_view value, const char* allowed) {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::string_view(rank) != "0") std::this_thread::sleep_for(std::chrono::seconds(5));
  std::fprintf(stderr, "%s: %s is '%.*s': allowed are %s\n", program_invocation_short_name, variable,
               static_cast<int>(value.size()), value.data(), allowed);
  std::exit(2);
}

bool parse(std::string_view text, std::uint64_t low, std::uint64_t high, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  return error == std::errc() && end == text.end() && low <= number && number <= high;
}

/// All cores that this process may use, divided among the ranks that Open MPI started here. But ThreadSanitizer bears
/// 8128 threads at most, and takes each thread of a running block for one.
std::uint64_t default_workers() {
  std::uint64_t ranks = 1, value = 0;
  const char* text = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (text != nullptr && parse(text, 1, UINT32_MAX, value)) ranks = value;
  const std::uint64_t cores = std::max<std::uint64_t>(1, std::thread::hardware_concurrency() / ranks);
  return one_thread_per_fiber ? std::min<std::uint64_t>(cores, 4) : cores;
}

std::uint64_t number(const char* variable, std::uint64_t otherwise, std::uint64_t low, std::uint64_t high,
                     const char* allowed) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  std::uint64_t value = 0;
  if (!parse(text, low, high, value)) refuse(variable, text, allowed);
  return value;
}

Settings from_environment() {
  Settings s;
  if (const char* text = std::getenv("PSFLIP_SCHEDULE")) {
    const std::string_view wish = text, shuffled = "shuffled";
    if (wish == "forward") {
      s.schedule = Schedule::forward;
    } else if (wish == "reversed") {
      s.schedule = Schedule::reversed;
    } else if (wish.starts_with(shuffled)) {
      s.schedule = Schedule::shuffled;
      const std::string_view rest = wish.substr(shuffled.size());
      if (!rest.empty() && (rest[0] != ':' || !parse(rest.substr(1), 0, UINT64_MAX, s.seed)))
        refuse("PSFLIP_SCHEDULE", wish, "forward, reversed, shuffled and shuffled:SEED with a whole number");
    } else {
      refuse("PSFLIP_SCHEDULE", wish, "forward, reversed, shuffled and shuffled:SEED with a whole number");
    }
  }
  s.lazy_streams = number("PSFLIP_LAZY_STREAMS", 0, 0, 1, "0 and 1") == 1;
  if (const char* text = std::getenv("PSFLIP_CPU_BLOCKS")) {
    s.ends_only = std::string_view(text) == "ends";
    if (!s.ends_only && std::string_view(text) != "all") refuse("PSFLIP_CPU_BLOCKS", text, "all and ends");
  }
  s.guard = number("PSFLIP_GUARD", 0, 0, 1, "0 and 1") == 1;
  s.workers = static_cast<unsigned>(number("PSFLIP_CPU_WORKERS", default_workers(), 1, 1024, "1 to 1024"));
  s.devices = static_cast<int>(number("PSFLIP_CPU_DEVICES", 1, 1, 64, "1 to 64"));
  const auto host =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  s.memory_bytes = number("PSFLIP_CPU_MEMORY", host / 2, 1, UINT64_MAX, "bytes, 1 and more");
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings s = from_environment();
  return s;
}

namespace {
/// A wrong value is refused before main() does anything that would have to be undone.
[[maybe_unused]] const Settings looked_at_before_main = from_environment();
}  // namespace

}  // namespace cuda_on_cpu
