// Loads relocatable x86-64 objects, as LLVM emits them for position-independent code, into one
// mapping: code, then read-only data, then the rest. Objects come from a disk cache too, so nothing
// in them is trusted: every offset is checked before it is used.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "codegen/codegen.h"

namespace pto {
namespace {

constexpr std::string_view kWhere = "codegen/object_loader";
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // all within reach of 32-bit displacements

[[noreturn]] void malformed(const std::string& what) {
  throw InternalError(std::string(kWhere), "malformed object: " + what);
}

uint64_t align_up(uint64_t n, uint64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

// What generated code may call; LLVM makes the first three out of loops.
void* external_function(std::string_view name) {
  using Copy = void* (*)(void*, const void*, size_t);
  using Fill = void* (*)(void*, int, size_t);
  using Fma = double (*)(double, double, double);
  using Mod = double (*)(double, double);
  using ModF = float (*)(float, float);
  if (name == "memcpy") return reinterpret_cast<void*>(static_cast<Copy>(std::memcpy));
  if (name == "memmove") return reinterpret_cast<void*>(static_cast<Copy>(std::memmove));
  if (name == "memset") return reinterpret_cast<void*>(static_cast<Fill>(std::memset));
  if (name == "fma") return reinterpret_cast<void*>(static_cast<Fma>(std::fma));
  if (name == "fmod") return reinterpret_cast<void*>(static_cast<Mod>(std::fmod));
  if (name == "fmodf") return reinterpret_cast<void*>(static_cast<ModF>(std::fmod));
  return nullptr;
}

class Parsed {
 public:
  explicit Parsed(std::string_view bytes) : bytes_(bytes) {
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) malformed("not ELF");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64 || header.e_type != ET_REL)
      malformed("not a relocatable object of x86-64");
    if (header.e_shentsize != sizeof(Elf64_Shdr)) malformed("section headers of another size");
    for (uint64_t i = 0; i < header.e_shnum; i++)
      sections.push_back(read<Elf64_Shdr>(checked_add(header.e_shoff, i * sizeof(Elf64_Shdr))));
    names_ = header.e_shstrndx;
    for (const auto& s : sections)
      if (s.sh_type == SHT_SYMTAB) {
        for (uint64_t i = 0; i < s.sh_size / sizeof(Elf64_Sym); i++)
          symbols.push_back(read<Elf64_Sym>(checked_add(s.sh_offset, i * sizeof(Elf64_Sym))));
        symbol_names_ = s.sh_link;
        break;
      }
  }

  template <class T>
  T read(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) malformed("it ends too early");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string_view contents(const Elf64_Shdr& s) const {
    if (s.sh_offset > bytes_.size() || bytes_.size() - s.sh_offset < s.sh_size)
      malformed("it ends too early");
    return bytes_.substr(s.sh_offset, s.sh_size);
  }
  std::string_view section_name(const Elf64_Shdr& s) const { return text(names_, s.sh_name); }
  std::string_view symbol_name(const Elf64_Sym& s) const { return text(symbol_names_, s.st_name); }
  static uint64_t checked_add(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) malformed("an offset overflows");
    return sum;
  }

  std::vector<Elf64_Shdr> sections;
  std::vector<Elf64_Sym> symbols;

 private:
  std::string_view text(uint64_t table, uint64_t at) const {
    if (table >= sections.size()) malformed("no string table");
    const std::string_view all = contents(sections[table]);
    const size_t end = at < all.size() ? all.find('\0', at) : all.npos;
    if (end == all.npos) malformed("a name outside its table");
    return all.substr(at, end - at);
  }

  std::string_view bytes_;
  uint64_t names_ = 0, symbol_names_ = 0;
};

// Lines that `perf` reads to name code that has no file.
void write_perf_map(const std::unordered_map<std::string, std::pair<char*, uint64_t>>& functions) {
  if (!settings().perf_map) return;
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::string lines;
  for (const auto& [name, at] : functions) {
    char line[64];
    std::snprintf(line, sizeof line, "%p %llx ", static_cast<void*>(at.first),
                  static_cast<unsigned long long>(at.second));
    lines += line + name + "\n";
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const auto written = write(fd, lines.data(), lines.size());
  close(fd);
}

}  // namespace

struct LoadedObject::Impl {
  ~Impl() {
    if (base) munmap(base, total);
  }
  void load(std::string_view object);

