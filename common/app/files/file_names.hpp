/// What names of files mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace psflip {

/// Where a file is written until it is complete, and the file that is locked while a checkpoint is used.
std::string part_of(const std::string& path);
std::string lock_of(const std::string& path);

/// The file at the end of symbolic links, if the name is one, whether there is such a file or not. Links that lead
/// nowhere but back are left as they are, for the one who opens them to complain.
std::filesystem::path behind_links(std::filesystem::path path);

/// Whether two names are of one file, which need not be there.
bool one_file(const std::string& a, const std::string& b);

/// Throws InvalidInput if a file that is written is another one that the same call writes or reads, by whatever name,
/// or is where another one is written until it is complete.
void refuse_twins(const std::vector<std::string>& written, const std::vector<std::string>& read = {});

/// A name as one keeps it in a file in `folder`, so that a folder may be moved or copied with all in it: a relative
/// name, and one of a file in the folder, become relative to it; any other absolute name stays. Throws InvalidInput if
/// the system cannot say where they are.
std::string kept_name(const std::string& name, const std::filesystem::path& folder);
/// And back: a name that is good here.
std::string name_here(const std::string& kept, const std::filesystem::path& folder);

}  // namespace psflip
