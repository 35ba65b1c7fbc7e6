// What all engines of systems of which a word is 32 sites have in common.
#include "07_amsc/synchronous/system_simulation.cuh"

#include <algorithm>
#include <span>

#include "07_amsc/elements.hpp"
#include "07_amsc/synchronous/count.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

/// Makes a word: bit j is of(the site to which it belongs).
template <class Of>
__device__ std::uint32_t gather_sites(const amsc::SiteWords& words, Colour colour, int i, Of of) {
  const spin_glass::Place place = words.layout.place(i);
  std::uint32_t word = 0;
  for (int bit = 0; bit < words.bits; ++bit)
    word |= static_cast<std::uint32_t>(of(words.site(colour, place, bit))) << bit;
  return word;
}

/// Lattices number first .. first + count - 1 (sample * replicas + replica): all words of a colour become
/// of(lattice - first, sample, replica, s), a bit a site.
template <class Of>
__device__ void for_each_word(const Systems& systems, Colour colour, std::int64_t first, std::int64_t count,
                              std::uint32_t* spins, Of of) {
  const int words = systems.words.count(), size = systems.words.layout.size;
  for_each_element(count * words, [&](std::int64_t number) {
    const std::int64_t lattice = number / words, sample = (first + lattice) / systems.replicas;
    const int i = static_cast<int>(number % words), replica = static_cast<int>((first + lattice) % systems.replicas);
    spins[systems.spins(sample, replica, i)] = gather_sites(systems.words, colour, i, [&](spin_glass::Site site) {
      return of(lattice, sample, replica, spin_glass::number(site, size));
    });
  });
}

__global__ void start_words(std::uint32_t* spins, Systems systems, Colour colour, Origin origin, bool random) {
  for_each_word(systems, colour, 0, systems.samples * systems.replicas, spins,
                [&](std::int64_t, std::int64_t sample, int replica, std::int64_t s) {
                  return !random || spin_glass::starts_up(origin, sample, replica, s);
                });
}

__global__ void put_words(std::uint32_t* spins, const spin_glass::Spin* canonical, Systems systems, Colour colour,
                          std::int64_t first, std::int64_t count) {
  const std::int64_t sites = std::int64_t{2} * systems.words.count() * systems.words.bits;
  for_each_word(systems, colour, first, count, spins, [&](std::int64_t lattice, std::int64_t, int, std::int64_t s) {
    return canonical[lattice * sites + s] > 0;
  });
}

__global__ void take_words(const std::uint32_t* spins, spin_glass::Spin* canonical, Systems systems, Colour colour,
                           std::int64_t first, std::int64_t count) {
  const amsc::SiteWords& words = systems.words;
  const int size = words.layout.size;
  const std::int64_t sites = std::int64_t{size} * size * size;
  for_each_element(count * words.count(), [&](std::int64_t number) {
    const std::int64_t lattice = number / words.count();
    const int i = static_cast<int>(number % words.count());
    const std::uint32_t word = spins[systems.spins((first + lattice) / systems.replicas,
                                                   static_cast<int>((first + lattice) % systems.replicas), i)];
    for (int bit = 0; bit < words.bits; ++bit) {
      const std::int64_t s = spin_glass::number(words.site(colour, words.layout.place(i), bit), size);
      canonical[lattice * sites + s] = word >> bit & 1 ? 1 : -1;
    }
  });
}

/// The bonds of `count` samples from number `first` on: random ones, or those of one sample, given[3 s + d] = +-1.
__global__ void make_bonds(std::uint32_t* bonds, Systems systems, Colour colour, std::int64_t first, std::int64_t count,
                           Origin origin, std::uint64_t probability_units, const spin_glass::Coupling* given) {
  const int words = systems.words.count(), size = systems.words.layout.size;
  for_each_element(count * words * spin_glass::directions, [&](std::int64_t number) {
    const int i = static_cast<int>(number % words), d = static_cast<int>(number / words % spin_glass::directions);
    const std::int64_t sample = first + number / words / spin_glass::directions;
    bonds[systems.bonds(sample, i) + d * Systems::step] =
        gather_sites(systems.words, colour, i, [&](spin_glass::Site site) {
          const std::int64_t b = bond(site, Direction(d), size);
          return given != nullptr ? given[b] < 0 : !spin_glass::is_ferromagnetic(origin, sample, b, probability_units);
        });
  });
}

}  // namespace

template <class F>
void SystemSimulation::for_each_part(F f) const {
  CHECK_CUDA(cudaSetDevice(launch_.device));
  const std::int64_t lattices = problem_.samples * problem_.replicas;
  const std::int64_t at_once = std::clamp<std::int64_t>(transfer_bytes / sites(problem_), 1, lattices);
  std::vector<spin_glass::Spin> on_host(at_once * sites(problem_));
  DeviceBuffer<spin_glass::Spin> canonical(on_host.size());
  for (std::int64_t first = 0; first < lattices; first += at_once)
    f(first, std::span(on_host).first(std::min(at_once, lattices - first) * sites(problem_)), canonical.data());
}

