#pragma once

#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "gpu/launch_fields.hpp"

namespace psflip {

/// Makes the options of a program's launch known to the command line, which puts what was given into `values`.
template <class Launch>
void declare_launch(CommandLine& line, LaunchValues& values) {
  for (const FieldOf<Launch>& field : launch_fields(Launch())) {
    std::vector<std::string> words = field.words;
    if (field.automatic) words.insert(words.begin(), "auto");
    const auto take = [&values, name = field.name](const std::string& value) { values[name] = value; };
    line.callback(field.option, take, field.help + " (the stage's choice).")
        .type(words.empty() ? "N" : joined(words, "|"))
        .check(words.empty() ? whole_number(1, field.most) : one_of(words));
  }
}

}  // namespace psflip
