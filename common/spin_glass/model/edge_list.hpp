/// Couplings as files: the edge list ("rudy" format) that spin-glass servers and Ising solvers exchange.
///
/// The first line is "N M", the numbers of sites and of edges; a third number, which some files have, means nothing
/// here. M lines "i j J" follow. Site s = x + L (y + L z) has the number 1 + s, and N = L^3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/files/output_file.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// The couplings of one sample.
struct Instance {
  std::int64_t size = 0;            ///< L
  std::vector<Coupling> couplings;  ///< 3 L^3, each +1 or -1: element 3 s + d is J_d(s), as in problem.hpp
  friend bool operator==(const Instance&, const Instance&) = default;
};

/// Reads an instance. Edges may come in any order and either orientation. Either every bond of the periodic lattice is
/// listed once (M = 3 N), or every bond twice with the same J (M = 6 N: once from each end, say). Numbers are separated
/// by blanks; lines may end with CR LF; only after the last edge may lines be empty.
/// Throws InvalidInput, which names the file and the line, for anything else: no cubic lattice of even
/// L = smallest_size .. largest_size, an edge between sites that are no neighbours, a bond that is missing or listed
/// too often, a coupling other than 1 and -1, a file that ends too soon, goes on after the last edge or cannot be read.
/// Takes no more memory than the file's content justifies, whatever its first line says.
Instance read_edge_list(const std::string& path);

/// Writes every bond once, in the order of the couplings, from a site to its neighbour in direction +d. Does not
/// commit. Throws InvalidInput if the file cannot be written.
void write_edge_list(OutputFile& file, const Instance& instance);

}  // namespace psflip::spin_glass
