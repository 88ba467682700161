// Optimises a module and makes an object, assembly or LLVM's text of it.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "base/error.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/plugin.h"

namespace pto::llvm_codegen {
namespace {

constexpr std::string_view kWhere = "codegen/llvm";

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  std::string error;
  const llvm::Triple triple(target.triple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  PTO_CHECK(found, std::string(kWhere), error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;   // only fma is fused
  options.NoTrappingFPMath = true;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  PTO_CHECK(machine, std::string(kWhere), "no code generator for " + target.triple);
  return machine;
}

// Short, for programs that are vectorised, unrolled and scheduled already: registers are found, what
// is equal is computed once, and what does not change in a loop moves out of it.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (auto& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

// A masked store of one known lane becomes a plain store: LLVM 22.1's x86 code generator writes the
// neighbour too where the value is narrowed from a wider element (llvm-project#179489).
void store_single_lanes(llvm::Module& module) {
  std::vector<std::pair<llvm::IntrinsicInst*, uint64_t>> found;
  for (auto& function : module)
    for (auto& instruction : llvm::instructions(function)) {
      auto* store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      const auto* mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
      const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store->getArgOperand(2)->getType());
      if (!mask || !type) continue;
      std::vector<uint64_t> lanes;
      for (unsigned lane = 0; lane < type->getNumElements(); lane++) {
        const auto* bit = mask->getAggregateElement(lane);
        if (!bit || !bit->isNullValue()) lanes.push_back(lane);
      }
      if (lanes.size() == 1) found.emplace_back(store, lanes[0]);
    }
  for (const auto& [store, lane] : found) {
    llvm::IRBuilder<> b(store);
    llvm::Value* element = b.CreateExtractElement(store->getArgOperand(0), lane);
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(element->getType(), store->getArgOperand(1), lane);
    const auto align =
        llvm::commonAlignment(store->getParamAlign(1).valueOrOne(),
                              lane * module.getDataLayout().getTypeStoreSize(element->getType()));
    b.CreateAlignedStore(element, at, align)->setAAMetadata(store->getAAMetadata());
    store->eraseFromParent();
  }
}

std::string machine_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  PTO_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true),
            std::string(kWhere), "the target cannot write this kind of file");
  passes.run(module);
  return std::string(bytes);
}

std::string generate(const LoopProgram* programs, size_t count, const Target& target, LlvmOutput output) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(output != LlvmOutput::LlvmIr);
  llvm::Module module("pto", context);
  const auto machine = make_machine(target);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (size_t i = 0; i < count; i++) FunctionEmitter(module, programs[i], target).emit();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream)) {
    stream << "\n";
    module.print(stream, nullptr);
    throw InternalError(std::string(kWhere), "invalid LLVM IR: " + text, to_text(programs[0]));
  }
  optimise(module, *machine);
  store_single_lanes(module);
  switch (output) {
    case LlvmOutput::LlvmIr: module.print(stream, nullptr); return text;
    case LlvmOutput::Assembly: return machine_code(module, *machine, llvm::CodeGenFileType::AssemblyFile);
    case LlvmOutput::Object: return machine_code(module, *machine, llvm::CodeGenFileType::ObjectFile);
  }
  return text;
}

}  // namespace
}  // namespace pto::llvm_codegen

// No exception crosses the border of the library.
extern "C" int pto_llvm_generate(const pto::LoopProgram* programs, size_t count, const pto::Target* target,
                                 int output, pto_llvm_sink sink, void* user) {
  std::string text;
  int failed = 0;
  try {
    text = pto::llvm_codegen::generate(programs, count, *target, static_cast<pto::LlvmOutput>(output));
  } catch (const pto::InternalError& e) {
    text = e.what();
    text.erase(0, text.find(": ") + 2);   // the caller says again where it comes from
    failed = 1;
  } catch (const std::exception& e) {
    text = e.what();
    failed = 1;
  }
  sink(user, text.data(), text.size());
  return failed;
}
