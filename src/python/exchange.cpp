// Arrays in and out: memory of NumPy arrays by address, and DLPack capsules.
#include "python/bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>

#include "api/session.h"

namespace pto::python {
namespace {

// --- DLPack 1.1, as its specification lays the structures out -------------------------------------
struct DLDevice {
  int32_t device_type;   // 1 CPU, 2 CUDA, ...
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;          // 0 int, 1 uint, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      // in elements; null: row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;        // bit 0: read only; bit 1: a copy
  DLTensor tensor;
};

constexpr int kCpu = 1;

DLDataType dl_type(DType type) {
  const DTypeInfo& i = info(type);
  const uint8_t code = type == DType::Bool   ? 6
                       : type == DType::BF16 ? 4
                       : i.is_float          ? 2
                       : i.is_signed         ? 0
                                             : 1;
  return {code, static_cast<uint8_t>(i.bytes * 8), 1};
}

DType dtype_from_dl(DLDataType dl) {
  for (const DType type : all_dtypes()) {
    const DLDataType own = dl_type(type);
    if (own.code == dl.code && own.bits == dl.bits && dl.lanes == 1) return type;
  }
  const bool complex = dl.code == 5;
  throw Error(
      {.op = "from_dlpack",
       .message = complex ? "complex numbers are not supported" : "the element type is not supported",
       .expected = "bool, integers, float16, bfloat16, float32 or float64",
       .got = "DLPack type code " + std::to_string(dl.code) + " with " + std::to_string(dl.bits) + " bits",
       .loc = caller_loc()});
}

// What an exported capsule keeps.
template <class Managed>
struct Export {
  Managed managed{};
  BufferPtr buffer;
  std::vector<int64_t> shape, strides;

  static Managed* make(BufferPtr buffer) {
    auto* e = new Export();
    e->buffer = std::move(buffer);
    e->shape = e->buffer->shape;
    e->strides.assign(e->shape.size(), 1);
    for (size_t d = e->shape.size(); d-- > 1;) e->strides[d - 1] = e->strides[d] * e->shape[d];
    e->managed.tensor = {e->buffer->data,
                         {kCpu, 0},
                         static_cast<int32_t>(e->shape.size()),
                         dl_type(e->buffer->dtype),
                         e->shape.data(),
                         e->strides.data(),
                         0};
    e->managed.context = e;
    e->managed.deleter = [](Managed* m) { delete static_cast<Export*>(m->context); };
    return &e->managed;
  }
};

template <class Managed>
void free_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;   // taken over by its consumer
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

// A row-major copy.
BufferPtr copied(const BufferPtr& buffer) {
  if (!buffer->contiguous()) return packed(buffer);
  BufferPtr copy = make_buffer(buffer->dtype, buffer->shape);
  if (const auto bytes = static_cast<size_t>(buffer->bytes())) std::memcpy(copy->data, buffer->data, bytes);
  return copy;
}

nb::object to_capsule(nb::handle tensor, bool versioned, bool copy) {
  const Value value = value_of(tensor);
  BufferPtr buffer;
  {
    const nb::gil_scoped_release release;
    buffer = data_of(value);
    // Consumers of the older capsules know no read-only memory.
    buffer = copy || !versioned ? copied(buffer) : packed(buffer);
  }
  PyObject* capsule;
  if (versioned) {
    auto* managed = Export<DLManagedTensorVersioned>::make(buffer);
    managed->major = 1;
    managed->minor = 0;
    managed->flags = copy ? 2 : 1;
    capsule = PyCapsule_New(managed, "dltensor_versioned", [](PyObject* c) {
      free_unused<DLManagedTensorVersioned>(c, "dltensor_versioned");
    });
  } else {
    capsule = PyCapsule_New(Export<DLManagedTensor>::make(buffer), "dltensor",
                            [](PyObject* c) { free_unused<DLManagedTensor>(c, "dltensor"); });
  }
  return nb::steal(capsule);
}

BufferPtr borrowed(const DLTensor& t, bool read_only, std::shared_ptr<void> owner) {
  if (t.device.device_type != kCpu)
    throw Error({.op = "from_dlpack",
                 .message = "the tensor is not in this processor's memory",
                 .expected = "DLPack device type 1 (CPU)",
                 .got = "device type " + std::to_string(t.device.device_type),
                 .loc = caller_loc()});
  auto buffer = std::make_shared<Buffer>();
  buffer->dtype = dtype_from_dl(t.dtype);
  buffer->shape.assign(t.shape, t.shape + t.ndim);
  if (t.strides) buffer->strides.assign(t.strides, t.strides + t.ndim);
  buffer->data = static_cast<char*>(t.data) + t.byte_offset;
  buffer->read_only = read_only;
  buffer->owner = std::move(owner);
  return buffer;
}

template <class Managed>
std::shared_ptr<Managed> take_over(nb::handle capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), used);
  return {managed, [](Managed* m) {
            if (m->deleter) m->deleter(m);
          }};
}

// Kernels read row-major memory at multiples of the element's size.
BufferPtr aligned(const BufferPtr& buffer) {
  const bool fits = reinterpret_cast<uintptr_t>(buffer->data) % size_of(buffer->dtype) == 0;
  return fits && buffer->contiguous() ? buffer : copied(buffer);
}

