#include "spin_glass/run/spins_file.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/invalid_input.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/described_file.hpp"
#include "spin_glass/checkpoint/json_value.hpp"
#include "spin_glass/run/result_table.hpp"

namespace psflip::spin_glass {
namespace {

constexpr KindOfFile kind{"psFlipSp", "file of spins"};

struct Which {
  std::int64_t size, first, samples, replicas;

  std::int64_t lattice() const { return size * size * size; }
  std::string text() const {
    return "L = " + std::to_string(size) + ", samples " + std::to_string(first) + " to " +
           std::to_string(first + samples - 1) + ", replicas: " + std::to_string(replicas);
  }
};

/// Nothing if that is none.
std::optional<Which> which_are(const DescribedInput& file) {
  try {
    const auto problem = parsed_description(file.description()).at("problem");
    const auto number = [&](const char* name, std::int64_t least, std::int64_t most) {
      const auto found = value_in<std::int64_t>(problem.at(name)).value();
      if (found < least || found > most) throw InvalidInput(name);
      return found;
    };
    const Which which{number("size", smallest_size, largest_size), number("first_sample", 0, most_numbered_samples),
                      number("samples", 1, most_numbered_samples), number("replicas", 1, most_numbered_samples)};
    const std::int64_t bits = 8 * (file.end() - file.begin());
    const bool fits = bits % which.lattice() == 0 && bits / which.lattice() % which.replicas == 0 &&
                      bits / which.lattice() / which.replicas == which.samples;
    return fits ? std::optional(which) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
  } catch (const std::bad_optional_access&) {
  } catch (const InvalidInput&) {
  }
  return std::nullopt;
}

}  // namespace

void write_spins(OutputFile& file, const nlohmann::ordered_json& description, const Simulation& simulation) {
  DescribedOutput to(file, kind, text_of(description));
  to.put_spins(simulation);
  to.end();
}

void start_from(const std::string& path, const Problem& problem, Simulation& simulation) {
  auto* const resumable = dynamic_cast<Resumable*>(&simulation);
  if (resumable == nullptr) {
    throw InvalidInput("--spins: the random streams of " + std::string(name(problem.generator)) +
                       " are cuRAND's own, and no spins can be put to them; take another --generator");
  }
  DescribedInput file(path, kind);
  const std::optional<Which> has = which_are(file);
  if (!has) file.refuse("not a file of spins of spin_glass");
  const Which wanted{problem.size, problem.first_sample, problem.samples, problem.replicas};
  if (has->size != wanted.size || has->replicas != wanted.replicas || has->first > wanted.first ||
      has->first + has->samples < wanted.first + wanted.samples) {
    file.refuse("its spins are of " + has->text() + "; the run has " + wanted.text());
  }
  const std::int64_t of_sample = wanted.lattice() * wanted.replicas;
  file.seek(file.begin() + (wanted.first - has->first) * of_sample / 8);
  const State state{problem.size,          problem.samples,
                    problem.replicas,      file.read_spins(wanted.samples * of_sample),
                    temperatures(problem), simulation.exchanges()};
  std::vector<std::vector<std::uint32_t>> streams;  // as they are at the start
  resumable->save_streams([&](std::span<const std::uint32_t> word) { streams.emplace_back(word.begin(), word.end()); });
  auto next = streams.begin();
  resumable->resume(0, state, [&](std::span<std::uint32_t> word) { std::ranges::copy(*next++, word.begin()); });
}

}  // namespace psflip::spin_glass
