/// How an engine is to be run, as a table of what can be asked for: the command lines of program and benchmark, JSON,
/// reports, checkpoints and tests go through it.
///
/// A model's Launch is a struct of members that may be empty, and launch_fields(const Launch& = {}) beside it gives its
/// table.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/text.hpp"

namespace psflip {

/// What there is to know about a member of Launch; its values are texts here.
template <class Launch>
struct FieldOf {
  std::string name;                ///< "samples_per_word", as in JSON and in the names of benchmarks
  std::string option;              ///< "--samples-per-word"
  std::string help;                ///< without a full stop
  std::vector<std::string> words;  ///< its values; if there are none, it is a whole number
  int most;                        ///< the largest whole number
  bool automatic;                  ///< the program also takes "auto": the stage chooses
  std::function<std::optional<std::string>(const Launch&)> get;
  std::function<void(Launch&, const std::string&)> set;  ///< to one of its values
};

/// One that has a name, or is a whole number from 1 to `most`.
template <class Launch, class T>
FieldOf<Launch> launch_field(const std::string& field, std::optional<T> Launch::*member, const char* help,
                             int most = 1024, bool automatic = false) {
  FieldOf<Launch> result{field, "--" + replaced(field, '_', '-'), help, {}, most, automatic, {}, {}};
  if constexpr (Named<T>) {
    result.words = names<T>();
    result.set = [=](Launch& launch, const std::string& text) { launch.*member = called<T>(text); };
  } else {
    result.set = [=](Launch& launch, const std::string& text) { launch.*member = number_in<T>(text); };
  }
  result.get = [=](const Launch& launch) -> std::optional<std::string> {
    const std::optional<T>& value = launch.*member;
    if (!value) return std::nullopt;
    if constexpr (Named<T>)
      return std::string(name(*value));
    else
      return std::to_string(*value);
  };
  return result;
}

/// Values by the names of their fields, without those that are left out.
using LaunchValues = std::map<std::string, std::string>;

template <class Launch>
LaunchValues values_of(const Launch& launch) {
  LaunchValues values;
  for (const FieldOf<Launch>& field : launch_fields(launch))
    if (const auto text = field.get(launch)) values[field.name] = *text;
  return values;
}

/// The launch with these values. Where one is "auto", it is left out.
template <class Launch>
Launch launch_with(const LaunchValues& values, int device) {
  Launch launch{.device = device};
  for (const FieldOf<Launch>& field : launch_fields(launch))
    if (const auto found = values.find(field.name); found != values.end() && found->second != "auto")
      field.set(launch, found->second);
  return launch;
}

/// "indexing sliced, threads 128", or "left to the stage".
template <class Launch>
std::string in_words(const Launch& launch) {
  std::vector<std::string> words;
  for (const FieldOf<Launch>& field : launch_fields(launch))
    if (const auto value = field.get(launch)) words.push_back(replaced(field.name, '_', ' ') + " " + *value);
  return words.empty() ? "left to the stage" : joined(words);
}

/// A value as JSON has it: a whole number is a number.
template <class Json, class Launch>
Json json_of(const FieldOf<Launch>& field, const std::string& value) {
  return field.words.empty() ? Json(number_in<int>(value).value()) : Json(value);
}

/// All fields by their names; null where there is no value.
template <class Json, class Launch>
Json json_of(const Launch& launch) {
  Json json = Json::object();
  for (const FieldOf<Launch>& field : launch_fields(launch)) {
    const auto value = field.get(launch);
    json[field.name] = value ? json_of<Json>(field, *value) : Json();
  }
  return json;
}

}  // namespace psflip
