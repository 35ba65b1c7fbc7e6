// What a checkpoint says in JSON, by the names of the program's options.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/invalid_input.hpp"
#include "app/text.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/json_value.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

/// f gets each option's name and its field.
template <class F, class SavedOrConst>
void for_each_field(F f, SavedOrConst& saved) {
  auto& [problem, temperature, sweeps, measure, coupling_files, hash, spins, outputs] = saved.run;
  f("--size", problem.size);
  f("--samples", problem.samples);
  f("--first-sample", problem.first_sample);
  f("--replicas", problem.replicas);
  f("--samples-per-stream", problem.samples_per_stream);
  f("--generator", problem.generator);
  f("--seed", problem.seed);
  f("--start", problem.start);
  f("--measure", measure);
  f("--temperature", temperature);
  f("--temperatures", problem.ladder.temperatures);
  f("--exchange-every", problem.ladder.exchange_every);
  f("--beta", problem.beta);
  f("--ferromagnetic-fraction", problem.ferromagnetic_fraction);
  f("--couplings", coupling_files);
  f("--spins", spins);
  f("--sweeps", sweeps);
  f("--write-couplings", outputs.couplings);
  f("--output", outputs.rows);
  f("--averages", outputs.averages);
  f("--correlations", outputs.correlations);
  f("--distribution", outputs.distribution);
  f("--sums", outputs.sums);
  f("--write-spins", outputs.spins);
  f("--json", saved.json);
  f("--checkpoint-every", saved.checkpoint_every);
  f("--device", saved.device);
}

// ---- Values in JSON. A file name may have any bytes, and JSON is UTF-8: a byte becomes the character of its number.

template <class T>
Json value_of(const T& value) {
  return value;
}
template <Named T>
Json value_of(const T& value) {
  return name(value);
}
Json value_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if (number < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xc0 | number >> 6);
      text += static_cast<char>(0x80 | (number & 0x3f));
    }
  }
  return text;
}
template <class T>
Json value_of(const std::optional<T>& value) {
  return value ? value_of(*value) : Json();
}
Json value_of(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values) list.push_back(value_of(value));
  return list;
}

template <class T>
void read_value(const Json& json, T& value) {
  value = value_in<T>(json).value();
}
template <Named T>
void read_value(const Json& json, T& value) {
  value = called<T>(value_in<std::string>(json).value()).value();
}
void read_value(const Json& json, std::string& bytes) {
  const auto text = value_in<std::string>(json).value();
  bytes.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first == 0 || first > 0xc3) throw InvalidInput("a text has characters that are no bytes");
    bytes += first < 0x80 ? text[i] : static_cast<char>(first << 6 | (text[++i] & 0x3f));
  }
}
template <class T>
void read_value(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) read_value(json, value.emplace());
}
void read_value(const Json& json, std::vector<double>& values) {
  for (const Json& value : json.get_ref<const Json::array_t&>()) read_value(value, values.emplace_back());
}
void read_value(const Json& json, std::vector<std::string>& values) {
  for (const Json& value : json.get_ref<const Json::array_t&>()) read_value(value, values.emplace_back());
}

/// One of the field's values, if it is one.
std::optional<std::string> launch_value(const LaunchField& field, const Json& json) {
  if (const auto number = value_in<int>(json)) {
    const bool fine = field.words.empty() && *number >= 1 && *number <= field.most;
    return fine ? std::optional(std::to_string(*number)) : std::nullopt;
  }
  const auto word = value_in<std::string>(json);
  return word && std::ranges::count(field.words, *word) > 0 ? word : std::nullopt;
}

}  // namespace

Json as_json(const Saved& saved) {
  Json json;
  for_each_field([&](const char* option, const auto& field) { json[option] = value_of(field); }, saved);
  for (const LaunchField& field : launch_fields()) {
    const auto found = saved.launch.find(field.name);
    json[field.option] = found == saved.launch.end() ? Json() : json_of<Json>(field, found->second);
  }
  return json;
}

Saved saved_of(const Json& json) {
  Saved saved;
  const auto is_newer = [](std::string_view option) {
    constexpr std::array newer{"--temperatures", "--exchange-every", "--distribution", "--first-sample",
                               "--spins",        "--sums",           "--write-spins"};
    return std::ranges::count(newer, option) > 0;
  };
  const auto read = [&](const char* option, auto& field) {
    if (json.contains(option) || !is_newer(option)) read_value(json.at(option), field);  // a checkpoint may be older
  };
  for_each_field(read, saved);
  bool known = true;
  for (const LaunchField& field : launch_fields()) {
    const Json value = json.value(field.option, Json());  // a checkpoint may be older than some options of the launch
    if (value == "fused") known = false;
    if (!value.is_null() && known) saved.launch[field.name] = launch_value(field, value).value();
  }
  if (!known) saved.launch.clear();  // a kernel of an earlier version: no bit depends on it, so the stage chooses
  return saved;
}

}  // namespace psflip::spin_glass
