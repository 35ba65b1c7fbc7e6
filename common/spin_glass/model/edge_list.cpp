#include "spin_glass/model/edge_list.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string_view>

#include "app/files/text_file.hpp"
#include "app/text.hpp"

namespace psflip::spin_glass {
namespace {

/// The bonds of a lattice by their numbers, 3 s + d.
class Bonds {
 public:
  explicit Bonds(std::int64_t size) : size_(size), step_{1, size, size * size} {}

  std::int64_t count() const { return 3 * size_ * size_ * size_; }

  /// The site at the end of a bond that s does not name.
  std::int64_t other_end(std::int64_t bond) const {
    const std::int64_t site = bond / 3, step = step_[bond % 3];
    return site / step % size_ == size_ - 1 ? site - (size_ - 1) * step : site + step;
  }

  /// The bond that joins two sites, if they are neighbours.
  std::optional<std::int64_t> between(std::int64_t a, std::int64_t b) const {
    for (int d = 0; d < 3; ++d) {
      if (other_end(3 * a + d) == b) {
        return 3 * a + d;
      }
      if (other_end(3 * b + d) == a) {
        return 3 * b + d;
      }
    }
    return std::nullopt;
  }

  /// "the bond between the sites 1 and 2", with the file's numbers.
  std::string text(std::int64_t bond) const {
    return "the bond between the sites " + std::to_string(1 + bond / 3) + " and " + std::to_string(1 + other_end(bond));
  }

