#include "app/start.hpp"

namespace psflip {

int start(int argc, char** argv, int (*program)(int, char**)) { return program(argc, argv); }

}  // namespace psflip
