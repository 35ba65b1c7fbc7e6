/// What was chosen, kept for later runs in a small file of the user's cache folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace psflip {

using Texts = std::map<std::string, std::string>;

/// A choice: for what, and what was chosen.
struct Remembered {
  Texts key;           ///< the device, the program, the problem: all that decides what is fastest
  Texts values;        ///< of the launch, by the names of its fields
  int tried = 0;       ///< of how many it was the fastest
  double seconds = 0;  ///< for a unit of work

  bool operator==(const Remembered&) const = default;
};

/// What the environment says: PSFLIP_LAUNCHES is a folder, or "off". Another value ends the program before main(), with
/// one line and exit code 2.
/// Whether nothing is to be tried or remembered.
bool choices_are_off();
/// Where to remember: that folder, or psflip in $XDG_CACHE_HOME or in .cache of $HOME. None if these are no absolute
/// paths.
std::optional<std::filesystem::path> choices_folder();

/// Another program than this one, or this one built anew, has another text.
std::string program_identity();

/// The file. It may be missing, damaged or another program's, and the folder may not be there or not be writable: then
/// nothing is remembered, and nobody is told.
class ChoiceFile {
 public:
  /// `launches.json` in the folder, if there is one.
  explicit ChoiceFile(const std::optional<std::filesystem::path>& folder);

  /// What was remembered for exactly this.
  std::optional<Remembered> find(const Texts& key) const;
  /// Puts it in front, in the place of one with the same key; forgets the oldest. The file is replaced as a whole, so
  /// others read the old one or the new one. If another program is replacing it, its choice is kept in place of this
  /// one.
  void remember(const Remembered& choice) const;

  static constexpr std::size_t most = 200;  ///< choices
  static constexpr std::size_t most_bytes = 1 << 20;

 private:
  std::vector<Remembered> read() const;

  std::filesystem::path file_;  ///< empty: there is none
};

/// The file's text.
std::string text_of(const std::vector<Remembered>& choices);
/// The choices in a text; none if it is not of such a file.
std::vector<Remembered> choices_in(std::string_view text);

}  // namespace psflip
