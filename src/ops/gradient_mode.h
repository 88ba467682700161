#pragma once
// Whether gradients are recorded: nodes made from taped ones are taped themselves (graph/node.h).

namespace pto {

// Of this thread; at first they are.
bool gradients_enabled();
void set_gradients_enabled(bool enabled);

// While one is there, nodes are made without regard to tapes: by walks that know themselves where a tape ends.
class WithoutTape {
 public:
  WithoutTape();
  ~WithoutTape();
  WithoutTape(const WithoutTape&) = delete;
  WithoutTape& operator=(const WithoutTape&) = delete;

 private:
  bool previous_;
};

class WithGradients {
 public:
  explicit WithGradients(bool enabled);
  ~WithGradients();
  WithGradients(const WithGradients&) = delete;
  WithGradients& operator=(const WithGradients&) = delete;

 private:
  bool previous_;
};

}  // namespace pto
