/// What a run says on standard output: a report to read, or one JSON object.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "gpu/device.hpp"
#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/run.hpp"

namespace psflip::spin_glass {

nlohmann::ordered_json problem_json(const Run& run);

/// What is known before the first sweep, and what files and the JSON object begin with: program, stage, the whole
/// problem, device, launch.
nlohmann::ordered_json header_json(const Run& run, const DeviceReport& device, const Launch& launch);

/// The header and the result. `remark`: that of the engine; `tried`: of its launch.
nlohmann::ordered_json result_json(nlohmann::ordered_json header, const std::string& remark, const Tried& tried,
                                   const Run& run, const Result& result);

void report_device(std::ostream& out, const DeviceReport& device, const std::string& remark);
void report(std::ostream& out, const Run& run, const Launch& launch, const Result& result);

}  // namespace psflip::spin_glass
