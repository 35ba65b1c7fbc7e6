#include "majority/picture.hpp"

#include <png.h>

#include <algorithm>

#include "app/invalid_input.hpp"

namespace psflip::majority {
namespace {

constexpr std::int64_t largest_side = 1024;

/// The grey of the box of spins [x0, x1) x [y0, y1).
std::uint8_t grey(const Lattice& lattice, std::int64_t x0, std::int64_t x1, std::int64_t y0, std::int64_t y1) {
  std::int64_t down = 0;
  for (std::int64_t y = y0; y < y1; ++y) {
    const auto row = lattice.spins.begin() + y * lattice.size;
    down += std::count(row + x0, row + x1, Spin{-1});
  }
  const std::int64_t spins = (x1 - x0) * (y1 - y0);
  return static_cast<std::uint8_t>((255 * down + spins / 2) / spins);
}

}  // namespace

Picture draw(const Lattice& lattice) {
  const std::int64_t n = lattice.size;
  const std::int64_t boxes = std::min(n, largest_side);  // along a side
  const std::int64_t enlargement = largest_side / boxes;
  const std::int64_t side = boxes * enlargement;

  Picture picture{static_cast<int>(side), std::vector<std::uint8_t>(side * side)};
  for (std::int64_t v = 0; v < side; ++v) {
    const auto row = picture.pixels.begin() + v * side;
    if (v % enlargement != 0) {
      std::copy_n(row - side, side, row);
      continue;
    }
    const std::int64_t box_y = v / enlargement;
    for (std::int64_t box_x = 0; box_x < boxes; ++box_x) {
      const std::uint8_t shade = grey(lattice, box_x * n / boxes, (box_x + 1) * n / boxes,  //
                                      box_y * n / boxes, (box_y + 1) * n / boxes);
      std::fill_n(row + box_x * enlargement, enlargement, shade);
    }
  }
  return picture;
}

void write_png(OutputFile& file, const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.side);
  image.height = static_cast<png_uint_32>(picture.side);
  image.format = PNG_FORMAT_GRAY;
  if (png_image_write_to_stdio(&image, file.stream(), 0, picture.pixels.data(), 0, nullptr) == 0) {
    throw InvalidInput(file.path() + ": cannot be written: " + image.message);
  }
}

}  // namespace psflip::majority
