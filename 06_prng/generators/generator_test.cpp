// The generators against answers that nobody here wrote: published numbers, the engines of the standard library, stage
// 00 (and cuRAND on the host, in generator_curand_test.cpp). And generators with one mistake each, which say what every
// check is worth: the table `cases`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "00_cpu_reference/parisi_rapuano.hpp"
#include "00_cpu_reference/philox.hpp"
#include "06_prng/generators/generator_test.hpp"
#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "06_prng/generators/poster.hpp"
#include "gpu/constants.hpp"
#include "gpu/platform_test.hpp"
#include "gpu/platforms.hpp"
#include "random/streams.hpp"

namespace psflip::prng {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Run = std::function<Result(const Task&)>;

constexpr Kind kinds[] = {Kind::minstd, Kind::parisi_rapuano, Kind::mt19937, Kind::philox, Kind::philox_7};
constexpr const char* names[] = {"minstd", "parisi-rapuano", "mt19937", "philox", "philox with 7 rounds"};
std::string name(Kind kind) { return names[static_cast<int>(kind)]; }

// ---- Any generator in a loop of the host, right or with a mistake

/// The name by which a stream is seeded; its own unless there is a mistake.
using NameOf = std::uint64_t (*)(std::uint64_t id);
constexpr NameOf own_name = [](std::uint64_t id) { return id; };

template <class Generator, int s>
Result run_on_host(const Task& task, NameOf name_of) {
  Result result{Numbers(static_cast<std::size_t>(task.draws * task.streams)), task.states};
  result.states.resize(static_cast<std::size_t>(Generator::words * task.streams));
  const States states{result.states.data(), task.streams};
  if (task.states.empty())
    for (std::int64_t id = 0; id < task.streams; ++id)
      Generator::seed(states, id, stream_seed(task.seed, task.group, name_of(static_cast<std::uint64_t>(id))));
  for (std::int64_t done = 0; done < task.draws;) {
    const std::int64_t now = std::min(task.draws - done, task.draws_per_launch);
    for (std::int64_t id = 0; id < task.streams; id += s) {
      Position<s> at = position<Generator, s>(id, task.first + done, task.seed, task.group);
      for (std::uint32_t& site : at.site) site = static_cast<std::uint32_t>(name_of(site));
      draw_some<Generator, s>(result.numbers.data() + done * task.streams, states, at, now);
    }
    done += now;
  }
  return result;
}

template <class Generator>
Run host(NameOf name_of = own_name) {
  return [name_of](const Task& task) {
    return with_constant<1, 2, 4, 8>(task.bundle, [&]<int s>() { return run_on_host<Generator, s>(task, name_of); });
  };
}

Run host(Kind kind) {
  switch (kind) {
    case Kind::minstd:
      return host<Minstd>();
    case Kind::parisi_rapuano:
      return host<ParisiRapuano>();
    case Kind::mt19937:
      return host<Mt19937>();
    case Kind::philox:
      return host<Philox<>>();
    case Kind::philox_7:
      return host<Philox<7>>();
  }
  return {};
}

// ---- What is right

/// The numbers of a stream as others define them.
std::function<std::uint32_t()> definition(Kind kind, std::uint64_t seed, std::uint32_t group, std::uint32_t site) {
  const std::uint64_t own_seed = stream_seed(seed, group, site);
  switch (kind) {
    case Kind::minstd:
      return [engine = std::minstd_rand0(static_cast<std::uint32_t>(1 + own_seed % 2147483646))]() mutable {
        return static_cast<std::uint32_t>(engine() - 1);
      };
    case Kind::parisi_rapuano:
      return reference::ParisiRapuano::seeded(own_seed);
    case Kind::mt19937:
      return [engine = std::mt19937(static_cast<std::uint32_t>(own_seed))]() mutable {
        return static_cast<std::uint32_t>(engine());
      };
    case Kind::philox:
    case Kind::philox_7:
      return [=, n = std::uint32_t{0}]() mutable {
        const auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
        const std::uint32_t at = n++;
        return kind == Kind::philox ? reference::philox4x32_10({site, group, at / 4, 0}, {low, high})[at % 4]
                                    : philox4x32<7>({{site, group, at / 4, 0}}, low, high).of[at % 4];
      };
  }
  return {};
}

/// The words of a std::mt19937 that are seeded with an array (mt19937ar.c of Matsumoto and Nishimura, init_by_array).
Numbers mt19937_by_array(const Numbers& key) {
  Numbers mt(624);
  const auto n = static_cast<std::uint32_t>(mt.size());
  mt[0] = 19650218;
  for (std::uint32_t i = 1; i < n; ++i) mt[i] = 1812433253 * (mt[i - 1] ^ mt[i - 1] >> 30) + i;
  std::uint32_t i = 1, j = 0;
  const auto next = [&] {
    if (++i == n) {
      mt[0] = mt[n - 1];
      i = 1;
    }
  };
  for (std::uint32_t k = 0; k < n; ++k, next()) {
    mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * 1664525) + key[j] + j;
    j = (j + 1) % static_cast<std::uint32_t>(key.size());
  }
  for (std::uint32_t k = 1; k < n; ++k, next()) mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * 1566083941) - i;
  mt[0] = 0x80000000;
  return mt;
}

