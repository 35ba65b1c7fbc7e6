/// Lattices as pictures to look at.
#pragma once

#include <cstdint>
#include <vector>

#include "app/files/output_file.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

/// A square picture of `side` x `side` pixels, row by row from the top, 0 = black to 255 = white.
struct Picture {
  int side = 0;
  std::vector<std::uint8_t> pixels;
};

/// Draws a lattice, up black and down white, as in a PBM file. At most 1024 pixels a side: a larger lattice is averaged
/// over boxes (which differ by one spin where 1024 does not divide the size), so grey is a mixture; a smaller one is
/// enlarged by the largest whole factor that fits.
Picture draw(const Lattice& lattice);

/// Writes a PNG, 8-bit grey. Throws InvalidInput, naming the file, if that fails.
void write_png(OutputFile& file, const Picture& picture);

}  // namespace psflip::majority
