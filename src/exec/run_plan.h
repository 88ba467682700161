#pragma once
// A program for actual sizes: everything that does not change from call to call is computed once.
// Consecutive launches and copies are a segment, which runs in one parallel region; what is too small
// to be shared runs on the first worker, and a segment of small steps wakes nobody.
#include <memory>
#include <mutex>

#include "exec/kernel_cache.h"

namespace pto {

class RunPlan;

// The state of one run: addresses, sizes and error flags. Kept by the plan and used again.
struct Frame {
  const RunPlan* plan = nullptr;
  std::vector<void*> buffers;               // per buffer of the program
  std::vector<void*> arguments;             // of all launches, one after the other
  std::vector<int64_t> sizes;               // of all launches, one after the other
  std::vector<int32_t> errors;              // per launch
  std::vector<std::vector<std::unique_ptr<Frame>>> nested;   // per step, per program of it
};

class RunPlan {
 public:
  // Kernels are compiled here if they are new. `dynamic` symbols change without a new plan.
  RunPlan(const Program& root, const Program& program, Sizes sizes, const std::vector<Symbol>& dynamic,
          const CompileOptions& options);

  const Program& program() const { return program_; }
  const Sizes& sizes() const { return sizes_; }
  const MemoryPlan& memory() const { return memory_; }
  const std::string& classes() const { return classes_; }   // of all kernels, for these sizes
  const std::vector<int64_t>& shape(int buffer) const { return shapes_[buffer]; }

  std::unique_ptr<Frame> take_frame() const;
  void give_frame(std::unique_ptr<Frame> frame) const;
  bool parallel() const;     // does any of its segments run on all workers?
  // Inputs and outputs stand in frame.buffers. `sizes` has the dynamic symbols too.
  void run(Frame& frame, char* arena, const Sizes& sizes) const;

 private:
  struct Launch {
    CompiledPtr kernel;        // empty: a copy
    size_t step;
    std::vector<int> operands;
    size_t first_argument, first_size, error;
    int64_t bytes = 0;         // Copy
    double work = 0;           // element operations
    bool shared = false;       // by all workers, if there are many
    bool barrier = false;      // what stands before it must be complete
  };
  // Launches first .. last, or one other step.
  struct Item {
    size_t step = 0;
    size_t first = 0, last = 0;
    bool segment = false, parallel = false;
    int64_t kernels = 0;       // of the launches; the others are copies
    int64_t shared_bytes = 0, private_bytes = 0;
  };
  struct Dynamic {
    size_t position;           // in Frame::sizes
    Size size;
  };

  void check_operands(const Step& step) const;
  void add_launches(const CompileOptions& options);
  void add_items();
  void place_barriers(const Item& item);
  double work_of(const Step& step, const Sizes& sizes) const;
  std::unique_ptr<Frame> new_frame() const;
  void prepare(Frame& frame, char* arena) const;
  void update_sizes(Frame& frame, const Sizes& sizes) const;
  void execute(Frame& frame, char* arena, const Sizes& sizes) const;
  void run_segment(const Item& item, Frame& frame) const;
  void run_foreign(const Step& step, Frame& frame, const Sizes& sizes) const;
  void run_control(size_t step, Frame& frame, char* arena, const Sizes& sizes) const;
  void run_while(size_t step, Frame& frame, char* workspace, const Sizes& sizes) const;
  void run_scan(size_t step, Frame& frame, char* workspace, const Sizes& sizes) const;
  void call(size_t step, size_t which, Frame& frame, const std::vector<void*>& inputs,
            const std::vector<void*>& outputs, char* arena, const Sizes& sizes) const;

  const Program& root_;
  const Program& program_;
  Sizes sizes_;
  MemoryPlan memory_;
  std::string classes_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<int64_t> bytes_;
  std::vector<BufferPtr> constants_;        // packed, per buffer
  std::vector<Launch> launches_;
  std::vector<Item> items_;
  std::vector<int64_t> launch_sizes_;       // Frame::sizes as it begins
  std::vector<Dynamic> dynamic_;
  size_t arguments_ = 0;
  std::vector<Workspace> workspaces_;       // per step
  std::vector<std::vector<std::unique_ptr<RunPlan>>> nested_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> free_;
};

}  // namespace pto
