#include "spin_glass/checkpoint/described_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are written as they are in memory");

constexpr std::uint32_t version = 1;

struct Preamble {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t description_bytes;
};
static_assert(sizeof(Preamble) == 24);

constexpr std::int64_t spins_at_once = 1 << 20;

}  // namespace

DescribedOutput::DescribedOutput(OutputFile& file, const KindOfFile& kind, const std::string& description)
    : file_(file) {
  Preamble preamble{{}, version, 0, description.size()};
  std::ranges::copy(kind.magic, preamble.magic.begin());
  put(&preamble, sizeof preamble);
  put(description.data(), description.size());
}

void DescribedOutput::put(const void* data, std::size_t bytes) {
  checksum_.add(data, bytes);
  if (std::fwrite(data, 1, bytes, file_.stream()) != bytes) {
    file_.flush();  // throws
  }
}

void DescribedOutput::put_spins(const Simulation& simulation) {
  std::vector<std::uint8_t> bits(spins_at_once / 8);
  take_state(simulation, [&](std::span<const Spin> spins) {  // of some lattices, and each is a whole number of bytes
    for (std::int64_t first = 0; first < std::ssize(spins); first += spins_at_once) {
      const std::int64_t count = std::min(spins_at_once, std::ssize(spins) - first);
      std::ranges::fill(bits, 0);
      for (std::int64_t i = 0; i < count; ++i) {
        bits[i / 8] |= static_cast<std::uint8_t>((spins[first + i] > 0) << i % 8);
      }
      put(bits.data(), count / 8);
    }
  });
}

void DescribedOutput::end() {
  const std::uint64_t sum = checksum_.value();
  put(&sum, sizeof sum);
  file_.flush();
}

DescribedInput::DescribedInput(std::string path, const KindOfFile& kind) : path_(std::move(path)) {
  const std::string name(kind.name);
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse("a " + name + " is a regular file");
  }
  open();
  Preamble preamble{};
  if (std::fread(&preamble, 1, sizeof preamble, file_.get()) < sizeof preamble ||
      !std::ranges::equal(preamble.magic, kind.magic)) {
    refuse("not a " + name + " of spin_glass");
  }
  if (preamble.version != version) {
    refuse("a " + name + " of version " + std::to_string(preamble.version) + "; this program has version " +
           std::to_string(version));
  }

  // Nothing is believed before all of it has been seen.
  Checksum checksum;
  std::uint64_t found = 0;
  std::vector<char> part(1 << 16);
  const auto length = static_cast<std::size_t>(std::filesystem::file_size(path_, error));
  if (error) refuse("cannot be read: " + error.message());
  if (length < sizeof preamble + sizeof found) {
    refuse("damaged: it is too short");
  }
  std::rewind(file_.get());
  for (std::size_t rest = length - sizeof found; rest > 0;) {
    const std::size_t bytes = std::min(rest, part.size());
    read(part.data(), bytes);
    checksum.add(part.data(), bytes);
    rest -= bytes;
  }
  read(&found, sizeof found);
  if (found != checksum.value() || preamble.zero != 0 ||
      preamble.description_bytes > length - sizeof preamble - sizeof found) {
    refuse("damaged: the checksum is not that of its content");
  }
  seek(sizeof preamble);
  description_.resize(preamble.description_bytes);
  read(description_.data(), description_.size());
  begin_ = at();
  end_ = static_cast<std::int64_t>(length - sizeof found);
}

void DescribedInput::open() {
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_) {
    refuse(std::string("cannot be opened: ") + std::strerror(errno));
  }
}

void DescribedInput::read(void* to, std::size_t bytes) {
  if (std::fread(to, 1, bytes, file_.get()) != bytes) {
    refuse("cannot be read, or is being changed");
  }
}

void DescribedInput::seek(std::int64_t byte) {
  if (!file_) open();
  std::fseek(file_.get(), byte, SEEK_SET);
}

std::int64_t DescribedInput::at() const { return std::ftell(file_.get()); }

std::vector<Spin> DescribedInput::read_spins(std::int64_t count) {
  std::vector<Spin> spins(static_cast<std::size_t>(count));
  std::vector<std::uint8_t> bits(spins_at_once / 8);
  for (std::int64_t first = 0; first < count; first += spins_at_once) {
    const std::int64_t now = std::min(spins_at_once, count - first);
    read(bits.data(), now / 8);
    for (std::int64_t i = 0; i < now; ++i) {
      spins[first + i] = bits[i / 8] >> i % 8 & 1 ? 1 : -1;
    }
  }
  return spins;
}

void DescribedInput::refuse(const std::string& why) const { throw InvalidInput(path_ + ": " + why); }

}  // namespace psflip::spin_glass
