#include "08_mpi/ranks/conduct.hpp"

#include <csignal>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "08_mpi/engine.hpp"
#include "08_mpi/ranks/ranks.hpp"

namespace psflip {
namespace {

using namespace spin_glass;

enum class Order { make, destroy, restart, advance, take_state, observe, save_streams, resume, record, recorded, quit };
enum class Where { cpu, gpu };

/// What rank 0 tells the others to do next.
struct Message {
  Order order;
  int engine = 0;             ///< which
  std::int64_t argument = 0;  ///< half-sweeps, whether correlations, or an exit code
};

void tell(Message message) { ranks().broadcast(message); }
Message listen() {
  Message message{};
  ranks().broadcast(message);
  return message;
}

MakeSimulation& maker(Where where) {
#if PSFLIP_HAS_GPU
  if (where == Where::gpu) return gpu::make_engine;
#endif
#if PSFLIP_HAS_CPU
  if (where == Where::cpu) return cpu::make_engine;
#endif
  throw std::logic_error("conduct: a platform that this build has not");
}

/// Work after which the ranks cannot come to terms again, because some may wait for messages that others will not send.
template <class F>
auto or_abort(F work) {
  try {
    return work();
  } catch (const std::exception& error) {
    ranks().abort(error.what());
  }
}

/// What rank 0 alone does with data that all bring together: writes it to a disk that may be full. It fails when all
/// have done their part, not before: so they stay of one mind, and can be told to end.
class Alone {
 public:
  /// The same function, but it throws nothing, and after a failure does nothing.
  template <class F>
  auto operator()(const F& function) {
    return [this, &function](auto data) {
      if (error_) return;
      try {
        function(data);
      } catch (...) {
        error_ = std::current_exception();
      }
    };
  }
  void end() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

/// Rank 0's problem, launch and platform, to all.
void share(Where& where, Problem& problem, Launch& launch) {
  static_assert(std::is_trivially_copyable_v<Launch>);
  ranks().broadcast(where);
  ranks().broadcast(launch);
  auto given = std::exchange(problem.given_couplings, nullptr);
  // All but the couplings is plain numbers.
  ranks().broadcast(problem.size);
  ranks().broadcast(problem.beta);
  ranks().broadcast(problem.samples);
  ranks().broadcast(problem.replicas);
  ranks().broadcast(problem.samples_per_stream);
  ranks().broadcast(problem.generator);
  ranks().broadcast(problem.seed);
  ranks().broadcast(problem.first_sample);
  ranks().broadcast(problem.start);
  ranks().broadcast(problem.ferromagnetic_fraction);
  ranks().broadcast(problem.ladder.exchange_every);
  std::size_t temperatures = problem.ladder.temperatures.size();
  ranks().broadcast(temperatures);
  problem.ladder.temperatures.resize(temperatures);
  ranks().broadcast(problem.ladder.temperatures.data(), temperatures * sizeof(double));
  bool has_given = given != nullptr;
  ranks().broadcast(has_given);
  if (!has_given) return;
  auto couplings = given ? *given : std::vector<std::vector<Coupling>>(problem.samples);
  for (std::vector<Coupling>& sample : couplings) {
    sample.resize(3 * sites(problem));
    ranks().broadcast(sample.data(), sample.size() * sizeof(Coupling));
  }
  problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(std::move(couplings));
}

/// On rank 0: every member is done by all.
class Conducted : public Simulation, public Resumable, public Observing, public Recorder {
 public:
  Conducted(Where where, const Problem& asked, const Launch& wish) : number_(next_number++) {
    Problem problem = asked;
    check(problem);  // before anybody makes room for given couplings
    Launch launch = wish;
    tell({Order::make, number_});
    share(where, problem, launch);
    own_ = maker(where)(problem, launch);
    problem.given_couplings.reset();
    problem_ = problem;
  }
  ~Conducted() override {
    tell({Order::destroy, number_});
    own_.reset();
  }

