// Where the programs of this stage begin, on every rank.
#include "app/start.hpp"

#include <cstdio>
#include <exception>

#include "08_mpi/ranks/conduct.hpp"
#include "08_mpi/ranks/ranks.hpp"
#include "app/abrupt_end.hpp"
#include "app/files/output_file.hpp"

namespace psflip {

int start(int argc, char** argv, int (*program)(int, char**)) {
  occupy_closed_streams();  // before MPI opens its own
  try {
    const Ranks all(&argc, &argv);
    try {
      if (all.rank() != 0) {
        prepare_for_abrupt_end("spin_glass");
        return serve();
      }
      const int exit_code = program(argc, argv);
      ignore_signals();  // of mpirun, for which a failure that ends one rank first is a reason to end the others
      quit(exit_code);
      return exit_code;
    } catch (const std::exception& error) {
      all.abort(error.what());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spin_glass: %s\n", error.what());
    return 1;
  }
}

}  // namespace psflip
