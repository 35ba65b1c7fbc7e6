#include "06_prng/linear_solver/report.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace psflip::linear {
namespace {

using Json = nlohmann::ordered_json;

template <class... Numbers>
std::string text(const char* format, Numbers... numbers) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, format, numbers...);
  return buffer;
}

double steps_per_history(const Options& options, const Result& result) {
  const double histories = static_cast<double>(options.request.histories) *
                           static_cast<double>(options.request.method == Method::forward ? result.rows : 1);
  return static_cast<double>(result.outcome.steps) / histories;
}

std::string in_words(const Radius& radius) {
  if (radius.upper - radius.lower <= 1e-7 * radius.upper) return text("= %.8f", radius.value());
  return text("<= %.8f", radius.upper);
}

Json json(const Radius& radius) { return {{"lower", radius.lower}, {"upper", radius.upper}}; }

/// What is no number is null.
Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string build_type() {
#ifdef NDEBUG
  return "release";
#else
  return "debug";
#endif
}

}  // namespace

void print_text(std::ostream& out, const Options& options, const Result& result) {
  const Request& request = options.request;
  const Outcome& outcome = result.outcome;
  const bool forward = request.method == Method::forward;
  out << "device          " << result.device.name << " (" << result.device.platform << ")\n"
      << "system          " << options.matrix << ", " << rhs_name(options) << ": " << result.rows << " rows, "
      << result.entries << " entries\n"
      << "radii           rho(H) " << in_words(result.radius) << ", rho(H^) " << in_words(result.second_moment) << '\n'
      << "walks           " << name(request.method) << ", " << request.histories << (forward ? " for each entry" : "")
      << text(", %.1f steps each\n", steps_per_history(options, result))
      << text("seconds         %.4g tables, %.4g set-up, %.4g generator, %.4g walks\n", result.tables_seconds,
              outcome.setup_seconds, outcome.generator_seconds, outcome.kernel_seconds)
      << text("chi^2           %.3g for each degree of freedom, of the streams' first two numbers; 1 is right\n",
              result.pair_chi_squared)
      << text("residual        %.5g%s\n", result.residual,
              result.residual < 1 ? "" : ", worse than that of x = 0, which is 1")
      << text("true error      %.5g\n", result.error)
      << text("expected error  %.5g, by the walks' standard errors\n", result.expected_error);
  for (const Rival& rival : result.rivals) {
    out << text("%-20s on the %s: ", rival.solver.c_str(), rival.platform.c_str());
    if (!rival.result) {
      out << "left out: " << rival.left_out << '\n';
      continue;
    }
    out << text("%lld iterations, %.4g s, error %.5g, ", static_cast<long long>(rival.result->iterations),
                rival.result->seconds, rival.result->error)
        << text("%.3g times as fast\n", (outcome.generator_seconds + outcome.kernel_seconds) / rival.result->seconds);
  }
}

void print_json(std::ostream& out, const Options& options, const Result& result) {
  const Request& request = options.request;
  const Outcome& outcome = result.outcome;
  const Json rhs = rhs_name(options);
  Json json_rivals = Json::array();
  for (const Rival& rival : result.rivals) {
    Json one = {{"solver", rival.solver}, {"platform", rival.platform}};
    if (rival.result) {
      one["iterations"] = rival.result->iterations;
      one["seconds"] = rival.result->seconds;
      one["error"] = rival.result->error;
    } else {
      one["left_out"] = rival.left_out;
    }
    json_rivals.push_back(one);
  }
  const Json object = {
      {"program", "linear_solver"},
      {"build_type", build_type()},
      {"device", {{"name", result.device.name}, {"platform", result.device.platform}, {"index", result.device.index}}},
      {"system", {{"matrix", options.matrix}, {"rhs", rhs}, {"rows", result.rows}, {"entries", result.entries}}},
      {"radii", {{"h", json(result.radius)}, {"second_moment", json(result.second_moment)}}},
      {"request",
       {{"method", name(request.method)},
        {"estimator", name(request.estimator)},
        {"histories", request.histories},
        {"max_steps", request.max_steps},
        {"cutoff", request.cutoff},
        {"generator", name(request.generator)},
        {"seeding", request.generator == Generator::xorwow ? Json(name(request.seeding)) : Json()},
        {"discard", request.discard},
        {"batch", request.batch},
        {"load", name(request.load)},
        {"layout", name(request.layout)},
        {"map", request.method == Method::forward ? Json(name(request.map)) : Json()},
        {"threads", request.threads},
        {"per_thread", request.per_thread},
        {"groups", request.groups},
        {"repetitions", options.repetitions},
        {"seed", request.seed}}},
      {"steps", outcome.steps},
      {"steps_per_history", steps_per_history(options, result)},
      {"seconds",
       {{"tables", result.tables_seconds},
        {"setup", outcome.setup_seconds},
        {"generator", outcome.generator_seconds},
        {"kernel", outcome.kernel_seconds},
        {"error", outcome.error_seconds},
        {"direct", result.direct_seconds}}},
      {"pair_chi_squared", result.pair_chi_squared},
      {"residual", or_null(result.residual)},
      {"error", or_null(result.error)},
      {"expected_error", or_null(result.expected_error)},
      {"compare", json_rivals},
  };
  out << object.dump(2) << '\n';
}

void print_csv(std::ostream& out, const Result& result) {
  const Outcome& outcome = result.outcome;
  out << "solver,platform,iterations,setup_seconds,generator_seconds,seconds,residual,error,expected_error\n"
      << "monte-carlo," << result.device.platform << ',' << outcome.steps << ','
      << text("%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", outcome.setup_seconds, outcome.generator_seconds,
              outcome.kernel_seconds, result.residual, result.error, result.expected_error);
  for (const Rival& rival : result.rivals) {
    out << rival.solver << ',' << rival.platform << ',';
    if (rival.result)
      out << rival.result->iterations << text(",,,%.6g,,%.6g,\n", rival.result->seconds, rival.result->error);
    else
      out << ",,,,,,\n";
  }
}

}  // namespace psflip::linear