  void restart() override {
    tell({Order::restart, number_});
    or_abort([&] { own_->restart(); });
    ranks().wait_for_all();
  }
  double advance(std::int64_t half_sweeps) override {
    tell({Order::advance, number_, half_sweeps});
    return or_abort([&] { return own_->advance(half_sweeps); });
  }
  std::int64_t half_sweeps() const override { return own_->half_sweeps(); }
  State state() const override {
    State result{problem_.size, problem_.samples, problem_.replicas, {}, temperatures(problem_), exchanges()};
    result.spins.reserve(result.samples * result.replicas * sites(problem_));
    take_state([&](std::span<const Spin> part) { result.spins.insert(result.spins.end(), part.begin(), part.end()); });
    return result;
  }
  Exchanges exchanges() const override { return own_->exchanges(); }  // which all ranks have
  void take_state(const TakeSpins& take) const override {
    Alone alone;
    tell({Order::take_state, number_});
    or_abort([&] { own<Observing>().take_state(alone(take)); });
    alone.end();
  }
  std::optional<std::vector<SampleObservables>> observe(bool correlations) const override {
    tell({Order::observe, number_, correlations});
    return or_abort([&] { return own<Observing>().observe(correlations); });
  }
  int stream_words() const override { return own<Resumable>().stream_words(); }
  void save_streams(const TakeWord& take) const override {
    Alone alone;
    tell({Order::save_streams, number_});
    or_abort([&] { own<Resumable>().save_streams(alone(take)); });
    alone.end();
  }
  void resume(std::int64_t half_sweeps, const State& state, const GiveWord& give) override {
    check_resumed(problem_, half_sweeps, state);
    Alone alone;
    tell({Order::resume, number_, half_sweeps});
    or_abort([&] { own<Resumable>().resume(half_sweeps, state, alone(give)); });
    ranks().wait_for_all();
    alone.end();
  }
  void record() override {
    tell({Order::record, number_});
    or_abort([&] { own<Recorder>().record(); });
  }
  std::vector<Part> recorded() override {
    tell({Order::recorded, number_});
    return or_abort([&] { return own<Recorder>().recorded(); });
  }
  Launch launch() const override { return own_->launch(); }
  std::string remark() const override { return own_->remark(); }
  double bytes_per_flip() const override { return own_->bytes_per_flip(); }

 private:
  static inline int next_number = 0;

  template <class Interface>
  Interface& own() const {
    return dynamic_cast<Interface&>(*own_);
  }

  int number_;
  Problem problem_;
  std::unique_ptr<Simulation> own_;  ///< rank 0's part
};

std::unique_ptr<Simulation> make_here() {
  Where where{};
  Problem problem;
  Launch launch;
  share(where, problem, launch);
  try {
    return maker(where)(problem, launch);
  } catch (const std::exception&) {
    return nullptr;  // rank 0 has the same, and says it
  }
}

}  // namespace

void ignore_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(signal, SIG_IGN);
}

int serve() {
  ignore_signals();  // one to all ranks (Ctrl-C) is for rank 0 to answer: it saves the run first
  std::map<int, std::unique_ptr<Simulation>> engines;
  for (;;) {
    const Message message = listen();
    const auto engine = [&]() -> Simulation& { return *engines.at(message.engine); };
    const auto work = [&] {
      switch (message.order) {
        case Order::make:
          engines[message.engine] = make_here();
          break;
        case Order::destroy:
          engines.erase(message.engine);
          break;
        case Order::restart:
          engine().restart();
          ranks().wait_for_all();
          break;
        case Order::advance:
          engine().advance(message.argument);
          break;
        case Order::take_state:
          dynamic_cast<Observing&>(engine()).take_state([](auto) {});
          break;
        case Order::observe:
          dynamic_cast<Observing&>(engine()).observe(message.argument != 0);
          break;
        case Order::save_streams:
          dynamic_cast<Resumable&>(engine()).save_streams([](auto) {});
          break;
        case Order::resume:
          dynamic_cast<Resumable&>(engine()).resume(message.argument, {}, [](auto) {});
          ranks().wait_for_all();
          break;
        case Order::record:
          dynamic_cast<Recorder&>(engine()).record();
          break;
        case Order::recorded:
          dynamic_cast<Recorder&>(engine()).recorded();
          break;
        case Order::quit:
          break;
      }
    };
    or_abort(work);
    if (message.order == Order::quit) return static_cast<int>(message.argument);
  }
}

void quit(int exit_code) { tell({Order::quit, 0, exit_code}); }

}  // namespace psflip

#if PSFLIP_HAS_CPU
std::unique_ptr<psflip::spin_glass::Simulation> psflip::cpu::make_simulation(const spin_glass::Problem& problem,
                                                                             const spin_glass::Launch& launch) {
  return std::make_unique<Conducted>(Where::cpu, problem, launch);
}
#endif
#if PSFLIP_HAS_GPU
std::unique_ptr<psflip::spin_glass::Simulation> psflip::gpu::make_simulation(const spin_glass::Problem& problem,
                                                                             const spin_glass::Launch& launch) {
  return std::make_unique<Conducted>(Where::gpu, problem, launch);
}
#endif