SystemSimulation::SystemSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch)
    : size_(static_cast<int>(problem.size)),
      problem_(problem),
      launch_(launch),
      systems_{amsc::SiteWords(size_), problem.samples, static_cast<int>(problem.replicas), *launch.replicas_together} {
  problem_.given_couplings.reset();  // the device has them; nobody else needs them
  CHECK_CUDA(cudaSetDevice(launch.device));
  for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
    spins_[colour] = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(systems_.all_spins()));
    const std::int64_t all = systems_.samples * systems_.bonds_of_sample();
    bonds_[colour] = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(all));
    CHECK_CUDA(cudaMemset(bonds_[colour].data(), 0, bonds_[colour].bytes()));  // of no word, too
    make_bonds(colour, problem);
  }
  restart();
}

double SystemSimulation::bytes_needed(const spin_glass::Problem& problem, const spin_glass::Launch& launch) {
  const Systems systems{amsc::SiteWords(static_cast<int>(problem.size)), problem.samples,
                        static_cast<int>(problem.replicas), *launch.replicas_together};
  const double words = 2.0 * static_cast<double>(systems.all_spins()) +
                       2.0 * static_cast<double>(systems.samples) * static_cast<double>(systems.bonds_of_sample());
  return 4 * words + std::max(3.0 * static_cast<double>(sites(problem)), 1.0 * transfer_bytes);
}

void SystemSimulation::restart() {
  CHECK_CUDA(cudaSetDevice(launch_.device));
  for (const Colour colour : {spin_glass::red, spin_glass::blue})
    start_words<<<setup_blocks(systems_.all_spins()), setup_threads>>>(
        spins_[colour].data(), systems_, colour, origin(problem_), problem_.start == spin_glass::Start::random);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  half_sweeps_done_ = 0;
}

double SystemSimulation::advance(std::int64_t half_sweeps) {
  CHECK_CUDA(cudaSetDevice(launch_.device));
  const std::int64_t end = half_sweeps_done_ + half_sweeps;
  timer_.start();
  if (half_sweeps > 0) update(half_sweeps);
  half_sweeps_done_ = end;
  return timer_.stop();
}

spin_glass::State SystemSimulation::state() const {
  spin_glass::State result{size_, problem_.samples, problem_.replicas, {}};
  result.spins.reserve(problem_.samples * problem_.replicas * sites(problem_));
  take_state([&](std::span<const spin_glass::Spin> part) {
    result.spins.insert(result.spins.end(), part.begin(), part.end());
  });
  return result;
}

void SystemSimulation::take_state(const spin_glass::TakeSpins& take) const {
  for_each_part([&](std::int64_t first, std::span<spin_glass::Spin> part, spin_glass::Spin* canonical) {
    const std::int64_t count = std::ssize(part) / sites(problem_);
    for (const Colour colour : {spin_glass::red, spin_glass::blue})
      take_words<<<setup_blocks(count * systems_.words.count()), setup_threads>>>(spins_[colour].data(), canonical,
                                                                                  systems_, colour, first, count);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(part.data(), canonical, part.size_bytes(), cudaMemcpyDeviceToHost));
    take(part);
  });
}

void SystemSimulation::resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord&) {
  check_resumed(problem_, half_sweeps, state);
  for_each_part([&](std::int64_t first, std::span<spin_glass::Spin> part, spin_glass::Spin* canonical) {
    const std::int64_t count = std::ssize(part) / sites(problem_);
    CHECK_CUDA(cudaMemcpy(canonical, &state.spins[static_cast<std::size_t>(first * sites(problem_))], part.size_bytes(),
                          cudaMemcpyHostToDevice));
    for (const Colour colour : {spin_glass::red, spin_glass::blue})
      put_words<<<setup_blocks(count * systems_.words.count()), setup_threads>>>(spins_[colour].data(), canonical,
                                                                                 systems_, colour, first, count);
    CHECK_CUDA(cudaGetLastError());
  });
  CHECK_CUDA(cudaDeviceSynchronize());
  half_sweeps_done_ = half_sweeps;
}

std::optional<std::vector<spin_glass::SampleObservables>> SystemSimulation::observe(bool correlations) const {
  CHECK_CUDA(cudaSetDevice(launch_.device));
  return count_systems({systems_, {spins_[0].data(), spins_[1].data()}, bonds_[0].data()}, correlations);
}

double SystemSimulation::bytes_per_flip() const {
  // Of a word: spins in and out and the other colour's, and six bonds for the replicas of a thread.
  return (3 + 6.0 / systems_.together) * sizeof(std::uint32_t) / systems_.words.bits;
}

void SystemSimulation::make_bonds(Colour colour, const spin_glass::Problem& problem) {
  const auto make = [&](std::int64_t first, std::int64_t count, const spin_glass::Coupling* given) {
    PSFLIP_PLATFORM::make_bonds<<<setup_blocks(count * systems_.bonds_of_sample()), setup_threads>>>(
        bonds_[colour].data(), systems_, colour, first, count, origin(problem),
        spin_glass::units_of_probability(problem.ferromagnetic_fraction), given);
    CHECK_CUDA(cudaGetLastError());
  };
  if (!problem.given_couplings) return make(0, problem.samples, nullptr);
  DeviceBuffer<spin_glass::Coupling> given(static_cast<std::size_t>(3 * sites(problem)));
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    given.copy_from_host((*problem.given_couplings)[static_cast<std::size_t>(sample)].data());
    make(sample, 1, given.data());
  }
  CHECK_CUDA(cudaDeviceSynchronize());  // before `given` goes
}

}  // namespace psflip::PSFLIP_PLATFORM
