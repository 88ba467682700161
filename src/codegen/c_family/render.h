#pragma once
// A loop program as C text. Scalars are variables, vectors arrays of lanes, and a statement on vectors a
// loop over its lanes.
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "codegen/c_family/prelude.h"
#include "codegen/codegen.h"

namespace pto::c_family {

// Words that are no names of functions, parameters and variables.
const std::unordered_set<std::string>& words();

class Renderer {
 public:
  Renderer(const LoopProgram& program, const std::string& name, Prelude& prelude);
  std::string function();

 private:
  // --- render.cpp: statements ---
  void line(const std::string& text);
  void body(const std::vector<StmtPtr>& stmts);
  void statement(const Stmt& s);
  void loop(const Stmt& s);
  void let(const Stmt& s);
  void store(const Stmt& s);
  void check(const Stmt& s);
  void alloc(const Stmt& s);
  std::string c_name(Symbol name);
  std::string fresh(std::string base);
  // `text` for each lane, `lane` being its number; without a loop where there is one lane.
  void for_lanes(int lanes, const std::function<void()>& text);

  // --- expression.cpp ---
  // Text, and how tightly its outermost operator binds.
  struct Text {
    std::string text;
    int binding;
  };
  // Names what the expressions use repeatedly, what they read in all lanes alike, and lanes that are
  // combined: before the loop over lanes, or, in `lane`, at its beginning.
  void prepare(const Exprs& roots);
  void prepare_lanes(const Exprs& roots);
  void done();
  std::string scalar(const Expr& e);  // outside of lanes: prepared and rendered
  std::string text(const Expr& e);    // in the current lane
  Text render(const Expr& e);
  Text fresh_text(const Expr& e);
  Text operation(const Expr& e);
  Text binary(const Expr& e, const std::string& op, int binding);
  std::string within(const Expr& e, int binding);
  std::string element(Symbol buffer, DType type, const std::string& index);
  std::string lanes_array(const Expr& e);
  void name_node(const Expr& e, const char* base);
  bool is_index(const Expr& e) const;  // arithmetic of sizes and counters: never wraps
  bool not_negative(const Expr& e) const;
  bool is_short(const Expr& e) const;

  const LoopProgram& p_;
  const std::string name_;
  Prelude& prelude_;
  std::string out_;
  int indent_ = 1;
  std::map<Symbol, std::string> c_names_;
  std::unordered_set<std::string> taken_;
  std::map<Symbol, Size> offsets_;
  std::unordered_set<Symbol> index_vars_, natural_vars_;    // see is_index, not_negative
  std::unordered_map<const ExprNode*, std::string> named_;  // nodes of the current statement
  Exprs alive_;                                             // whose nodes they are
};

}  // namespace pto::c_family
