#pragma once
// The C++ API: build a graph of tensors, compile it, run it.
//
//   const pto::Tensor x = pto::input("x", pto::Type::F32, {"B", 64});
//   const pto::Tensor w = pto::input("w", pto::Type::F32, {64, 32});
//   const pto::Tensor y = pto::op("softmax", {pto::matmul(x, w)}, {{"axis", -1}});
//   pto::Compiled f({x, w}, {y});
//   std::vector<pto::Array> results = f({a, b});     // a: float32 of any number of rows
//
// Functions have the names, arguments and meaning of the Python API. A size that is a name stands for
// any number; equal names are equal sizes. Nothing is recompiled for new sizes.
//
// A mistake of the caller is a std::runtime_error whose message says what was expected and what came; a
// bug of the compiler is a std::logic_error. A failed call changes nothing.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pto {

enum class Type : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

// Numbers in memory, dense and row-major. Copies share the memory.
class Array {
 public:
  Array(Type type, std::vector<int64_t> shape);   // uninitialised
  static Array of(const std::vector<float>& values, std::vector<int64_t> shape);
  // Memory of the caller's, which must live and stay as it is as long as the array and its copies.
  static Array borrow(Type type, std::vector<int64_t> shape, void* data);

  Type type() const;
  const std::vector<int64_t>& shape() const;
  int64_t size() const;        // elements
  void* data();
  const void* data() const;
  template <class T>
  T* data() {
    return static_cast<T*>(data());
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data());
  }

 private:
  friend class Compiled;
  struct Impl;
  explicit Array(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// A number, or a name for a size that calls determine.
class Dim {
 public:
  Dim(int value) : value_(value) {}                         // NOLINT: shapes are written as lists
  Dim(int64_t value) : value_(value) {}                     // NOLINT
  Dim(const char* name) : value_(std::string(name)) {}      // NOLINT
  Dim(std::string name) : value_(std::move(name)) {}        // NOLINT
  const std::variant<int64_t, std::string>& value() const { return value_; }

 private:
  std::variant<int64_t, std::string> value_;
};

// A value of the graph that is being built.
class Tensor {
 public:
  std::string type() const;    // "f32[B, 64]"

 private:
  friend struct Access;
  struct Impl;
  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Arguments of functions. Numbers are weak: they take the type of the tensors that they meet.
using Argument = std::variant<Tensor, std::vector<Tensor>, bool, int, int64_t, double, std::string,
                              std::vector<int64_t>, Type>;
struct Named {
  Named(std::string name, Argument value) : name(std::move(name)), value(std::move(value)) {}
  Named(std::string name, const char* value) : name(std::move(name)), value(std::string(value)) {}
  std::string name;
  Argument value;
};

Tensor input(const std::string& name, Type type, const std::vector<Dim>& shape);
// Any function of the library by name; those with one result, and the others.
Tensor op(const std::string& function, const std::vector<Argument>& arguments,
          const std::vector<Named>& named = {});
std::vector<Tensor> op_results(const std::string& function, const std::vector<Argument>& arguments,
                               const std::vector<Named>& named = {});
std::vector<std::string> function_names();

Tensor matmul(const Tensor& a, const Tensor& b);
Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands);
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);

// A compiled graph. May be called from many threads.
class Compiled {
 public:
  Compiled(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
  std::vector<Array> operator()(const std::vector<Array>& inputs) const;
  // "tile", "schedule", "loop", "c", "llvm", "asm": what the compiler made, for the sizes of the last call.
  std::string text(const std::string& level) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pto
