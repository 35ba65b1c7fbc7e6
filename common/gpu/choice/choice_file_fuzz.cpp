// Remembered choices: whatever a file says is harmless, and what is read can be written and read back.
#include <string_view>

#include "fuzz/target.hpp"
#include "gpu/choice/choice_file.hpp"

using namespace psflip;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto choices = choices_in({reinterpret_cast<const char*>(data), size});
  const auto again = choices_in(text_of(choices));
  fuzz::expect(again == choices, "what is written is read back");
  fuzz::accepted_inputs += !choices.empty();
  return 0;
}
