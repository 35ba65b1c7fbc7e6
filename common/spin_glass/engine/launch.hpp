/// How an engine of the 3D model is to be run, and the one table of what can be asked for: the command lines of program
/// and benchmark, JSON, reports, checkpoints and tests go through it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace psflip::spin_glass {

/// How a thread finds its site and the site's neighbours. "Grid": its coordinates are those of the thread in the grid.
enum class Indexing { standard, bitwise, standard_grid, sliced, sliced_grid };
/// How a kernel reads what it does not write: by a plain pointer, through the read-only path, or as a linear texture.
enum class Load { plain, readonly, texture };
/// Which of a stage's kernels, where it has several (stage 07, whose files have these names).
enum class Kernel { update, wide, fused, resident, small };
/// How a boundary plane gets to the neighbouring rank (stage 08, whose files have these names).
enum class Transport { staged, mpi, nccl, peer };

inline constexpr std::array indexings{Indexing::standard, Indexing::bitwise, Indexing::standard_grid, Indexing::sliced,
                                      Indexing::sliced_grid};
inline constexpr std::array loads{Load::plain, Load::readonly, Load::texture};
inline constexpr std::array kernels{Kernel::update, Kernel::wide, Kernel::fused, Kernel::resident, Kernel::small};
inline constexpr std::array transports{Transport::staged, Transport::mpi, Transport::nccl, Transport::peer};
/// "standard-grid" and so on.
std::string_view name(Indexing);
std::string_view name(Load);
std::string_view name(Kernel);
std::string_view name(Transport);

/// How an engine is to be run. Nothing here changes a bit of the result. What is left empty, the stage chooses.
struct Launch {
  int device = 0;  ///< device number within the platform
  std::optional<Indexing> indexing{};
  std::optional<Load> load{};
  std::optional<int> threads{};           ///< threads of a block
  std::optional<int> sites_per_thread{};  ///< sites in a row that one thread updates together
  std::optional<Kernel> kernel{};
  std::optional<int> samples_per_word{};   ///< samples that are updated together, as the bits of a word
  std::optional<int> cluster{};            ///< thread blocks that share their memory
  std::optional<int> replicas_together{};  ///< replicas that one thread updates
  std::optional<Transport> transport{};
};

/// What there is to know about a member of Launch; its values are texts here.
struct LaunchField {
  std::string name;                ///< "samples_per_word", as in JSON and in the names of benchmarks
  std::string option;              ///< "--samples-per-word"
  std::string help;                ///< without a full stop
  std::vector<std::string> words;  ///< its values; if there are none, it is a whole number
  int most;                        ///< the largest whole number
  bool automatic;                  ///< the program also takes "auto": the stage chooses
  std::function<std::optional<std::string>(const Launch&)> get;
  std::function<void(Launch&, const std::string&)> set;  ///< to one of its values
};
/// All but `device`. To add one: a member of Launch, a line in launch.cpp, and its use in a stage.
const std::vector<LaunchField>& launch_fields();

/// A value as JSON has it: a whole number is a number.
template <class Json>
Json launch_value(const LaunchField& field, const std::string& value) {
  return field.words.empty() ? Json(std::stoi(value)) : Json(value);
}

/// Values by the names of their fields, without those that are left out.
using LaunchValues = std::map<std::string, std::string>;
LaunchValues values_of(const Launch& launch);
/// The launch with these values. Where one is "auto", it is left out.
Launch launch_with(const LaunchValues& values, int device);

/// "indexing sliced, threads 128", or "left to the stage".
std::string in_words(const Launch& launch);

}  // namespace psflip::spin_glass