  char* base = nullptr;
  uint64_t total = 0;
  std::unordered_map<std::string, std::pair<char*, uint64_t>> symbols;  // address and size

 private:
  enum Part { kCode, kConst, kData, kParts };

  void place(const Parsed& elf);
  void relocate(const Parsed& elf, const Elf64_Shdr& relocations);
  void protect();
  char* address_of(const Parsed& elf, const Elf64_Sym& symbol);
  char* got_slot(const Parsed& elf, uint32_t symbol);
  char* stub(const Parsed& elf, uint32_t symbol);
  static bool undefined(const Elf64_Sym& s) { return s.st_shndx == SHN_UNDEF; }

  std::vector<char*> section_at;   // nullptr: not loaded
  uint64_t part_begin[kParts + 1] = {};
  // Room for one GOT slot (8 bytes) and one stub (8 bytes) per symbol.
  char *stubs = nullptr, *got = nullptr;
  std::vector<bool> has_slot, has_stub;
};

// Decides where every section stands, maps the region, and copies.
void LoadedObject::Impl::place(const Parsed& elf) {
  const size_t n = elf.sections.size();
  section_at.assign(n, nullptr);
  std::vector<uint64_t> offsets(n, 0);
  std::vector<bool> loaded(n, false);
  uint64_t end = 0, stubs_begin = 0, got_begin = 0;
  for (int part = kCode; part < kParts; part++) {
    part_begin[part] = end = align_up(end, kPage);
    for (size_t i = 0; i < n; i++) {
      const auto& s = elf.sections[i];
      if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) continue;
      const std::string_view name = elf.section_name(s);
      if (name == ".eh_frame") continue;  // nothing unwinds through kernels
      if (s.sh_flags & SHF_TLS) malformed("thread-local data");
      const bool constant = !(s.sh_flags & SHF_WRITE) || name.starts_with(".data.rel.ro");
      if (part != (s.sh_flags & SHF_EXECINSTR ? kCode : constant ? kConst : kData)) continue;
      const uint64_t alignment = std::max<uint64_t>(s.sh_addralign, 1);
      if ((alignment & (alignment - 1)) || alignment > kPage) malformed("an alignment");
      if (s.sh_size > kMaxBytes) malformed("a section is too large");
      offsets[i] = align_up(end, alignment);
      loaded[i] = true;
      end = offsets[i] + s.sh_size;
      if (end > kMaxBytes) malformed("its sections are too large");
    }
    if (part == kCode) {
      stubs_begin = align_up(end, 16);
      end = stubs_begin + 8 * elf.symbols.size();
    }
    if (part == kConst) {
      got_begin = align_up(end, 16);
      end = got_begin + 8 * elf.symbols.size();
    }
  }
  part_begin[kParts] = align_up(end, kPage);
  total = std::max(part_begin[kParts], kPage);
  void* p = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw InternalError(std::string(kWhere), "no memory for " + std::to_string(total) + " bytes of code");
  base = static_cast<char*>(p);
  stubs = base + stubs_begin;
  got = base + got_begin;
  for (size_t i = 0; i < n; i++) {
    if (!loaded[i]) continue;
    section_at[i] = base + offsets[i];
    if (elf.sections[i].sh_type == SHT_NOBITS) continue;
    const std::string_view contents = elf.contents(elf.sections[i]);
    std::memcpy(section_at[i], contents.data(), contents.size());
  }
  has_slot.assign(elf.symbols.size(), false);
  has_stub.assign(elf.symbols.size(), false);
}

char* LoadedObject::Impl::address_of(const Parsed& elf, const Elf64_Sym& symbol) {
  if (undefined(symbol)) {
    const std::string_view name = elf.symbol_name(symbol);
    void* p = external_function(name);
    if (!p) malformed("it needs the unknown function \"" + std::string(name) + "\"");
    return static_cast<char*>(p);
  }
  if (symbol.st_shndx >= section_at.size() || !section_at[symbol.st_shndx])
    malformed("a symbol stands in no loaded section");
  if (symbol.st_value > elf.sections[symbol.st_shndx].sh_size)
    malformed("a symbol stands outside its section");
  return section_at[symbol.st_shndx] + symbol.st_value;
}