nb::object from_capsule(nb::handle capsule, bool copy) {
  BufferPtr buffer;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto owner =
        take_over<DLManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned");
    if (owner->major != 1)
      throw Error("from_dlpack", "DLPack version " + std::to_string(owner->major) + " is not supported",
                  caller_loc());
    buffer = borrowed(owner->tensor, owner->flags & 1, owner);
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto owner = take_over<DLManagedTensor>(capsule, "dltensor", "used_dltensor");
    buffer = borrowed(owner->tensor, false, owner);
  } else {
    throw Error("from_dlpack", "this is not a DLPack capsule, or it was used already", caller_loc());
  }
  const AtCaller at;
  return wrap_outside(make_data(copy ? copied(buffer) : aligned(buffer), current_loc()));
}

// --- memory by address ------------------------------------------------------------------------------

// Keeps a Python object; released with the GIL held, on whichever thread.
std::shared_ptr<void> keep(nb::object object) {
  return {object.release().ptr(), [](void* p) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire gil;
            Py_DECREF(static_cast<PyObject*>(p));
          }};
}

// Strides in elements. A copy is row-major; borrowed memory keeps `owner`.
nb::object from_memory(uintptr_t address, nb::handle dtype, std::vector<int64_t> shape,
                       std::vector<int64_t> strides, bool read_only, nb::object owner, bool copy) {
  auto buffer = std::make_shared<Buffer>();
  buffer->dtype = dtype_of(dtype);
  buffer->shape = std::move(shape);
  buffer->strides = std::move(strides);
  buffer->data = reinterpret_cast<void*>(address);
  buffer->read_only = read_only;
  if (!copy) buffer->owner = keep(std::move(owner));
  const AtCaller at;
  return wrap_outside(make_data(copy ? copied(buffer) : aligned(buffer), current_loc()));
}

// The native types that have a letter of their own in the buffer protocol.
std::optional<DType> dtype_from_format(const char* format, Py_ssize_t bytes) {
  if (!format || format[0] == '\0' || format[1] != '\0') return {};
  const auto integer = [&](bool is_signed) -> std::optional<DType> {
    for (const DType type : all_dtypes())
      if (const auto& i = info(type);
          !i.is_float && type != DType::Bool && i.is_signed == is_signed && i.bytes == bytes)
        return type;
    return {};
  };
  switch (format[0]) {
    case '?': return DType::Bool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return integer(true);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return integer(false);
    case 'e': return DType::F16;
    case 'f': return DType::F32;
    case 'd': return DType::F64;
    default: return {};
  }
}

// A tensor with the elements of an ordinary array; None for one that needs a closer look.
nb::object from_plain_array(nb::handle array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return nb::none();
  }
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> release(&view, PyBuffer_Release);
  const auto dtype = dtype_from_format(view.format, view.itemsize);
  if (!dtype) return nb::none();
  const auto given = std::make_shared<Buffer>();
  given->dtype = *dtype;
  given->shape.assign(view.shape, view.shape + view.ndim);
  for (int d = 0; d < view.ndim; d++) {
    if (view.strides[d] % view.itemsize != 0) return nb::none();
    given->strides.push_back(view.strides[d] / view.itemsize);
  }
  given->data = view.buf;
  const AtCaller at;
  return wrap_outside(make_data(copied(given), current_loc()));
}

// Memory that Python looks into; the buffer lives as long as this object.
struct Memory {
  BufferPtr buffer;
};

}  // namespace

void bind_exchange(nb::module_& m) {
  nb::class_<Memory>(m, "Memory")
      .def_prop_ro("address", [](const Memory& v) { return reinterpret_cast<uintptr_t>(v.buffer->data); })
      .def_prop_ro("dtype", [](const Memory& v) { return dtype_object(v.buffer->dtype); })
      .def_prop_ro("shape", [](const Memory& v) {
        nb::list all;
        for (int64_t n : v.buffer->shape) all.append(n);
        return nb::tuple(all);
      });
  // The tensor's elements, computed if they are not yet, row-major.
  m.def("memory_of", [](nb::handle tensor) {
    const Value value = value_of(tensor);
    BufferPtr buffer;
    {
      const AtCaller at;
      const nb::gil_scoped_release release;
      buffer = packed(data_of(value));
    }
    return Memory{buffer};
  });
  m.def("item", [](nb::handle tensor) -> nb::object {
    const Value value = value_of(tensor);
    BufferPtr buffer;
    {
      const nb::gil_scoped_release release;
      buffer = data_of(value);
    }
    const Scalar s = Scalar::from_bytes(buffer->dtype, buffer->data);
    if (s.type == DType::Bool) return nb::bool_(s.to_bool());
    if (is_float(s.type)) return nb::float_(s.to_double());
    if (s.type == DType::U64) return nb::int_(s.bits);
    return nb::int_(s.to_int());
  });
  m.def("from_memory", &from_memory);
  m.def("from_plain_array", &from_plain_array);
  m.def("to_capsule", &to_capsule);
  m.def("from_capsule", &from_capsule);
}

}  // namespace pto::python
