// Runs a fuzz target over the files of its corpus, for builds without libFuzzer, which has a main() of its own. Those
// named wrong... have to be refused, and the others not.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

int main(int argc, char** argv) {
  int inputs = 0, mistakes = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::string name = entry.path().filename();
      if (name == "README.md") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
      std::printf("%s", entry.path().c_str());
      std::fflush(stdout);  // the last one is the input that ended the program
      const int before = psflip::fuzz::accepted_inputs;
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      const bool taken = psflip::fuzz::accepted_inputs > before, mistake = taken == name.starts_with("wrong");
      std::printf(": %s%s\n", taken ? "accepted" : "refused", mistake ? ", a mistake" : "");
      ++inputs;
      mistakes += mistake ? 1 : 0;
    }
  }
  return inputs > 0 && mistakes == 0 ? 0 : 1;
}
