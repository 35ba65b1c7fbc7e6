#include "majority/program.hpp"

int main(int argc, char** argv) { return psflip::majority::run(argc, argv); }
