// The host's side of the 2D model: the lattice's numbers, its files and its pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "majority/lattice.hpp"
#include "majority/pbm.hpp"
#include "majority/picture.hpp"

namespace psflip::majority {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(Lattice, StartsAsPublished) {
  const Lattice lattice = random_lattice(64, 42);
  EXPECT_EQ(hex(state_hash(lattice)), "6d9bdfa9445da604");
  EXPECT_EQ(magnetisation(lattice), 54);
  EXPECT_EQ(energy(lattice), -44);
}

TEST(Lattice, CountsTwoBondsASite) {
  EXPECT_EQ(energy({1, {-1}}), -2);
  EXPECT_EQ(energy({2, {1, 1, 1, 1}}), -8);
  EXPECT_EQ(energy({2, {1, -1, 1, -1}}), 0);  // columns: right bonds broken, down bonds satisfied
  EXPECT_EQ(energy({2, {1, -1, -1, 1}}), 8);  // checkerboard
  EXPECT_EQ(energy({2, {-1, 1, 1, 1}}), 0);
  EXPECT_EQ(energy({3, {-1, 1, 1, 1, 1, 1, 1, 1, 1}}), -18 + 2 * 4);
}

class FilesTest : public testing::Test {
 protected:
  FilesTest() : folder_(testing::TempDir() + "psflip_majority." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string written(const std::string& text) const {
    std::ofstream(path("a.pbm"), std::ios::binary) << text;
    return path("a.pbm");
  }
  std::string write(const Lattice& lattice, PbmFormat format) const {
    OutputFile file(path("b.pbm"));
    write_pbm(file, lattice, format);
    file.commit();
    std::ifstream content(path("b.pbm"), std::ios::binary);
    return {std::istreambuf_iterator<char>(content), {}};
  }

  std::filesystem::path folder_;
};

const Lattice three_by_three{3,
                             {1, -1, -1,  //
                              1, 1, -1,   //
                              -1, -1, 1}};

TEST_F(FilesTest, ReadsAndWritesPbm) {
  EXPECT_EQ(read_pbm(written("P1\n3 3\n1 0 0\n1 1 0\n0 0 1\n"), 3), three_by_three);
  EXPECT_EQ(read_pbm(written("P1 # a comment\n# another\n3 3 100110001"), 3), three_by_three);
  EXPECT_EQ(read_pbm(written("P4\n3 3\n\x80\xC0\x20"), 3), three_by_three);
  EXPECT_EQ(read_pbm(written("P4\n3 3\n\x9F\xDF\x3F\n"), 3), three_by_three);  // the padding bits mean nothing
  EXPECT_EQ(read_pbm(written("P4 # 9 9\r\n3\t#\n\r3#\n\x80\xC0\x20"), 3), three_by_three);
  EXPECT_EQ(read_pbm(written("P1 3 3\n1 0 0 # 1\n110\f\v001 \n"), 3), three_by_three);
  EXPECT_EQ(read_pbm(written("P4 1 1 #"), 3), (Lattice{1, {-1}}));  // a raster has no comments
  EXPECT_EQ(write(three_by_three, PbmFormat::packed), "P4\n3 3\n\x80\xC0\x20");
  EXPECT_EQ(write(three_by_three, PbmFormat::plain), "P1\n3 3\n100\n110\n001\n");
}

TEST_F(FilesTest, ReturnsWhatWasWritten) {
  for (const std::int64_t size : {1, 2, 7, 8, 9, 71, 200}) {
    const Lattice lattice = random_lattice(size, 5);
    for (const PbmFormat format : {PbmFormat::packed, PbmFormat::plain}) {
      write(lattice, format);
      EXPECT_EQ(read_pbm(path("b.pbm"), 200), lattice) << size;
      std::ifstream text(path("b.pbm"));
      for (std::string line; format == PbmFormat::plain && std::getline(text, line);) EXPECT_LE(line.size(), 70U);
    }
  }
}

TEST_F(FilesTest, RefusesEverythingElseByName) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "not a PBM file"},
      {"P", "not a PBM file"},
      {"hello", "not a PBM file, which begins with P1 or P4"},
      {"P5\n1 1\n255\nx", "not a PBM file"},
      {"P1\n", "after P1 come the numbers of columns and of rows"},
      {"P1\n3", "the numbers of columns"},
      {"P13 3 100110001", "not a PBM file"},
      {"P1\n3x3y100110001", "the numbers of columns"},
      {"P1\n3 3x\n100110001", "the numbers of columns"},
      {"P1\n03 3\n100110001", "the numbers of columns"},
      {"P1\n3.0 3\n100110001", "the numbers of columns"},
      {"P1\n+3 3\n100110001", "the numbers of columns"},
      {"P4\n" + std::string(1000, '3') + " 3\n", "the numbers of columns"},
      {"P1\n0 0\n", "0 x 0 pixels"},
      {"P1\n-3 -3\n", "-3 x -3 pixels"},
      {"P1\n2 3\n101010", "2 x 3 pixels"},
      {"P1\n3 3\n10010", "not a complete PBM file: it ends before the last of 3 x 3"},
      {"P4\n3 3\n\x80\xC0", "not a complete PBM file"},
      {"P1\n2 2\n1020", "the pixels of P1 are 0 and 1"},
      {"P1\n2 2\n10101", "data after"},
      {"P4\n2 2\n\x80\x80P4\n2 2\n\x80\x80", "data after"},
      {"P1\n101 101\n1", "101 x 101 pixels; memory suffices for 100"},
      {"P4\n99999999999 99999999999\n", "memory suffices for 100"},
      {"P4\n99999999999999999999 3\n", "the numbers of columns"},
  };
  for (const auto& [text, complaint] : wrong) {
    try {
      read_pbm(written(text), 100);
      ADD_FAILURE() << "accepted " << text;
    } catch (const InvalidInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(path("a.pbm"))) << text;
      EXPECT_THAT(error.what(), HasSubstr(complaint)) << text;
    }
  }
  EXPECT_THROW(read_pbm(path("missing"), 100), InvalidInput);
  EXPECT_THROW(read_pbm(folder_, 100), InvalidInput);
}

