/// Lattices as Netpbm bitmaps: one pixel a spin, 1 (black) = up.
#pragma once

#include <cstdint>
#include <string>

#include "app/files/output_file.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

/// Reads a square bitmap of at most `largest_size` x `largest_size` pixels, plain (P1) or packed (P4). Only white space
/// may follow the last row. Throws InvalidInput, naming the file and what is wrong with it.
Lattice read_pbm(const std::string& path, std::int64_t largest_size);

enum class PbmFormat { packed, plain };  ///< P4, P1

/// Writes a bitmap. Throws InvalidInput, naming the file, if that fails.
void write_pbm(OutputFile& file, const Lattice& lattice, PbmFormat format);

}  // namespace psflip::majority
