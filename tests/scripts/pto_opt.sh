#!/bin/sh
# pto-opt: texts in and out, passes by name, errors. Argument: the build folder.
set -eu
opt=$1/bin/pto-opt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PTO_CACHE_DIR="$work/cache"
fail() { echo "pto_opt.sh: $1" >&2; exit 1; }

cat >"$work/kernel" <<'END'
kernel up[M, K, N](x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {
  axis i: M
  axis j: N
  axis k: K
  t[i, j]: f32 = contract(k) x[i, k] * w[k, j]
  store y[i, j] = max(t[i, j], f32(0))
}
END
cat >"$work/graph" <<'END'
graph main(x: f32[B, 8]) {
  %0 = exp(x) : f32[B, 8]
  %1 = exp(x) : f32[B, 8]
  %2 = add(%0, %1) : f32[B, 8]
  return %2
}
END
"$opt" "$work/kernel" | diff - "$work/kernel" || fail "a kernel does not come back as it was"
"$opt" --passes=cse "$work/graph" >"$work/fewer"
[ "$(grep -c 'exp(x)' "$work/fewer")" = 1 ] || fail "cse left two equal nodes"
"$opt" - <"$work/fewer" | diff - "$work/fewer" || fail "a graph does not come back as it was"

# Every level runs, and gives what the first gave.
"$opt" --run "$work/kernel" >"$work/want"
for level in tile schedule loop loop.lowered exec; do
  "$opt" --to=$level "$work/kernel" >"$work/$level"
  "$opt" --run "$work/$level" | diff "$work/want" - || fail "$level runs with another result"
done
"$opt" --run "$work/graph" | grep -q 'largest error' || fail "a graph does not run"
for level in c llvm asm; do
  "$opt" --to=$level "$work/graph" | grep -q 'k0' || fail "no code at level $level"
done
"$opt" --list-passes | grep -q 'vectorise' || fail "passes are not listed"
[ "$("$opt" --to=tile "$work/graph" | grep -c '^kernel')" = 1 ] || fail "the graph is not one kernel"
[ "$("$opt" --to=tile --without=fuse,cse "$work/graph" | grep -c '^kernel')" = 2 ] || fail "passes are not left out"
for text in kernel graph schedule loop; do
  PTO_DEBUG=compare "$opt" --run --sizes=B=3,M=5,K=7,N=9 "$work/$text" >"$work/out" || fail "levels of $text deviate"
done

printf 'argument {value = f32[1, 8] "%064d"}\n' 0 | cat "$work/graph" - >"$work/given"
"$opt" --run "$work/given" | grep -q 'out: sum 16,' || fail "arguments in the text are not used"

refused() {
  expected=$1; shift
  if "$opt" "$@" >"$work/out" 2>"$work/err"; then fail "not refused: $*"; fi
  grep -q "$expected" "$work/err" || { cat "$work/err" >&2; fail "another message than: $expected"; }
}
refused 'cannot read' "$work/none"
refused 'there is no pass named "vanish"' --passes=vanish "$work/graph"
refused 'there is no level "wasm"' --to=wasm "$work/graph"
refused 'unknown option' --frobnicate
refused 'unknown target' --target=z80 "$work/kernel"
refused 'bad size' --sizes=M "$work/kernel"
PTO_DEBUG=2; export PTO_DEBUG
refused 'PTO_DEBUG.*not one of its values' --run "$work/kernel"
unset PTO_DEBUG
echo 'kernel broken(' >"$work/broken"
refused 'at line 2, column 1' "$work/broken"
echo "pto-opt: texts, passes, levels and errors"
