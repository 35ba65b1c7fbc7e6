#include "gpu/choice/choice_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/files/output_file.hpp"
#include "app/invalid_input.hpp"

namespace psflip {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format = "psFlip launches, version 1";

std::string from_environment(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? text : "";
}

bool is_absolute(const std::string& path) { return path.starts_with('/'); }

/// Ends the program, if the variable is set, and neither "off" nor an absolute path.
bool check_setting() {
  const char* const text = std::getenv("PSFLIP_LAUNCHES");
  if (text == nullptr || std::string_view(text) == "off" || is_absolute(text)) return true;
  std::fprintf(stderr, "%s: PSFLIP_LAUNCHES is '%s': allowed are off and a folder's absolute path\n",
               program_invocation_short_name, text);
  std::exit(2);
}
[[maybe_unused]] const bool looked_at_before_main = check_setting();

/// Throws nlohmann::json::exception or InvalidInput unless it is one.
Remembered choice_of(const Json& json) {
  const auto texts = [&](const char* name) {
    Texts all;
    for (const auto& [key, value] : json.at(name).get_ref<const Json::object_t&>())
      all[key] = value.get_ref<const std::string&>();
    return all;
  };
  const Json& tried = json.at("tried");
  if (!tried.is_number_unsigned() || tried > 1'000'000) throw InvalidInput("tried: it is no such number");
  return {texts("for"), texts("launch"), tried.get<int>(), json.at("seconds").get<double>()};
}

Json json_of(const Remembered& choice) {
  return {{"for", choice.key}, {"launch", choice.values}, {"tried", choice.tried}, {"seconds", choice.seconds}};
}

}  // namespace

bool choices_are_off() { return from_environment("PSFLIP_LAUNCHES") == "off"; }

std::optional<std::filesystem::path> choices_folder() {
  const std::string wish = from_environment("PSFLIP_LAUNCHES");
  if (is_absolute(wish)) return wish;
  for (const auto& [folder, below] :
       {std::pair{from_environment("XDG_CACHE_HOME"), "psflip"}, std::pair{from_environment("HOME"), ".cache/psflip"}})
    if (is_absolute(folder)) return std::filesystem::path(folder) / below;
  return std::nullopt;
}

std::string program_identity() {
  std::error_code error;
  const std::filesystem::path program = "/proc/self/exe";
  const auto written = std::filesystem::last_write_time(program, error).time_since_epoch().count();
  return error ? "unknown" : std::to_string(written) + " " + std::to_string(std::filesystem::file_size(program, error));
}

std::string text_of(const std::vector<Remembered>& choices) {
  Json all{{"format", format}, {"choices", Json::array()}};
  for (const Remembered& choice : choices) all["choices"].push_back(json_of(choice));
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::vector<Remembered> choices_in(std::string_view text) {
  std::vector<Remembered> choices;
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != format) return {};
    for (const Json& choice : json.at("choices").get_ref<const Json::array_t&>()) choices.push_back(choice_of(choice));
  } catch (const Json::exception&) {
    return {};
  } catch (const InvalidInput&) {
    return {};
  }
  return choices;
}

ChoiceFile::ChoiceFile(const std::optional<std::filesystem::path>& folder) {
  if (folder) file_ = *folder / "launches.json";
}

std::vector<Remembered> ChoiceFile::read() const {
  std::error_code error;
  if (file_.empty() || !std::filesystem::is_regular_file(file_, error)) return {};
  std::ifstream file(file_, std::ios::binary);
  std::string text(most_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return choices_in(text);
}

std::optional<Remembered> ChoiceFile::find(const Texts& key) const {
  for (Remembered& choice : read())
    if (choice.key == key) return std::move(choice);
  return std::nullopt;
}

void ChoiceFile::remember(const Remembered& choice) const {
  std::error_code error;
  if (file_.empty()) return;
  std::filesystem::create_directories(file_.parent_path(), error);
  const auto there = std::filesystem::status(file_, error).type();
  if (there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular) return;
  try {
    OutputFile output(file_);  // locked, and what is there now is read after that
    std::vector<Remembered> choices = read();
    std::erase_if(choices, [&](const Remembered& other) { return other.key == choice.key; });
    choices.insert(choices.begin(), choice);
    if (choices.size() > most) choices.resize(most);
    const std::string text = text_of(choices);
    std::fwrite(text.data(), 1, text.size(), output.stream());
    output.commit();
  } catch (const InvalidInput&) {  // another program has the lock, or nothing can be written there
  }
}

}  // namespace psflip
