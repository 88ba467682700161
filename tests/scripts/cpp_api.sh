#!/bin/sh
# The C++ API as a user has it: installed, found by find_package, compiled and run. Argument: the build folder.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" --component cpp >/dev/null
cmake -S "$here/examples/cpp" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build" >/dev/null
PTO_CACHE_DIR="$work/cache" "$work/build/attention" >"$work/got"
cat >"$work/want" <<'END'
3 queries, 5 keys: result (3, 16), rows sum to 1 within 1e-5
64 queries, 200 keys: result (64, 16), rows sum to 1 within 1e-5
[main] input v has another size of axis 0
  expected: f32[T, 16]
  got: f32[6, 16]
END
diff "$work/want" "$work/got"
echo "the C++ API: installed, found, compiled, run"