char* LoadedObject::Impl::got_slot(const Parsed& elf, uint32_t symbol) {
  char* slot = got + uint64_t{8} * symbol;
  if (!has_slot[symbol]) {
    const char* target = address_of(elf, elf.symbols[symbol]);
    std::memcpy(slot, &target, 8);
    has_slot[symbol] = true;
  }
  return slot;
}

// jmp *slot(%rip): functions of libc are farther away than a displacement reaches.
char* LoadedObject::Impl::stub(const Parsed& elf, uint32_t symbol) {
  char* at = stubs + uint64_t{8} * symbol;
  if (!has_stub[symbol]) {
    const auto displacement = static_cast<int32_t>(got_slot(elf, symbol) - (at + 6));
    const unsigned char code[] = {0xFF, 0x25};
    std::memcpy(at, code, 2);
    std::memcpy(at + 2, &displacement, 4);
    has_stub[symbol] = true;
  }
  return at;
}

void LoadedObject::Impl::relocate(const Parsed& elf, const Elf64_Shdr& relocations) {
  if (relocations.sh_info >= section_at.size() || !section_at[relocations.sh_info]) return;
  char* section = section_at[relocations.sh_info];
  const uint64_t size = elf.sections[relocations.sh_info].sh_size;
  for (uint64_t i = 0; i < relocations.sh_size / sizeof(Elf64_Rela); i++) {
    const auto r = elf.read<Elf64_Rela>(Parsed::checked_add(relocations.sh_offset, i * sizeof(Elf64_Rela)));
    const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(r.r_info));
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
    if (type == R_X86_64_NONE) continue;
    if (symbol >= elf.symbols.size()) malformed("a relocation of no symbol");
    const uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (r.r_offset > size || size - r.r_offset < width) malformed("a relocation outside its section");
    const char* target = nullptr;
    switch (type) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        target = undefined(elf.symbols[symbol]) ? stub(elf, symbol) : address_of(elf, elf.symbols[symbol]);
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: target = got_slot(elf, symbol); break;
      case R_X86_64_64:
      case R_X86_64_PC64: target = address_of(elf, elf.symbols[symbol]); break;
      default: malformed("relocation type " + std::to_string(type));
    }
    char* at = section + r.r_offset;
    uint64_t value = reinterpret_cast<uintptr_t>(target) + static_cast<uint64_t>(r.r_addend);
    if (type != R_X86_64_64) value -= reinterpret_cast<uintptr_t>(at);
    if (width == 4) {
      const auto wide = static_cast<int64_t>(value);
      if (wide != static_cast<int32_t>(wide)) malformed("a displacement out of range");
    }
    std::memcpy(at, &value, width);  // little endian
  }
}

void LoadedObject::Impl::protect() {
  const int protections[kParts] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  for (int part = kCode; part < kParts; part++) {
    const uint64_t begin = part_begin[part], size = align_up(part_begin[part + 1] - begin, kPage);
    if (size && mprotect(base + begin, size, protections[part]) != 0)
      throw InternalError(std::string(kWhere), "the system refuses to make memory executable");
  }
}

void LoadedObject::Impl::load(std::string_view object) {
  const Parsed elf(object);
  place(elf);
  for (const auto& s : elf.sections) {
    if (s.sh_type == SHT_RELA) relocate(elf, s);
    if (s.sh_type == SHT_REL && s.sh_info < section_at.size() && section_at[s.sh_info])
      malformed("relocations without addends");
  }
  for (const auto& s : elf.symbols) {
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || ELF64_ST_BIND(s.st_info) == STB_LOCAL) continue;
    if (undefined(s)) continue;
    char* at = address_of(elf, s);
    if (!(elf.sections[s.st_shndx].sh_flags & SHF_EXECINSTR)) malformed("a function outside the code");
    symbols.emplace(elf.symbol_name(s), std::pair{at, s.st_size});
  }
  protect();
  write_perf_map(symbols);
}

std::shared_ptr<LoadedObject> LoadedObject::load(std::string_view object) {
  std::shared_ptr<LoadedObject> loaded(new LoadedObject);
  loaded->impl_ = std::make_unique<Impl>();
  loaded->impl_->load(object);
  return loaded;
}

LoadedObject::~LoadedObject() = default;

void* LoadedObject::symbol(const std::string& name) const {
  const auto it = impl_->symbols.find(name);
  return it == impl_->symbols.end() ? nullptr : it->second.first;
}

}  // namespace pto
