// Systems, radii, files and deterministic solutions against facts that this code does not make.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "06_prng/linear_solver/systems/matrix_market.hpp"
#include "06_prng/linear_solver/systems/radius.hpp"
#include "06_prng/linear_solver/systems/solve.hpp"
#include "06_prng/linear_solver/systems/system.hpp"
#include "app/invalid_input.hpp"

namespace psflip::linear {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

using Dense = std::vector<std::vector<double>>;

Csr csr(const Dense& dense) {
  Csr matrix;
  for (const std::vector<double>& row : dense) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      matrix.column.push_back(static_cast<std::int32_t>(j));
      matrix.value.push_back(row[j]);
    }
    matrix.begin.push_back(static_cast<std::int64_t>(matrix.value.size()));
    ++matrix.rows;
  }
  return matrix;
}

Dense dense(const Csr& matrix) {
  Dense result(matrix.rows, std::vector<double>(matrix.rows));
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.begin[i]; k < matrix.begin[i + 1]; ++k) result[i][matrix.column[k]] = matrix.value[k];
  }
  return result;
}

/// What f throws as an InvalidInput; empty if nothing.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(Matrices, AreWhatTheirNamesSay) {
  EXPECT_EQ(dense(lap1d(3, 0.5)), (Dense{{3.5, -1, 0}, {-1, 2.5, -1}, {0, -1, 3.5}}));
  EXPECT_EQ(dense(lap1d(1, 0)), (Dense{{4}}));
  EXPECT_EQ(dense(lap2d(2, 1)), (Dense{{4, -1}, {-1, 4}}));
  EXPECT_EQ(dense(lap2d(2, 2)), (Dense{{4, -1, -1, 0}, {-1, 4, 0, -1}, {-1, 0, 4, -1}, {0, -1, -1, 4}}));

  const Csr matrix = diffusion2g();
  EXPECT_EQ(matrix.rows, 25568);
  EXPECT_EQ(matrix.begin.back(), 2 * (5 * 12784 - 2 * 136 - 2 * 94) + 12784);
  const std::int64_t cell = 12784 + 136 + 1;  // of group 2, with four neighbours
  const auto columns = std::vector<std::int32_t>(matrix.column.begin() + matrix.begin[cell],
                                                 matrix.column.begin() + matrix.begin[cell + 1]);
  const auto values =
      std::vector<double>(matrix.value.begin() + matrix.begin[cell], matrix.value.begin() + matrix.begin[cell + 1]);
  EXPECT_THAT(columns, ElementsAre(137, 12785, 12920, 12921, 12922, 13057));
  const double a = -0.9780699492 / 4;
  EXPECT_THAT(values, ElementsAre(-1.0637158713, a, a, 1, a, a));

  EXPECT_THAT(refusal([] { lap1d(0, 1); }), HasSubstr("N is 0"));
  EXPECT_THAT(refusal([] { lap1d(std::int64_t{1} << 31, 1); }), HasSubstr("2147483648"));
  EXPECT_THAT(refusal([] { lap1d(3, std::nan("")); }), HasSubstr("finite"));
  EXPECT_THAT(refusal([] { lap2d(1 << 20, 1 << 20); }), HasSubstr("1048576 x 1048576"));
  EXPECT_THAT(refusal([] { lap2d(std::int64_t{1} << 40, std::int64_t{1} << 40); }), HasSubstr("cells"));
}

TEST(RightHandSides, AreOnesAndASine) {
  EXPECT_THAT(ones(3), ElementsAre(1, 1, 1));
  EXPECT_THAT(sine(5), Pointwise(DoubleNear(1e-15), std::vector<double>{0, std::sqrt(0.5), 1, std::sqrt(0.5), 0}));
  EXPECT_THAT(sine(1), ElementsAre(0));
}

TEST(Scaling, DividesByTheDiagonal) {
  const Scaled result = scaled({csr({{4, -2, 0}, {1, 2, 0}, {0, 5, -10}}), {1, 2, 3}});
  EXPECT_EQ(dense(result.h), (Dense{{0, 0.5, 0}, {-0.5, 0, 0}, {0, 0.5, 0}}));
  EXPECT_THAT(result.b, ElementsAre(0.25, 1, -0.3));
  EXPECT_EQ(result.h.value.size(), 3u);
}

