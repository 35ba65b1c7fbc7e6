/// The four generators by their names.
#pragma once

#include <stdexcept>

#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip {

/// Calls f.operator()<G>() for the generator G (generator.hpp) of this name.
template <class F>
auto with_generator(spin_glass::Generator generator, F f) {
  switch (generator) {
    case spin_glass::Generator::minstd:
      return f.template operator()<prng::Minstd>();
    case spin_glass::Generator::parisi_rapuano:
      return f.template operator()<prng::ParisiRapuano>();
    case spin_glass::Generator::mt19937:
      return f.template operator()<prng::Mt19937>();
    case spin_glass::Generator::philox:
      return f.template operator()<prng::Philox<>>();
    default:
      throw std::logic_error("with_generator: a generator that was not listed");
  }
}

}  // namespace psflip
