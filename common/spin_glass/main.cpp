#include "spin_glass/program.hpp"

int main(int argc, char** argv) { return psflip::spin_glass::run(argc, argv); }
