#include "exec/kernel_cache.h"

#include <chrono>
#include <exception>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/interrupt.h"
#include "exec/disk_cache.h"
#include "exec/reproducer.h"
#include "loop_passes/pipeline.h"
#include "runtime/cpu/pool.h"

namespace pto {
namespace {

constexpr size_t kMaxInMemory = 8192;
const char* const kFunction = "kernel";   // the name under which all kernels are compiled

struct Entry {
  std::mutex mutex;       // held while the kernel is compiled: others wait for it
  CompiledPtr compiled;
};

class Registry {
 public:
  std::shared_ptr<Entry> entry(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMaxInMemory && !entries_.count(key))
      std::erase_if(entries_, [](const auto& e) {
        return e.second.use_count() == 1 && e.second->compiled.use_count() <= 1;
      });
    auto& entry = entries_[key];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

Registry& registry() {
  static auto& all = *new Registry;   // never destroyed: kernels may run while the process ends
  return all;
}

std::string key_of(const KernelSource& source, const CompileOptions& options) {
  std::string key = "pto kernel " + compiler_build() + "\n" + options.target.key() + "\n";
  for (const auto& pass : passes_off(options, PassLevel::Loop)) key += "without " + pass + "\n";
  if (source.loop) {
    LoopProgram loop = *source.loop;
    loop.name = Symbol(kFunction);
    loop.because.clear();
    return key + to_text(loop);
  }
  Kernel kernel = *source.kernel;
  kernel.name = Symbol(kFunction);
  kernel.because.clear();
  key += to_text(kernel);
  if (!source.schedule) return key + "class " + source.size_class + "\n";
  Schedule schedule = *source.schedule;
  schedule.kernel = kernel.name;
  schedule.because.clear();
  return key + to_text(schedule);
}

// --- on disk: the fields one after the other, each with its length ----------------------------------
void put(std::string& out, const std::string& field) { out += std::to_string(field.size()) + ":" + field; }

class Fields {
 public:
  explicit Fields(const std::string& bytes) : bytes_(bytes) {}
  std::string next() {
    const size_t colon = bytes_.find(':', at_);
    PTO_CHECK(colon != bytes_.npos && colon - at_ < 12, "kernel_cache", "a malformed entry");
    const size_t size = std::strtoul(bytes_.c_str() + at_, nullptr, 10);
    PTO_CHECK(size <= bytes_.size() - colon - 1, "kernel_cache", "a malformed entry");
    at_ = colon + 1 + size;
    return bytes_.substr(colon + 1, size);
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

Size parse_size(const std::string& text) {
  Lexer in(text, "kernel cache");
  return parse_expr(in, [](Symbol) { return VarType(DType::I64); });
}

std::string pack(const LoopProgram& program, const std::string& object) {
  const ScratchLayout scratch = scratch_layout(program);
  std::string out;
  put(out, to_text(scratch.shared_bytes));
  put(out, to_text(scratch.private_bytes));
  put(out, program.parallel() ? "1" : "0");
  put(out, std::to_string(program.messages.size()));
  for (const auto& m : program.messages) put(out, m);
  put(out, object);
  return out;
}

CompiledPtr unpack(const std::string& bytes) {
  Fields fields(bytes);
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->shared_bytes = parse_size(fields.next());
  compiled->private_bytes = parse_size(fields.next());
  compiled->parallel = fields.next() == "1";
  const size_t messages = std::strtoul(fields.next().c_str(), nullptr, 10);
  for (size_t i = 0; i < messages; i++) compiled->messages.push_back(fields.next());
  compiled->object = LoadedObject::load(fields.next());
  compiled->run = reinterpret_cast<pto_kernel>(compiled->object->symbol(kFunction));
  PTO_CHECK(compiled->run, "kernel_cache", "an object without its function");
  return compiled;
}

CompiledPtr from_disk(const DiskCache& disk, const std::string& key) {
  const auto bytes = disk.load(key);
  if (!bytes) return nullptr;
  try {
    return unpack(*bytes);
  } catch (const std::exception&) {   // rebuilt, like any damaged entry
    return nullptr;
  }
}

void check_target(const Target& target) {
  if (host_runs(target.name)) return;
  std::vector<std::string> names = target_names();
  std::erase_if(names, [](const std::string& name) { return !host_runs(name); });
  throw Error({.op = "target",
               .message = "this machine cannot run code for " + target.name + "; its text can be read",
               .expected = "one of " + join(names, ", "),
               .got = target.name});
}

CompiledPtr get(const KernelSource& source, const CompileOptions& options) {
  check_target(options.target);
  const std::string key = key_of(source, options);
  const auto entry = registry().entry(key);
  const std::lock_guard lock(entry->mutex);
  if (entry->compiled) return entry->compiled;
  const DiskCache disk(options.use_disk_cache ? options.cache_dir : "");
  if ((entry->compiled = from_disk(disk, key))) {
    counters().disk_hits++;
    return entry->compiled;
  }
  std::string bytes;
  try {
    LoopProgram program = finished(source, options);
    program.name = Symbol(kFunction);
    bytes = pack(program, llvm_generate({program}, options.target, LlvmOutput::Object));
    entry->compiled = unpack(bytes);
  } catch (const InternalError& e) {
    raise_reproducible(e, text_of(source, options), "--to=asm", options);
  }
  counters().kernels_compiled++;
  disk.store(key, bytes);
  return entry->compiled;
}

}  // namespace

Scheduled scheduled(const KernelSource& source, const CompileOptions& options) {
  if (!source.schedule) return make_schedule(*source.kernel, source.size_class, options.target);
  verify(*source.kernel, *source.schedule, options.target);
  return {*source.kernel, *source.schedule};
}

LoopProgram lowered(const KernelSource& source, const CompileOptions& options) {
  if (source.loop) return *source.loop;
  const Scheduled s = scheduled(source, options);
  if (settings().debug) verify(s.kernel, s.schedule, options.target);
  return lower(s.kernel, s.schedule, options.target);
}

LoopProgram finished(const KernelSource& source, const CompileOptions& options) {
  return run_loop_passes(lowered(source, options), options.target, passes_off(options, PassLevel::Loop));
}

std::vector<CompiledPtr> compile_kernels(const std::vector<KernelSource>& sources,
                                         const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<CompiledPtr> compiled(sources.size());
  std::vector<std::exception_ptr> failed(sources.size());
  std::atomic<size_t> next{0};
  // The caller's thread only is asked to stop; after a failure nobody begins another kernel.
  const auto work = [&](bool asked) {
    for (size_t i = next++; i < sources.size(); i = next++) {
      try {
        if (asked) check_interrupt();
        compiled[i] = get(sources[i], options);
      } catch (...) {
        failed[i] = std::current_exception();
        next = sources.size();
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t n = std::min(sources.size(), static_cast<size_t>(num_threads())); n > 1; n--) {
    try {
      threads.emplace_back(work, false);
    } catch (const std::system_error&) {   // no more threads: this one does the rest
      break;
    }
  }
  work(true);
  for (auto& t : threads) t.join();
  counters().compile_microseconds +=
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  for (const auto& f : failed)
    if (f) std::rethrow_exception(f);
  return compiled;
}

}  // namespace pto
