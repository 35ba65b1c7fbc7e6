#include "spin_glass/engine/launch.hpp"

#include <algorithm>
#include <string>

namespace psflip::spin_glass {

std::string_view name(Indexing indexing) {
  constexpr std::string_view names[] = {"standard", "bitwise", "standard-grid", "sliced", "sliced-grid"};
  return names[static_cast<int>(indexing)];
}

std::string_view name(Load load) {
  constexpr std::string_view names[] = {"plain", "readonly", "texture"};
  return names[static_cast<int>(load)];
}

std::string_view name(Kernel kernel) {
  constexpr std::string_view names[] = {"update", "wide", "fused", "resident", "small"};
  return names[static_cast<int>(kernel)];
}

std::string_view name(Transport transport) {
  constexpr std::string_view names[] = {"staged", "mpi", "nccl", "peer"};
  return names[static_cast<int>(transport)];
}

namespace {

// What a field of each type can be.
const auto& all(Indexing) { return indexings; }
const auto& all(Load) { return loads; }
const auto& all(Kernel) { return kernels; }
const auto& all(Transport) { return transports; }

std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

/// One that is a whole number from 1 on.
LaunchField field(const char* name, std::optional<int> Launch::*member, const char* help, int most = 1024) {
  return {name,
          option_of(name),
          help,
          {},
          most,
          false,
          [=](const Launch& launch) {
            const std::optional<int>& value = launch.*member;
            return value ? std::optional(std::to_string(*value)) : std::nullopt;
          },
          [=](Launch& launch, const std::string& text) { launch.*member = std::stoi(text); }};
}

enum Automatic { automatic };

/// One that has a name.
template <class T>
LaunchField field(const char* name, std::optional<T> Launch::*member, const char* help,
                  std::optional<Automatic> is_automatic = std::nullopt) {
  LaunchField result{name, option_of(name), help, {}, 0, is_automatic.has_value(), {}, {}};
  for (const T value : all(T())) result.words.emplace_back(spin_glass::name(value));
  result.get = [=](const Launch& launch) {
    const std::optional<T>& value = launch.*member;
    return value ? std::optional(std::string(spin_glass::name(*value))) : std::nullopt;
  };
  result.set = [=](Launch& launch, const std::string& text) {
    launch.*member = *std::ranges::find_if(all(T()), [&](T value) { return spin_glass::name(value) == text; });
  };
  return result;
}

}  // namespace

const std::vector<LaunchField>& launch_fields() {
  static const std::vector<LaunchField> fields = {
      field("indexing", &Launch::indexing, "How threads find sites"),
      field("load", &Launch::load, "How kernels read"),
      field("threads", &Launch::threads, "Threads of a block"),
      field("sites_per_thread", &Launch::sites_per_thread, "Sites that a thread updates"),
      field("kernel", &Launch::kernel, "Which of a stage's kernels", automatic),
      field("samples_per_word", &Launch::samples_per_word, "Samples that are bits of one word"),
      field("cluster", &Launch::cluster, "Thread blocks that share their memory", 16),
      field("replicas_together", &Launch::replicas_together, "Replicas that one cluster updates"),
      field("transport", &Launch::transport, "How boundary planes get to other ranks of MPI", automatic),
  };
  return fields;
}

LaunchValues values_of(const Launch& launch) {
  LaunchValues values;
  for (const LaunchField& field : launch_fields())
    if (const auto text = field.get(launch)) values[field.name] = *text;
  return values;
}

Launch launch_with(const LaunchValues& values, int device) {
  Launch launch{.device = device};
  for (const LaunchField& field : launch_fields())
    if (const auto found = values.find(field.name); found != values.end() && found->second != "auto")
      field.set(launch, found->second);
  return launch;
}

std::string in_words(const Launch& launch) {
  std::string text;
  for (const LaunchField& field : launch_fields()) {
    if (const auto value = field.get(launch)) {
      std::string name = field.name;
      std::ranges::replace(name, '_', ' ');
      text += (text.empty() ? "" : ", ") + name + " " + *value;
    }
  }
  return text.empty() ? "left to the stage" : text;
}

}  // namespace psflip::spin_glass