// ---- Checks: each says what is wrong, or nothing

/// Draw number `draw`, from 1, of a single stream has to be `number`.
struct Known {
  std::size_t draw;
  std::uint32_t number;
};

std::string compare(const Numbers& numbers, const std::vector<Known>& known, std::uint32_t subtracted = 0) {
  for (const auto& [draw, number] : known)
    if (numbers.at(draw - 1) != number - subtracted)
      return "draw " + std::to_string(draw) + " is " + std::to_string(numbers[draw - 1]) + ", not " +
             std::to_string(number - subtracted);
  return "";
}

/// Published numbers from published states.
std::string check_published(const Run& run, Kind kind) {
  Task task{.kind = kind, .seed = 0, .draws = 10'000};
  switch (kind) {
    case Kind::minstd:
      // Park and Miller (1988) ask for the 10,000th.
      task.states = {1};
      return compare(
          run(task).numbers,
          {{1, 16807}, {2, 282475249}, {3, 1622650073}, {4, 984943658}, {5, 1144108930}, {10'000, 1043618065}}, 1);
    case Kind::parisi_rapuano: {
      task.states = {0};  // and 61 words of MINSTD
      std::minstd_rand0 minstd(1);
      while (task.states.size() < 62) task.states.push_back(static_cast<std::uint32_t>(minstd()));
      return compare(run(task).numbers, {{1, 1725422658},
                                         {2, 3312017616},
                                         {3, 3842062065},
                                         {4, 2918707334},
                                         {100, 2857005463},
                                         {10'000, 1431685353}});
    }
    case Kind::mt19937: {
      // The C++ standard asks for the 10,000th of seed 5489, mt19937ar.out has those of the array.
      task.states = {5489};
      for (std::uint32_t i = 1; i < 624; ++i)
        task.states.push_back(1812433253 * (task.states.back() ^ task.states.back() >> 30) + i);
      const std::string wrong =
          compare(run(task).numbers, {{1, 3499211612}, {2, 581869302}, {3, 3890346734}, {10'000, 4123659995}});
      task.states = mt19937_by_array({0x123, 0x234, 0x345, 0x456});
      return !wrong.empty()
                 ? wrong
                 : compare(run(task).numbers, {{1, 1067595299}, {2, 955945823}, {3, 477289528}, {1000, 3460025646}});
    }
    case Kind::philox:  // Random123's kat_vectors, counter and key 0
      return compare(run(task).numbers, {{1, 0x6627e8d5}, {2, 0xe169c58d}, {3, 0xbc57ac4c}, {4, 0x9b00dbd8}});
    case Kind::philox_7:
      return compare(run(task).numbers, {{1, 0x5f6fb709}, {2, 0x0d893f64}, {3, 0x4f121f81}, {4, 0x4f730a48}});
  }
  return "";
}

/// The task's numbers, if they are not those of the definition.
std::string compare_with_definition(const Run& run, const Task& task) {
  const Numbers numbers = run(task).numbers;
  const auto streams = static_cast<std::size_t>(task.streams);
  if (numbers.size() != streams * static_cast<std::size_t>(task.draws)) return "too few numbers";
  for (std::size_t id = 0; id < streams; ++id) {
    auto next = definition(task.kind, task.seed, task.group, static_cast<std::uint32_t>(id));
    for (std::int64_t skipped = 0; skipped < task.first; ++skipped) next();
    for (std::size_t i = 0; i < numbers.size() / streams; ++i)
      if (numbers[i * streams + id] != next())
        return "draw " + std::to_string(i) + " of stream " + std::to_string(id) + " of " + std::to_string(streams) +
               ", " + std::to_string(task.bundle) + " a thread";
  }
  return "";
}

/// Seeding and numbers by the contract, once around the longest wheel and more, in launches of many lengths. So threads
/// also begin at every position of a wheel.
std::string check_definition(const Run& run, Kind kind) {
  for (const int bundle : {1, 2, 4, 8}) {
    for (const std::int64_t launch : {1, 7, 62, 625, 2000}) {
      const Task task{.kind = kind,
                      .bundle = bundle,
                      .streams = 40,
                      .seed = 0x123456789abcdef,
                      .group = 3,
                      .draws = 2000,
                      .draws_per_launch = launch};
      if (const std::string wrong = compare_with_definition(run, task); !wrong.empty())
        return wrong + ", launches of " + std::to_string(launch);
    }
  }
  return "";
}

/// MINSTD's rarest case: low + high part of the product exceed 31 bits for one state in 256,000. Then the low part is
/// at its largest for this high part, so these states hold all such, and as many beside them where it just fails to.
std::string check_carries(const Run& run, Kind kind) {
  Task task{.kind = kind, .draws = 2};
  for (std::uint64_t high = 0; high < 16806; ++high)
    task.states.push_back(static_cast<std::uint32_t>((((high + 1) << 31) - 1) / 16807));
  for (std::uint32_t i = 1; i <= 1000; ++i) task.states.insert(task.states.end(), {i, 2147483647 - i});
  task.streams = static_cast<std::int64_t>(task.states.size());
  const Numbers numbers = run(task).numbers;
  for (std::size_t id = 0; id < task.states.size(); ++id) {
    std::minstd_rand0 engine(task.states[id]);
    for (std::size_t i = 0; i < 2; ++i)
      if (numbers[i * task.states.size() + id] != engine() - 1)
        return "draw " + std::to_string(i) + " from state " + std::to_string(task.states[id]);
  }
  return "";
}

/// Whether a run in pieces is the run in one. Knows nothing of the generator.
std::string check_pieces(const Run& run, Kind kind) {
  Task task{.kind = kind, .streams = 33, .draws = 300};
  const Result whole = run(task);
  task.draws_per_launch = 13;
  if (run(task) != whole) return "pieces make another whole";
  // Numbers 100 to 299 from the states after number 99.
  task.draws = 100;
  const Result begun = run(task);
  const Task rest{.kind = kind, .streams = 33, .states = begun.states, .first = 100, .draws = 200};
  const Result ended = run(rest);
  return std::ranges::equal(ended.numbers, std::vector(whole.numbers.begin() + 3300, whole.numbers.end()))
             ? ""
             : "states from outside go on otherwise";
}

/// The lowest bit of Parisi-Rapuano has no carries: b(k) = b(k - 24) ^ b(k - 55), and the XOR of two such sequences
/// obeys it too; so do the numbers as soon as none of the words in them is of the history.
std::string check_lowest_bit(const Run& run, Kind kind) {
  const Task task{.kind = kind, .streams = 32, .draws = 1000};
  const Numbers numbers = run(task).numbers;
  for (std::size_t i = 61 * 32; i < numbers.size(); ++i)
    if ((numbers[i] ^ numbers[i - 24 * 32] ^ numbers[i - 55 * 32]) & 1) return "not b(k - 24) ^ b(k - 55)";
  return "";
}

/// No two streams begin alike, and neighbours agree in half of their bits. Knows nothing of the generator.
std::string check_streams_differ(const Run& run, Kind kind) {
  const std::size_t streams = 4096, draws = 8;
  const Task task{.kind = kind, .streams = streams, .draws = draws};
  const Numbers numbers = run(task).numbers;
  std::set<std::array<std::uint32_t, draws>> beginnings;
  for (std::size_t id = 0; id < streams; ++id) {
    std::array<std::uint32_t, draws> beginning;
    for (std::size_t i = 0; i < draws; ++i) beginning[i] = numbers[i * streams + id];
    beginnings.insert(beginning);
  }
  if (beginnings.size() < streams) return std::to_string(streams - beginnings.size()) + " streams are others' doubles";
  for (std::size_t i = 0; i < draws; ++i) {
    const std::uint32_t looked_at = 0x7fff8000;  // 16 bits that MINSTD has too
    int agreeing = 0;
    for (std::size_t id = 1; id < streams; ++id)
      agreeing += std::popcount(~(numbers[i * streams + id] ^ numbers[i * streams + id - 1]) & looked_at);
    const double tosses = 16.0 * (streams - 1);
    if (std::abs(agreeing - tosses / 2) > 5 * std::sqrt(tosses / 4))
      return "in draw " + std::to_string(i) + " neighbours agree in " + std::to_string(agreeing / tosses) +
             " of their bits";
  }
  return "";
}

struct Check {
  std::string_view name;
  std::string (*find)(const Run& run, Kind kind);
  std::set<Kind> of;
};

const std::set<Kind> all_kinds(std::begin(kinds), std::end(kinds));
const Check checks[] = {
    {"published", check_published, all_kinds},  {"definition", check_definition, all_kinds},
    {"pieces", check_pieces, all_kinds},        {"lowest-bit", check_lowest_bit, {Kind::parisi_rapuano}},
    {"carries", check_carries, {Kind::minstd}}, {"streams-differ", check_streams_differ, all_kinds},
};

// ---- Wrong generators

/// Parisi-Rapuano with a choice of lags, and of the number of slots after which the wheel begins again.
template <int lag_1, int lag_2, int lag_3, int slots>
struct Wheel : ParisiRapuano {
  template <int s>
  class Streams {
   public:
    Streams(const States& states, const Position<s>& at) : states_(states), id_(at.id), slot_(at.slot % slots) {}
    Words<s> draw() {
      const auto a = states_.load<s>(turn<slots>(slot_, -lag_1), id_),
                 b = states_.load<s>(turn<slots>(slot_, -lag_2), id_),
                 c = states_.load<s>(turn<slots>(slot_, -lag_3), id_);
      Words<s> sums, draws;
      for (int k = 0; k < s; ++k) {
        sums.of[k] = a.of[k] + b.of[k];
        draws.of[k] = sums.of[k] ^ c.of[k];
      }
      states_.store(slot_, id_, sums);
      slot_ = turn<slots>(slot_, 1);
      return draws;
    }
    void store() {}

   private:
    States states_;
    std::int64_t id_;
    int slot_;
  };
};

/// The history one slot too early.
struct SeededEarly : ParisiRapuano {
  static void seed(const States& states, std::int64_t id, std::uint64_t stream_seed) {
    SplitMix64 random(stream_seed);
    for (int i = 0; i < 61; ++i) states.store<1>(i, id, {static_cast<std::uint32_t>(random() >> 32)});
    states.store<1>(61, id, {0});
  }
};

/// A history of what MINSTD draws from consecutive seeds.
struct SeededConsecutively : ParisiRapuano {
  static void seed(const States& states, std::int64_t id, std::uint64_t) {
    std::minstd_rand0 minstd(static_cast<std::uint32_t>(id + 1));
    states.store<1>(0, id, {0});
    for (int i = 1; i < words; ++i) states.store<1>(i, id, {static_cast<std::uint32_t>(minstd())});
  }
};

template <int middle, bool tempered, std::uint32_t upper>
struct Twister : Mt19937 {
  template <int s>
  class Streams {
   public:
    Streams(const States& states, const Position<s>& at) : states_(states), id_(at.id), slot_(at.slot) {}
    Words<s> draw() {
      const auto now = states_.load<s>(slot_, id_), next = states_.load<s>(turn<words>(slot_, 1), id_),
                 far = states_.load<s>(turn<words>(slot_, middle), id_);
      Words<s> twisted, draws;
      for (int k = 0; k < s; ++k) {
        const std::uint32_t joined = (now.of[k] & upper) | (next.of[k] & ~upper);
        std::uint32_t y = twisted.of[k] = far.of[k] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0df : 0);
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680;
        y ^= y << 15 & 0xefc60000;
        draws.of[k] = tempered ? y ^ y >> 18 : twisted.of[k];
      }
      states_.store(slot_, id_, twisted);
      slot_ = turn<words>(slot_, 1);
      return draws;
    }
    void store() {}

   private:
    States states_;
    std::int64_t id_;
    int slot_;
  };
};

enum class Slip { none, key_not_bumped, always_from_the_first_word, site_and_group_swapped };

template <Slip slip>
struct Slipping : Philox<> {
  template <int s>
  class Streams {
   public:
    Streams(const States&, const Position<s>& at) : at_(at), n_(at.n) {
      if (slip == Slip::always_from_the_first_word) n_ -= n_ % 4;
    }
    Words<s> draw() {
      Words<s> draws;
      for (int k = 0; k < s; ++k) {
        Quadruple words{{at_.site[k], at_.group, static_cast<std::uint32_t>(n_ / 4), 0}};
        if (slip == Slip::site_and_group_swapped) std::swap(words.of[0], words.of[1]);
        for (std::uint32_t round = 0; round < 10; ++round) {
          const std::uint32_t bumped = slip == Slip::key_not_bumped ? 0 : round;
          words = philox4x32<1>(words, static_cast<std::uint32_t>(at_.seed) + bumped * 0x9e3779b9,
                                static_cast<std::uint32_t>(at_.seed >> 32) + bumped * 0xbb67ae85);
        }
        draws.of[k] = words.of[n_ % 4];
      }
      ++n_;
      return draws;
    }
    void store() {}

   private:
    Position<s> at_;
    std::int64_t n_;
  };
};

/// MINSTD with another multiplier, a sum that is not folded, or states that are not put back.
template <std::uint32_t multiplier, bool folded, bool stored>
struct Lehmer : Minstd {
  template <int s>
  class Streams {
   public:
    Streams(const States& states, const Position<s>& at)
        : states_(states), id_(at.id), state_(states.load<s>(0, at.id)) {}
    Words<s> draw() {
      Words<s> draws;
      for (int k = 0; k < s; ++k) {
        const std::uint64_t product = std::uint64_t{multiplier} * state_.of[k];
        const auto sum = static_cast<std::uint32_t>((product & 0x7fffffff) + (product >> 31));
        state_.of[k] = folded ? (sum & 0x7fffffff) + (sum >> 31) : sum & 0x7fffffff;
        draws.of[k] = state_.of[k] - 1;
      }
      return draws;
    }
    void store() {
      if (stored) states_.store(0, id_, state_);
    }

   private:
    States states_;
    std::int64_t id_;
    Words<s> state_;
  };
};

struct ConsecutiveMinstd : Minstd {
  static void seed(const States& states, std::int64_t id, std::uint64_t) {
    states.store<1>(0, id, {static_cast<std::uint32_t>(id + 1)});
  }
};

/// Any generator that works on a copy of its state.
template <class Generator>
struct NotStored : Generator {
  template <int s>
  class Streams {
   public:
    Streams(const States& states, Position<s> at) {
      for (int i = 0; i < Generator::words; ++i)
        for (int k = 0; k < s; ++k) copy_.push_back(states.words[i * states.count + at.id + k]);
      at.id = 0;
      of_.emplace_back(States{copy_.data(), s}, at);
    }
    Words<s> draw() { return of_[0].draw(); }
    void store() { of_[0].store(); }

   private:
    Numbers copy_;
    std::vector<typename Generator::template Streams<s>> of_;
  };
};

constexpr NameOf one_pair = [](std::uint64_t id) { return id == 7 ? 6 : id; };
constexpr NameOf all_pairs = [](std::uint64_t id) { return id / 2; };

using CheckNames = std::set<std::string_view>;

struct Case {
  const char* name;
  Kind kind;
  Run run;
  CheckNames rejected_by;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// A mistake in the threshold, exp(-beta dE) 2^32 for 31-bit numbers, is one of the engines in
// common/spin_glass/test/physics_test.cpp.
const Case cases[] = {
    // What is right although it is written otherwise.
    {"PlainMinstd", Kind::minstd, host<Lehmer<16807, true, true>>(), {}},
    {"PlainWheel", Kind::parisi_rapuano, host<Wheel<24, 55, 61, 62>>(), {}},
    {"PlainTwister", Kind::mt19937, host<Twister<397, true, 0x80000000>>(), {}},
    {"PlainPhilox", Kind::philox, host<Slipping<Slip::none>>(), {}},

    {"MinstdWithTheLaterMultiplier",
     Kind::minstd,
     host<Lehmer<48271, true, true>>(),
     {"published", "definition", "carries"}},
    // Right but for one state in 256,000. Hundreds of thousands of draws do not notice.
    {"MinstdNotFolded", Kind::minstd, host<Lehmer<16807, false, true>>(), {"carries"}},
    // A launch is right; the next one repeats it.
    {"MinstdNotStored", Kind::minstd, host<Lehmer<16807, true, false>>(), {"definition", "pieces"}},
    {"MinstdConsecutiveSeeds", Kind::minstd, host<ConsecutiveMinstd>(), {"definition", "streams-differ"}},

    // The poster at GTC 2015 stores the number in place of the sum.
    {"Poster", Kind::parisi_rapuano, host<PosterParisiRapuano>(), {"published", "definition", "lowest-bit"}},
    {"Lag23", Kind::parisi_rapuano, host<Wheel<23, 55, 61, 62>>(), {"published", "definition", "lowest-bit"}},
    {"Lag54", Kind::parisi_rapuano, host<Wheel<24, 54, 61, 62>>(), {"published", "definition", "lowest-bit"}},
    // The lowest bit obeys its recurrence whatever it is XORed with.
    {"Lag60", Kind::parisi_rapuano, host<Wheel<24, 55, 60, 62>>(), {"published", "definition"}},
    {"WheelOf61Slots", Kind::parisi_rapuano, host<Wheel<24, 55, 61, 61>>(), {"published", "definition", "pieces"}},
    {"SeededOneSlotEarly", Kind::parisi_rapuano, host<SeededEarly>(), {"definition"}},
    {"WheelNotStored", Kind::parisi_rapuano, host<NotStored<ParisiRapuano>>(), {"definition", "pieces"}},
    {"WheelFromConsecutiveSeeds", Kind::parisi_rapuano, host<SeededConsecutively>(), {"definition", "streams-differ"}},

    {"Middle396", Kind::mt19937, host<Twister<396, true, 0x80000000>>(), {"published", "definition"}},
    {"NotTempered", Kind::mt19937, host<Twister<397, false, 0x80000000>>(), {"published", "definition"}},
    {"MasksSwapped", Kind::mt19937, host<Twister<397, true, 0x7fffffff>>(), {"published", "definition"}},
    {"TwisterNotStored", Kind::mt19937, host<NotStored<Mt19937>>(), {"definition", "pieces"}},

    {"KeyNotBumped", Kind::philox, host<Slipping<Slip::key_not_bumped>>(), {"published", "definition"}},
    {"AlwaysFromTheFirstWord",
     Kind::philox,
     host<Slipping<Slip::always_from_the_first_word>>(),
     {"definition", "pieces"}},
    {"SiteAndGroupSwapped", Kind::philox, host<Slipping<Slip::site_and_group_swapped>>(), {"definition"}},
    {"SevenRoundsForTen", Kind::philox, host<Philox<7>>(), {"published", "definition"}},

    // Two of 4096 streams are one and the same, or every second one is its neighbour's double.
    {"MinstdOnePair", Kind::minstd, host<Minstd>(one_pair), {"definition", "streams-differ"}},
    {"WheelOnePair", Kind::parisi_rapuano, host<ParisiRapuano>(one_pair), {"definition", "streams-differ"}},
    {"TwisterOnePair", Kind::mt19937, host<Mt19937>(one_pair), {"definition", "streams-differ"}},
    {"PhiloxOnePair", Kind::philox, host<Philox<>>(one_pair), {"definition", "streams-differ"}},
    {"MinstdAllPairs", Kind::minstd, host<Minstd>(all_pairs), {"definition", "streams-differ"}},
};

class Generator : public testing::TestWithParam<Case> {};

TEST_P(Generator, IsRejectedByExactlyTheseChecks) {
  CheckNames rejections;
  for (const Check& check : checks)
    if (check.of.contains(GetParam().kind) && !check.find(GetParam().run, GetParam().kind).empty())
      rejections.insert(check.name);
  EXPECT_EQ(rejections, GetParam().rejected_by);
}

const auto name_of_case = [](const testing::TestParamInfo<Case>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Mistaken, Generator, testing::ValuesIn(cases), name_of_case);

TEST(Checks, EachRejectsSomething) {
  CheckNames useful, all;
  for (const Case& one : cases) useful.insert(one.rejected_by.begin(), one.rejected_by.end());
  for (const Check& check : checks) all.insert(check.name);
  EXPECT_EQ(useful, all);
}

// ---- On the host alone

TEST(Philox, HasTheVectorsOfRandom123) {
  const std::uint32_t all = 0xffffffff;
  const struct {
    Quadruple counter;
    std::uint32_t key[2];
    Numbers after_7, after_10;
  } vectors[] = {
      {{{0, 0, 0, 0}},
       {0, 0},
       {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
       {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{{all, all, all, all}},
       {all, all},
       {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},  // digits of pi
       {0xa4093822, 0x299f31d0},
       {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& [counter, key, after_7, after_10] : vectors) {
    EXPECT_THAT(philox4x32<7>(counter, key[0], key[1]).of, testing::ElementsAreArray(after_7));
    EXPECT_THAT(philox4x32<10>(counter, key[0], key[1]).of, testing::ElementsAreArray(after_10));
  }
}

TEST(Philox, OfSevenRoundsLacksTheLastThreeOfTen) {
  SplitMix64 random(1);
  const auto word = [&] { return static_cast<std::uint32_t>(random()); };
  for (int i = 0; i < 100'000; ++i) {
    const std::array<std::uint32_t, 4> counter{word(), word(), word(), word()};
    const std::array<std::uint32_t, 2> key{word(), word()};
    const Quadruple seven = philox4x32<7>({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
    const Quadruple ten = philox4x32<3>(seven, key[0] + 7 * 0x9e3779b9, key[1] + 7 * 0xbb67ae85);
    ASSERT_THAT(ten.of, testing::ElementsAreArray(reference::philox4x32_10(counter, key)));
  }
}

TEST(Minstd, IsTheEngineOfTheStandardForAMillionDraws) {
  EXPECT_EQ(compare_with_definition(host(Kind::minstd), {.kind = Kind::minstd, .seed = 5, .draws = 1'000'000}), "");
}

TEST(Turn, IsTheModulus) {
  for (int slot = 0; slot < 62; ++slot)
    for (int lag = -62; lag < 62; ++lag) ASSERT_EQ(turn<62>(slot, lag), (slot + lag + 62) % 62) << slot << ", " << lag;
}

// ---- In kernels

using Platform = psflip::Platform<RunTask>;

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::run_task},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::run_task},
#endif
  };
  return all;
}

class Kernels : public PlatformTest<platforms> {};

TEST_P(Kernels, PassEveryCheck) {
  for (const Kind kind : kinds) {
    for (const Check& check : checks) {
      if (!check.of.contains(kind)) continue;
      EXPECT_EQ(check.find(platform_->make_simulation, kind), "") << name(kind) << ", " << check.name;
    }
  }
}

TEST_P(Kernels, HaveTheBitsOfTheHostForMillionsOfDrawsAndAnyNumberOfStreams) {
  for (const Kind kind : kinds) {
    for (const std::int64_t streams : {1, 31, 33, 95, 97, 1000, 4099}) {
      for (const int bundle : {1, 2, 4, 8}) {
        if (streams % bundle != 0) continue;
        const Task task{.kind = kind,
                        .bundle = bundle,
                        .streams = streams,
                        .seed = 42,
                        .group = 5,
                        .draws = 1'500'000 / streams,
                        .draws_per_launch = 200'000};
        const Result ours = platform_->make_simulation(task), expected = host(kind)(task);
        EXPECT_TRUE(ours == expected) << name(kind) << ", " << streams << " streams, " << bundle << " a thread";
      }
    }
  }
}

TEST_P(Kernels, HaveTheNumbersOfTheDefinitionForAThousandStreams) {
  for (const Kind kind : kinds) {
    const Task task{.kind = kind, .bundle = 8, .streams = 1000, .seed = 7, .draws = 2000, .draws_per_launch = 333};
    EXPECT_EQ(compare_with_definition(platform_->make_simulation, task), "") << name(kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, Kernels, testing::ValuesIn(names_of(platforms())), by_name);

}  // namespace
}  // namespace psflip::prng
