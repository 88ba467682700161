#pragma once
// Schedules from a text in place of those that the heuristic would make.
#include <string>

#include "exec/executable.h"

namespace pto {

// The executable's program with the schedules of `text`: the listing of level "schedule", edited or not,
// or parts of it. A kernel that stands in the text too may have the stages that its schedule places. pto::Error
// says why a schedule is refused.
Program with_schedules(Executable& executable, const std::string& text);

}  // namespace pto
