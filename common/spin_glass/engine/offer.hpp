/// Which launches a stage of the 3D model offers, and how a wish becomes one of them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

/// What a stage can do; the first of each list is its choice, unless it says otherwise. An empty list: the stage has
/// nothing of the kind to choose.
struct Offer {
  std::vector<Generator> generators{Generator::minstd};
  std::vector<Indexing> indexings;
  std::vector<Load> loads;
  std::vector<int> sites_per_thread;
  std::vector<Kernel> kernels;
  std::vector<int> samples_per_word;
  std::vector<int> clusters;
  std::vector<int> replicas_together;
  std::vector<Transport> transports;
  int threads = 256;        ///< the stage's choice
  int most_threads = 1024;  ///< of a block
};

/// Throws InvalidInput: the option's value is none of those offered.
[[noreturn]] void refuse_choice(const char* option, const std::string& value, const std::vector<std::string>& offered);

inline std::string in_words(int value) { return std::to_string(value); }
template <class Enumeration>
std::string in_words(Enumeration value) {
  return std::string(name(value));
}

/// The wish, or the stage's choice; InvalidInput unless it is among those offered.
template <class T>
std::optional<T> choose(const char* option, const std::optional<T>& wish, const std::vector<T>& offered) {
  if (!wish) return offered.empty() ? std::nullopt : std::optional<T>(offered.front());
  if (std::ranges::count(offered, *wish)) return wish;
  std::vector<std::string> words;
  for (const T value : offered) words.push_back(in_words(value));
  refuse_choice(option, in_words(*wish), words);
}

/// The launch with its empty fields filled in. Throws InvalidInput if the problem is none, or if the stage does not
/// offer the launch or the generator.
Launch complete(const Problem& problem, Launch launch, const Offer& offer);

}  // namespace psflip::spin_glass