TEST(Scaling, RefusesWhatTheMethodCannotDo) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal([&] { scaled({csr({{1, 0}, {1, 0}}), {1, 1}}); }), HasSubstr("(2, 2) is zero"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1, std::nan("")}, {0, 1}}), {1, 1}}); }), HasSubstr("(1, 2) is not a"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1, 0}, {infinite, 1}}), {1, 1}}); }), HasSubstr("(2, 1) is not a"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1e-300, 1e300}, {0, 1}}), {1, 1}}); }), HasSubstr("too large"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1}}), {0}}); }), HasSubstr("right-hand side is zero"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1}}), {infinite}}); }), HasSubstr("right-hand side"));
  EXPECT_THAT(refusal([&] { scaled({csr({{1}}), {1, 2}}); }), HasSubstr("2 entries, the matrix 1 rows"));
}

TEST(Norms, OfAnySize) {
  EXPECT_NEAR(norm({3, 4}), 5, 1e-15);
  EXPECT_NEAR(norm({3e-200, 4e-200}), 5e-200, 1e-214);
  EXPECT_NEAR(norm({3e200, 4e200}), 5e200, 1e186);
  EXPECT_TRUE(std::isnan(norm({std::nan(""), 0})));
  EXPECT_NEAR(relative_error({1, 1}, {3, 1}), 2 / std::sqrt(10.0), 1e-15);
}

TEST(Transposition, SwapsRowsAndColumns) {
  const Csr matrix = csr({{1, 2, 0}, {0, 0, 3}, {4, 0, 0}});
  EXPECT_EQ(dense(transposed(matrix)), (Dense{{1, 0, 4}, {2, 0, 0}, {0, 3, 0}}));
  EXPECT_EQ(transposed(transposed(matrix)).column, matrix.column);
  EXPECT_FALSE(symmetric(matrix));
  EXPECT_TRUE(symmetric(lap2d(5, 3)));
  EXPECT_FALSE(symmetric(csr({{1, 2}, {3, 1}})));
}

TEST(Tables, AreProbabilitiesAndWeights) {
  const Tables result = tables(csr({{0, 1, -3}, {0, 0, 0}, {2, 0, 0}}));
  EXPECT_THAT(result.cdf, ElementsAre(0.25, 1, 1));
  EXPECT_THAT(result.weight, ElementsAre(4, -4, 2));
  EXPECT_EQ(dense(second_moment(result.base)), (Dense{{0, 4, 12}, {0, 0, 0}, {4, 0, 0}}));
}

TEST(Tables, EndWithExactlyOne) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> row(1000);
  for (double& entry : row) entry = value(random);
  Dense matrix(1000, std::vector<double>(1000));
  matrix[0] = row;
  const Tables result = tables(csr(matrix));
  EXPECT_EQ(result.cdf.back(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(result.cdf));
}

// ---- radii

Radius full(const Csr& matrix) { return spectral_radius(matrix, Accuracy::full); }

void expect_radius(const Csr& matrix, double expected, double tolerance) {
  const Radius radius = full(matrix);
  EXPECT_LE(radius.lower, radius.upper * (1 + 1e-12));
  EXPECT_NEAR(radius.lower, expected, tolerance);
  EXPECT_NEAR(radius.upper, expected, tolerance);
}

TEST(Radii, OfTheThreeSystems) {
  const Csr two = scaled({lap2d(30, 30), ones(900)}).h;
  expect_radius(two, 0.99486932, 1e-8);
  expect_radius(two, std::cos(std::numbers::pi / 31), 1e-10);
  expect_radius(second_moment(transposed(two)), 0.99447033, 1e-8);
  const Csr one = scaled({lap1d(20000, 0.5), sine(20000)}).h;
  expect_radius(one, 0.8, 1e-6);
  expect_radius(second_moment(transposed(one)), 0.64, 1e-6);
  const Csr diffusion = scaled({diffusion2g(), ones(25568)}).h;
  expect_radius(diffusion, 0.977674, 1e-6);
  expect_radius(second_moment(transposed(diffusion)), 0.999836, 1e-6);
  expect_radius(second_moment(diffusion), 1.99619, 1e-6);
}