 private:
  std::int64_t size_;
  std::array<std::int64_t, 3> step_;
};

struct Header {
  std::int64_t size, edges;
};

Header read_header(TextFile& lines) {
  const auto line = lines.next();
  if (!line) {
    lines.refuse("the file is empty; it begins with the numbers of sites and edges");
  }
  const Words words = split(*line);
  std::array<std::int64_t, 3> numbers{};
  bool fine = words.count == 2 || words.count == 3;
  for (std::size_t i = 0; fine && i < words.count; ++i) {
    const auto number = number_in<std::int64_t>(words.word[i]);
    fine = number.has_value();
    numbers[i] = number.value_or(0);
  }
  if (!fine) {
    lines.refuse(in_quotes(*line) + " is not \"N M\", the numbers of sites and edges");
  }
  const auto [sites, edges, unused] = numbers;
  std::int64_t size = 1;
  while (size < largest_size && size * size * size < sites) {
    ++size;
  }
  if (size < smallest_size || size % 2 != 0 || size * size * size != sites) {
    lines.refuse(std::to_string(sites) + " sites: allowed is L x L x L with an even L from " +
                 std::to_string(smallest_size) + " to " + std::to_string(largest_size));
  }
  if (edges < 1 || edges > 6 * sites) {
    lines.refuse(std::to_string(edges) + " edges: with " + std::to_string(sites) + " sites there are " +
                 std::to_string(3 * sites) + ", or twice as many if each is listed twice");
  }
  return {size, edges};
}

struct Edge {
  std::int64_t bond;
  Coupling coupling;
};

Edge read_edge(const TextFile& lines, std::string_view line, const Bonds& bonds) {
  const Words words = split(line);
  if (words.count != 3) {
    lines.refuse(in_quotes(line) + " is not \"i j J\", two sites and their coupling");
  }
  std::array<std::int64_t, 2> ends;
  for (int i = 0; i < 2; ++i) {
    const auto number = number_in<std::int64_t>(words.word[i]);
    if (!number || *number < 1 || *number > bonds.count() / 3) {
      lines.refuse("there is no site " + in_quotes(words.word[i]) + ": allowed are 1 to " +
                   std::to_string(bonds.count() / 3));
    }
    ends[i] = *number - 1;
  }
  const auto coupling = number_in<std::int64_t>(words.word[2]);
  if (coupling != 1 && coupling != -1) {
    lines.refuse("the coupling is " + in_quotes(words.word[2]) + ": allowed are 1 and -1");
  }
  const auto bond = bonds.between(ends[0], ends[1]);
  if (!bond) {
    lines.refuse("the sites " + std::to_string(ends[0] + 1) + " and " + std::to_string(ends[1] + 1) +
                 " are no neighbours on the cubic lattice");
  }
  return {*bond, static_cast<Coupling>(*coupling)};
}

/// Bond and coupling in one word.
std::int64_t pack(Edge edge) { return 2 * edge.bond + (edge.coupling < 0 ? 1 : 0); }
Edge unpack(std::int64_t word) { return {word / 2, static_cast<Coupling>(word % 2 != 0 ? -1 : 1)}; }

/// The first bond that no edge names. Edges are fewer than bonds.
std::int64_t first_missing(std::vector<std::int64_t> packed) {
  std::sort(packed.begin(), packed.end());
  std::int64_t missing = 0;
  for (const std::int64_t word : packed) {
    if (word / 2 > missing) {
      break;
    }
    missing = word / 2 + 1;
  }
  return missing;
}

}  // namespace

Instance read_edge_list(const std::string& path) {
  TextFile lines(path);
  const Header header = read_header(lines);
  const Bonds bonds(header.size);

  // Held as edges first: memory then grows with what the file really has. Edge number e is in line 2 + e.
  std::vector<std::int64_t> edges;
  while (static_cast<std::int64_t>(edges.size()) < header.edges) {
    const auto line = lines.next();
    if (!line) {
      lines.refuse("the file ends after " + std::to_string(edges.size()) + " of " + std::to_string(header.edges) +
                   " edges");
    }
    edges.push_back(pack(read_edge(lines, *line, bonds)));
  }
  while (const auto line = lines.next()) {
    if (split(*line).count > 0) {
      lines.refuse("more text after the last of " + std::to_string(header.edges) + " edges");
    }
  }
  if (header.edges < bonds.count()) {
    lines.refuse(1, "with " + std::to_string(header.edges) + " edges, " + bonds.text(first_missing(std::move(edges))) +
                        " is missing");
  }

  Instance instance{header.size, std::vector<Coupling>(bonds.count(), 0)};
  std::vector<bool> twice(bonds.count(), false);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [bond, coupling] = unpack(edges[e]);
    const auto line = static_cast<std::int64_t>(2 + e);
    if (instance.couplings[bond] == 0) {
      instance.couplings[bond] = coupling;
    } else if (instance.couplings[bond] != coupling) {
      lines.refuse(line, bonds.text(bond) + " has the coupling " + std::to_string(coupling) + " here and " +
                             std::to_string(-coupling) + " in an earlier line");
    } else if (header.edges == bonds.count()) {
      lines.refuse(line, bonds.text(bond) + " is listed a second time; with " + std::to_string(header.edges) +
                             " edges each is listed once");
    } else if (twice[bond]) {
      lines.refuse(line, bonds.text(bond) + " is listed a third time");
    } else {
      twice[bond] = true;
    }
  }
  // As many edges as bonds, none of them twice: none is missing. Otherwise each must have come twice.
  for (std::int64_t bond = 0; header.edges != bonds.count() && bond < bonds.count(); ++bond) {
    if (instance.couplings[bond] == 0) {
      lines.refuse(1, "with " + std::to_string(header.edges) + " edges, " + bonds.text(bond) + " is missing");
    }
    if (!twice[bond]) {
      lines.refuse(1, "with " + std::to_string(header.edges) + " edges, " + bonds.text(bond) +
                          " is listed once and others twice; allowed is either for all");
    }
  }
  return instance;
}

void write_edge_list(OutputFile& file, const Instance& instance) {
  const Bonds bonds(instance.size);
  bool fine = std::fprintf(file.stream(), "%" PRId64 " %" PRId64 "\n", bonds.count() / 3, bonds.count()) > 0;
  for (std::int64_t bond = 0; fine && bond < bonds.count(); ++bond) {
    fine = std::fprintf(file.stream(), "%" PRId64 " %" PRId64 " %d\n", 1 + bond / 3, 1 + bonds.other_end(bond),
                        instance.couplings[bond]) > 0;
  }
  file.flush();  // throws if a call above failed
}

}  // namespace psflip::spin_glass
