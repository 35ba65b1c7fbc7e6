#include "majority/pbm.hpp"

#include <pbm.h>

#include <cctype>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <vector>

#include "app/invalid_input.hpp"

namespace psflip::majority {
namespace {

char netpbm_error[256];

void keep_error(const char* message) { std::snprintf(netpbm_error, sizeof netpbm_error, "%s", message); }

/// Calls libnetpbm. It reports an error by a long jump (or, left alone, by exit), which becomes an InvalidInput here.
/// The jump runs no destructors: while libnetpbm is called, `calls` must hold no object that has one.
void call_netpbm(const std::string& failure, const std::function<void()>& calls) {
  std::jmp_buf after_error;
  pm_setusererrormsgfn(keep_error);
  pm_setjmpbuf(&after_error);
  if (setjmp(after_error) != 0) {
    pm_setjmpbuf(nullptr);
    throw InvalidInput(failure + ": " + netpbm_error);
  }
  calls();
  pm_setjmpbuf(nullptr);
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using InputFile = std::unique_ptr<std::FILE, CloseFile>;

InputFile open(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw InvalidInput(path + ": is a directory, not a PBM file");
  }
  InputFile file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    throw InvalidInput(path + ": cannot be read: " + std::strerror(errno));
  }
  return file;
}

}  // namespace

Lattice read_pbm(const std::string& path, std::int64_t largest_size) {
  const InputFile file = open(path);
  const std::string failure = path + ": not a complete PBM file (P1 or P4)";
  int columns = 0;
  int rows = 0;
  int format = 0;
  call_netpbm(failure, [&] { pbm_readpbminit(file.get(), &columns, &rows, &format); });
  const std::string shape = std::to_string(columns) + " x " + std::to_string(rows);
  if (columns != rows || columns < 1) {
    throw InvalidInput(path + ": " + shape + " pixels; a lattice is square and at least 1 x 1");
  }
  if (columns > largest_size) {
    throw InvalidInput(path + ": " + shape + " pixels; memory suffices for " + std::to_string(largest_size) +
                       " on a side");
  }

  Lattice lattice{columns, {}};
  // Reserved, not filled: a short file with a huge size in its header then costs no more memory than it has rows.
  lattice.spins.reserve(lattice.size * lattice.size);
  std::vector<bit> pixels(columns);
  for (int y = 0; y < rows; ++y) {
    call_netpbm(failure, [&] { pbm_readpbmrow(file.get(), pixels.data(), columns, format); });
    for (const bit pixel : pixels) {
      lattice.spins.push_back(pixel == PBM_BLACK ? 1 : -1);
    }
  }

  for (int next = std::getc(file.get()); next != EOF; next = std::getc(file.get())) {
    if (std::isspace(next) == 0) {
      throw InvalidInput(path + ": data after the last of " + shape + " pixels; one bitmap is allowed");
    }
  }
  return lattice;
}

void write_pbm(OutputFile& file, const Lattice& lattice, PbmFormat format) {
  const std::string failure = file.path() + ": cannot be written";
  const int size = static_cast<int>(lattice.size);
  const int plain = format == PbmFormat::plain ? 1 : 0;
  std::vector<bit> pixels(size);
  call_netpbm(failure, [&] { pbm_writepbminit(file.stream(), size, size, plain); });
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      pixels[x] = lattice.spins[lattice.size * y + x] > 0 ? PBM_BLACK : PBM_WHITE;
    }
    call_netpbm(failure, [&] { pbm_writepbmrow(file.stream(), pixels.data(), size, plain); });
  }
}

}  // namespace psflip::majority