TEST_F(FilesTest, NoticesAFullDisk) {
  OutputFile file("/dev/full");
  EXPECT_THROW(write_pbm(file, random_lattice(1000, 1), PbmFormat::packed), InvalidInput);
  OutputFile picture("/dev/full");
  EXPECT_THROW(write_png(picture, draw(random_lattice(1000, 1))), InvalidInput);
}

// ---- Pictures

TEST(Picture, DrawsUpBlackAndEnlargesSmallLattices) {
  const Picture one = draw({1, {1}});
  EXPECT_EQ(one.side, 1024);
  EXPECT_THAT(one.pixels, Each(0));

  const Picture three = draw(three_by_three);
  EXPECT_EQ(three.side, 1023);
  for (int y = 0; y < 1023; ++y) {
    for (int x = 0; x < 1023; ++x) {
      ASSERT_EQ(three.pixels[y * 1023 + x], three_by_three.spins[y / 341 * 3 + x / 341] > 0 ? 0 : 255)
          << x << ", " << y;
    }
  }
  EXPECT_EQ(draw(random_lattice(1023, 1)).side, 1023);
}

TEST(Picture, AveragesLargeLattices) {
  Lattice lattice{2048, std::vector<Spin>(2048 * 2048, 1)};
  lattice.spins[2048 * 2 + 7] = -1;  // in the box of pixel (3, 1)
  const Picture picture = draw(lattice);
  EXPECT_EQ(picture.side, 1024);
  for (int i = 0; i < 1024 * 1024; ++i) {
    ASSERT_EQ(picture.pixels[i], i == 1024 + 3 ? 64 : 0) << i;
  }
}

TEST(Picture, CoversEverySpinWhereTheBoxesDiffer) {
  for (const std::int64_t size : {1025, 1500, 3001}) {
    // Down only in the last row and column: all boxes there, and no others, hold a down spin.
    Lattice lattice{size, std::vector<Spin>(size * size, 1)};
    for (std::int64_t i = 0; i < size; ++i) {
      lattice.spins[(size - 1) * size + i] = -1;
      lattice.spins[i * size + size - 1] = -1;
    }
    const Picture picture = draw(lattice);
    ASSERT_EQ(picture.side, 1024);
    for (int y = 0; y < 1024; ++y) {
      for (int x = 0; x < 1024; ++x) {
        ASSERT_EQ(picture.pixels[y * 1024 + x] > 0, x == 1023 || y == 1023) << x << ", " << y;
      }
    }
  }
}

TEST_F(FilesTest, WritesAPictureThatLibpngReadsBack) {
  const Picture picture = draw(random_lattice(30, 9));
  OutputFile file(path("a.png"));
  write_png(file, picture);
  file.commit();

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path("a.png").c_str()), 0) << image.message;
  EXPECT_EQ(image.format, static_cast<unsigned>(PNG_FORMAT_GRAY));
  EXPECT_EQ(image.width, static_cast<unsigned>(picture.side));
  EXPECT_EQ(image.height, static_cast<unsigned>(picture.side));
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  EXPECT_EQ(pixels, picture.pixels);
}

}  // namespace
}  // namespace psflip::majority
