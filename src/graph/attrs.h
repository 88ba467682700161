#pragma once
// Attributes of an operator: a typed struct per operator, described to printers, parsers, hashers
// and the Python bindings by one `visit` that names its fields.
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "expr/size.h"

namespace pto {

struct Graph;

class AttrVisitor {
 public:
  virtual ~AttrVisitor() = default;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, DType& value) = 0;
  virtual void field(const char* name, Scalar& value) = 0;
  virtual void field(const char* name, Op& value) = 0;
  virtual void field(const char* name, std::vector<int64_t>& value) = 0;
  virtual void field(const char* name, std::vector<std::string>& value) = 0;
  virtual void field(const char* name, Exprs& value) = 0;  // also shapes
  virtual void field(const char* name, BufferPtr& value) = 0;
  virtual void field(const char* name, std::shared_ptr<const Graph>& value) = 0;
};

// Ignores every field; for visitors that look for a few kinds.
class AttrIgnorer : public AttrVisitor {
 public:
  void field(const char*, int64_t&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, Scalar&) override {}
  void field(const char*, Op&) override {}
  void field(const char*, std::vector<int64_t>&) override {}
  void field(const char*, std::vector<std::string>&) override {}
  void field(const char*, Exprs&) override {}
  void field(const char*, BufferPtr&) override {}
  void field(const char*, std::shared_ptr<const Graph>&) override {}
};

struct Attrs {
  virtual ~Attrs() = default;
  virtual void visit(AttrVisitor& v) = 0;
  virtual std::shared_ptr<Attrs> clone() const = 0;
};
using AttrsPtr = std::shared_ptr<const Attrs>;

// struct PermuteAttrs : AttrsOf<PermuteAttrs> { std::vector<int64_t> perm; void visit(...) ... };
template <class T>
struct AttrsOf : Attrs {
  std::shared_ptr<Attrs> clone() const override { return std::make_shared<T>(static_cast<const T&>(*this)); }
};

struct NoAttrs : AttrsOf<NoAttrs> {
  void visit(AttrVisitor&) override {}
};

void read(const Attrs& attrs, AttrVisitor& reader);   // for visitors that do not write
uint64_t hash_attrs(const Attrs& attrs);
bool equal_attrs(const Attrs& a, const Attrs& b);
// "{axes = [0], keepdims = true}"; `locations` is of nested graphs.
std::string attrs_text(const Attrs& attrs, bool locations = true);
void parse_attrs(Lexer& in, Attrs& attrs);           // fills the fields named in the text

}  // namespace pto
