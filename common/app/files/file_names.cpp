#include "app/files/file_names.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip {
namespace {

namespace fs = std::filesystem;

/// The absolute name of the file, without links but perhaps itself.
fs::path place_of(const fs::path& name, std::error_code& error) {
  const fs::path whole = fs::absolute(name, error).lexically_normal();
  if (error) return name;
  const fs::path folder = fs::weakly_canonical(whole.parent_path(), error);
  return error ? whole : folder / whole.filename();
}

/// Throws InvalidInput for what cannot be looked at.
void expect_no(const std::error_code& error, const fs::path& name) {
  if (error) throw InvalidInput(name.string() + ": " + error.message());
}

fs::path without_links(const fs::path& folder) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(folder.empty() ? "." : folder, error);
  expect_no(error, folder);
  return found;
}

/// What tells files apart: their place, and where there is one already, the file itself.
struct File {
  explicit File(const std::string& name) {
    std::error_code ignored;  // what cannot be opened is refused with its reason when it is opened
    place = place_of(behind_links(name), ignored).string();
    struct stat found {};
    if (stat(name.c_str(), &found) == 0) itself = {found.st_dev, found.st_ino};
  }
  friend bool operator==(const File& a, const File& b) {
    return a.place == b.place || (a.itself && a.itself == b.itself);
  }

  std::string place;
  std::optional<std::pair<dev_t, ino_t>> itself;
};

}  // namespace

std::string part_of(const std::string& path) { return path + ".psflip.part"; }
std::string lock_of(const std::string& path) { return path + ".psflip.lock"; }

fs::path behind_links(fs::path path) {
  fs::path given = path;
  std::error_code error;
  for (int links = 0; links < 40; ++links) {  // as many as Linux follows
    if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return given;
}

bool one_file(const std::string& a, const std::string& b) { return File(a) == File(b); }

void refuse_twins(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  struct Use {
    const std::string& name;
    File file, part;
  };
  std::vector<Use> uses;
  const auto use_of = [](const std::string& name) {
    return Use{name, File(name), File(part_of(behind_links(name).string()))};
  };
  for (const std::string& name : written) {
    uses.push_back(use_of(name));
    const Use& use = uses.back();
    const auto collides = [&](const Use& other) {
      return other.file == use.file || other.file == use.part || other.part == use.file;
    };
    if (std::any_of(uses.begin(), uses.end() - 1, collides)) {
      throw InvalidInput(name + ": the same file for two purposes; they need two");
    }
  }
  for (const std::string& name : read) {
    const File file(name);
    for (const Use& use : uses) {
      if (use.file == file || use.part == file) {
        throw InvalidInput(use.name + ": it would be written over " + name + ", which is read");
      }
    }
  }
}

std::string kept_name(const std::string& name, const fs::path& folder) {
  std::error_code error;
  const fs::path relative = place_of(name, error).lexically_relative(without_links(folder));
  expect_no(error, name);
  const bool outside = relative.empty() || *relative.begin() == "..";
  return outside && fs::path(name).is_absolute() ? name : relative.string();
}

std::string name_here(const std::string& kept, const fs::path& folder) {
  if (fs::path(kept).is_absolute()) return kept;
  const fs::path whole = (without_links(folder) / kept).lexically_normal();
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return error ? whole.string() : whole.lexically_proximate(here).string();
}

}  // namespace psflip