TEST(Radii, OfSmallMatricesByHand) {
  expect_radius(csr({{0, 0}, {0, 0}}), 0, 0);
  expect_radius(csr({{0, 5}, {0, 0}}), 0, 0);
  expect_radius(csr({{0, 2}, {8, 0}}), 4, 1e-9);                   // two eigenvalues of this size
  expect_radius(csr({{0, -2}, {-8, 0}}), 4, 1e-9);                 // all entries negative
  expect_radius(csr({{0, 1, 0}, {0, 0, 1}, {8, 0, 0}}), 2, 1e-9);  // a cycle: three of them
  expect_radius(csr({{0, 2, 100}, {2, 0, 100}, {0, 0, 3}}), 3, 1e-9);
  // Both signs: the bound is that of the absolute values, 1; the eigenvalues are +-i.
  const Radius rotation = full(csr({{0, 1}, {-1, 0}}));
  EXPECT_EQ(rotation.lower, 0);
  EXPECT_NEAR(rotation.upper, 1, 1e-9);
}

TEST(Radii, OfRandomMatricesAgreeWithPlainPowerIteration) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> value(0, 1);
  for (int size = 2; size < 40; size += 5) {
    Dense matrix(size, std::vector<double>(size));
    for (auto& row : matrix) {
      for (double& entry : row) entry = value(random) < 0.3 ? value(random) : 0;
    }
    for (int i = 0; i < size; ++i) matrix[i][(i + 1) % size] += 0.1;  // irreducible
    matrix[0][0] += 0.1;                                              // and not periodic
    const Csr sparse = csr(matrix);
    std::vector<double> x = ones(size);
    double growth = 0;
    for (int i = 0; i < 5000; ++i) {
      x = product(sparse, x);
      growth = norm(x);
      for (double& entry : x) entry /= growth;
    }
    expect_radius(sparse, growth, 1e-8 * growth);
  }
}

TEST(Radii, SideOfOneIsRightAndCheap) {
  const Csr diffusion = scaled({diffusion2g(), ones(25568)}).h;
  EXPECT_LT(spectral_radius(second_moment(transposed(diffusion)), Accuracy::side_of_one).upper, 1);
  EXPECT_GE(spectral_radius(second_moment(diffusion), Accuracy::side_of_one).lower, 1);
}

// ---- files

