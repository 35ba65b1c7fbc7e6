#include "app/start.hpp"
#include "spin_glass/run/program.hpp"

int main(int argc, char** argv) {
  return psflip::start(argc, argv, [](int count, char** words) { return psflip::spin_glass::run(count, words); });
}