class Files : public testing::Test {
 protected:
  Files() : folder_(std::filesystem::temp_directory_path() / ("psFlip_system_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& content) const {
    const std::string path = folder_ / "file.mtx";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string matrix_refusal(const std::string& content) const {
    return refusal([&] { read_matrix(file(content)); });
  }
  std::string vector_refusal(const std::string& content) const {
    return refusal([&] { read_vector(file(content), 2); });
  }

  std::filesystem::path folder_;
};

const std::string banner = "%%MatrixMarket matrix ";
const std::string general = banner + "coordinate real general\n";
const std::string symmetric_integers = banner + "coordinate integer symmetric\n";
const std::string array = banner + "array real general\n";

TEST_F(Files, HoldMatrices) {
  const Dense three{{2.5, 0, 0}, {0, 1, 0}, {-1e-3, 0, 7}};
  EXPECT_EQ(dense(read_matrix(file(general + "% a comment\n3 3 4\n1 1 2.5\n3 1 -1e-3\n2 2 1\n3 3 7\n"))), three);
  EXPECT_EQ(dense(read_matrix(file(symmetric_integers + "2 2 3\n1 1 2\n2 1 -1\n2 2 3\n"))), (Dense{{2, -1}, {-1, 3}}));
  EXPECT_EQ(dense(read_matrix(file("%%matrixmarket MATRIX Coordinate Real General\n% a\n\n1 1 1\n1 1 5\n"))),
            (Dense{{5}}));
  // CR LF, blanks, comments and empty lines anywhere, no end of the last line.
  EXPECT_EQ(dense(read_matrix(file(banner + "coordinate real general \r\n%\r\n 3\t3 4\r\n\r\n1 1 2.5\r\n %x\r\n"
                                            "3 3 7 \n3 1\t-1e-3\n\n2 2 1"))),
            three);
  // A large one, its entries in any order.
  const Csr expected = lap2d(40, 30);
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < expected.rows; ++i)
    for (std::int64_t k = expected.begin[i]; k < expected.begin[i + 1]; ++k)
      lines.push_back(std::to_string(i + 1) + " " + std::to_string(expected.column[k] + 1) + " " +
                      std::to_string(expected.value[k]) + "\n");
  std::shuffle(lines.begin(), lines.end(), std::mt19937(1));
  std::string content = general + "1200 1200 " + std::to_string(lines.size()) + "\n";
  for (const std::string& line : lines) content += line;
  const Csr found = read_matrix(file(content));
  EXPECT_EQ(found.begin, expected.begin);
  EXPECT_EQ(found.column, expected.column);
  EXPECT_EQ(found.value, expected.value);
}

TEST_F(Files, RefuseOtherKindsOfMatrices) {
  EXPECT_THAT(refusal([&] { read_matrix(folder_ / "none.mtx"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(refusal([&] { read_matrix(folder_); }), HasSubstr("cannot be read: Is a directory"));
  for (const std::string& first : {std::string(), std::string("2 2 2\n"), std::string("%%MatrixMarket\n"),
                                   std::string("%%MatrixMarket vector coordinate real general\n"),
                                   banner + "coordinate real\n", banner + "coordinate real general x\n"})
    EXPECT_THAT(matrix_refusal(first + "1 1 1\n1 1 1\n"), HasSubstr("file.mtx: line 1: no Matrix Market file"));
  EXPECT_THAT(matrix_refusal(array + "1 1\n1\n"), HasSubstr("line 1: the format is \"array\"; it must be coordinate"));
  EXPECT_THAT(matrix_refusal(banner + "coordinate complex general\n1 1 1\n1 1 1 2\n"),
              HasSubstr("line 1: the field is \"complex\"; it must be real or integer"));
  EXPECT_THAT(matrix_refusal(banner + "coordinate pattern general\n1 1 1\n1 1\n"), HasSubstr("\"pattern\""));
  EXPECT_THAT(matrix_refusal(banner + "coordinate real skew-symmetric\n2 2 1\n2 1 5\n"),
              HasSubstr("line 1: the symmetry is \"skew-symmetric\"; it must be general or symmetric"));
  EXPECT_THAT(matrix_refusal(banner + "coordinate real hermitian\n1 1 1\n1 1 1\n"), HasSubstr("\"hermitian\""));
}

TEST_F(Files, RefuseSizesOfMatrices) {
  for (const std::string size : {"", "\n% only\n"})
    EXPECT_THAT(matrix_refusal(general + size), HasSubstr("there must be a size here, \"rows columns entries\""));
  for (const char* size : {"2 2", "2 2 2 2", "2.5 2.5 3.0", "2 2 2.0", "two 2 2", "1 1 4nan", "02 2 2", "+2 2 2",
                           "-2 -2 2", "2 2 0x2", "1 1 inf", "99999999999999999999 99999999999999999999 1"})
    EXPECT_THAT(matrix_refusal(general + size + "\n1 1 1\n2 2 1\n"), HasSubstr("line 2: there must be a size here"));
  EXPECT_THAT(matrix_refusal(general + "2 3 2\n1 1 1\n2 2 1\n"), HasSubstr("line 2: a matrix of 2 x 3; it must be sq"));
  EXPECT_THAT(matrix_refusal(general + "0 0 0\n"), HasSubstr("of 0 x 0; it must have 1 to 2147483647 rows"));
  EXPECT_THAT(matrix_refusal(general + "3000000000 3000000000 1\n1 1 1\n"), HasSubstr("1 to 2147483647 rows"));
  // What the file does not hold takes no memory.
  EXPECT_THAT(matrix_refusal(general + "2000000000 2000000000 1\n1 1 1\n"), HasSubstr("1 entries, fewer than rows"));
  for (const char* entries : {"2000000000", "9223372036854775807"})
    EXPECT_THAT(matrix_refusal(general + "2000000000 2000000000 " + entries + "\n1 1 1\n"),
                HasSubstr("line 4: the file ends after 1 of " + std::string(entries) + " entries"));
}

TEST_F(Files, RefuseEntriesOfMatrices) {
  for (const char* entry : {"2", "2 2", "2 2 1 1", "2x 2 1 x y z"})
    EXPECT_THAT(matrix_refusal(general + "2 2 2\n1 1 1\n" + entry + "\n"),
                HasSubstr("line 4: there must be an entry here, \"row column value\""));
  for (const char* index : {"3", "0", "-2", "2x", "1.5", "2.9", "2.0", "02", "+2", "4294967298", "x", "nan"})
    for (const std::string& entry : {std::string(index) + " 2 1", "2 " + std::string(index) + " 1"})
      EXPECT_THAT(matrix_refusal(general + "2 2 2\n% a comment\n1 1 1\n" + entry + "\n"),
                  HasSubstr("line 5: there is no row or column \"" + std::string(index) + "\": allowed are 1 to 2"));
  for (const char* value : {"x", "nan", "inf", "-inf", "1e999", "1,5", "0x1", "+1", "1.0.0", "1d0"})
    EXPECT_THAT(matrix_refusal(general + "2 2 2\n1 1 1\n2 2 " + value + "\n"),
                HasSubstr("line 4: the value is \"" + std::string(value) + "\"; it must be a finite number"));
  for (const char* value : {"1.0", "1e3", "0.5", "007", "99999999999999999999"})
    EXPECT_THAT(matrix_refusal(symmetric_integers + "1 1 1\n1 1 " + value + "\n"),
                HasSubstr("in an integer file it must be a whole number"));
  EXPECT_THAT(matrix_refusal(general + "2 2 3\n1 1 1\n2 2 1\n"), HasSubstr("line 5: the file ends after 2 of 3 ent"));
  EXPECT_THAT(matrix_refusal(general + "2 2 2\n1 1 1\n2 2 1\n\n2 1 1\n"),
              HasSubstr("line 6: more text after the last of 2 entries"));
  EXPECT_THAT(matrix_refusal(general + "2 2 3\n2 2 1\n%\n1 1 1\n2 2 1\n"),
              HasSubstr("line 6: this entry is in line 3 already"));
  EXPECT_THAT(matrix_refusal(symmetric_integers + "2 2 4\n1 1 1\n2 1 1\n2 2 1\n2 1 1\n"),
              HasSubstr("line 6: this entry is in line 4 already"));
  EXPECT_THAT(matrix_refusal(symmetric_integers + "2 2 3\n1 1 1\n1 2 1\n2 2 1\n"),
              HasSubstr("line 4: the entry is above the diagonal"));
  for (const std::string& line :
       {"2 2 1" + std::string(1200, ' '), std::string("2 2 1\0", 6), std::string("2 2 1\0 9", 8)})
    for (const char* end : {"", "\n"})
      EXPECT_THAT(matrix_refusal(general + "2 2 2\n1 1 1\n" + line + end), HasSubstr("line 4: no line of text"));
}

TEST_F(Files, HoldVectors) {
  EXPECT_THAT(read_vector(file(array + "3 1\n1\n-2.5\n3e4\n"), 3), ElementsAre(1, -2.5, 3e4));
  EXPECT_THAT(read_vector(file(banner + "array integer general\r\n%\r\n2 1\r\n\r\n-1\r\n2"), 2), ElementsAre(-1, 2));
}

TEST_F(Files, RefuseBadVectors) {
  EXPECT_THAT(vector_refusal("1\n2\n"), HasSubstr("line 1: no Matrix Market file"));
  EXPECT_THAT(vector_refusal(general + "2 1 2\n1 1 1\n2 1 1\n"), HasSubstr("\"coordinate\"; it must be array"));
  EXPECT_THAT(vector_refusal(banner + "array real symmetric\n2 1\n1\n2\n"),
              HasSubstr("\"symmetric\"; it must be general"));
  EXPECT_THAT(vector_refusal(array + "2.0 1\n1\n2\n"),
              HasSubstr("line 2: there must be a size here, \"rows columns\""));
  EXPECT_THAT(vector_refusal(array + "3 1\n1\n2\n3\n"), HasSubstr("line 2: 3 x 1 entries; it must have 2 x 1"));
  EXPECT_THAT(vector_refusal(array + "2 2\n1\n2\n3\n4\n"), HasSubstr("2 x 2"));
  EXPECT_THAT(vector_refusal(array + "2 1\n1\n"), HasSubstr("line 4: the file ends after 1 of 2 entries"));
  EXPECT_THAT(vector_refusal(array + "2 1\n1\n2\n3\n"), HasSubstr("line 5: more text after the last of 2 entries"));
  EXPECT_THAT(vector_refusal(array + "2 1\n1\nnan\n"), HasSubstr("line 4: the value is \"nan\""));
  EXPECT_THAT(vector_refusal(array + "2 1\n1 2\n"), HasSubstr("line 3: there must be an entry here, \"value\""));
}

// ---- deterministic solutions

TEST(Solutions, ByHand) {
  EXPECT_THAT(solve_directly({csr({{2, 1}, {1, 3}}), {3, 5}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{0.8, 1.4}));
  EXPECT_THAT(solve_directly({csr({{2, 1}, {0, 4}}), {4, 8}}), Pointwise(DoubleNear(1e-14), std::vector<double>{1, 2}));
  EXPECT_THAT(solve_directly({csr({{1e-20, 1}, {1, 1}}), {1, 2}}),
              Pointwise(DoubleNear(1e-12), std::vector<double>{1, 1}));
  EXPECT_THAT(refusal([] { solve_directly({csr({{1, 1}, {1, 1}}), {1, 2}}); }), HasSubstr("singular"));
  EXPECT_THAT(refusal([] { solve_directly({csr({{1, 2}, {0, 0}}), {1, 2}}); }), HasSubstr("singular"));
}

TEST(Solutions, OfTheSystemsSolveThem) {
  for (const Csr& a : {lap1d(1000, 0.5), lap2d(30, 30), diffusion2g()}) {
    const System system{a, ones(a.rows)};
    EXPECT_LT(residual(scaled(system), solve_directly(system)), 1e-12);
  }
  EXPECT_EQ(residual(scaled({lap2d(3, 3), ones(9)}), std::vector<double>(9)), 1);
}

TEST(Iterations, TakeAsManyAsTheirErrorNeeds) {
  const System system{lap2d(30, 30), ones(900)};
  const Scaled rescaled = scaled(system);
  const std::vector<double> exact = solve_directly(system);
  for (const auto& [method, limit] :
       {std::pair(make_richardson(rescaled), 3000), {make_conjugate_gradients(system), 60}}) {
    std::int64_t before = 0;
    for (const double error : {0.5, 1e-2, 1e-6}) {
      const auto result = time_to_error(*method, exact, error);
      ASSERT_TRUE(result);
      EXPECT_LE(result->error, error);
      EXPECT_GT(result->iterations, before);
      EXPECT_LE(result->iterations, limit);
      method->run(result->iterations - 1);
      EXPECT_GT(relative_error(method->x(), exact), error);
      before = result->iterations;
    }
  }
  // The error of Richardson's iteration is H^k x: with the largest eigenvalue's vector dominating, it falls as rho^k.
  const auto richardson = make_richardson(rescaled);
  richardson->run(1000);
  const double error = relative_error(richardson->x(), exact);
  richardson->run(1100);
  EXPECT_NEAR(relative_error(richardson->x(), exact) / error, std::pow(std::cos(std::numbers::pi / 31), 100), 1e-6);
  EXPECT_EQ(time_to_error(*richardson, exact, 1)->iterations, 0);
}

TEST(Iterations, GiveUpWhereTheErrorGrows) {
  const System system{csr({{1, 2}, {2, 1}}), {1, 2}};
  const Scaled rescaled = scaled(system);
  EXPECT_FALSE(time_to_error(*make_richardson(rescaled), solve_directly(system), 1e-3));
  EXPECT_FALSE(time_to_error(*make_richardson(rescaled), solve_directly(system), std::nan("")));
}

}  // namespace
}  // namespace psflip::linear
