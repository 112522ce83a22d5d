#!/usr/bin/env bash
# Every check that needs an NVIDIA GPU, in one call. Goes on past failures; ends with a summary.
# Self-test, devices, test report and runs go to $OUT (default ./out). PYTHON chooses the interpreter.
set -u
cd "$(dirname "$0")/../.."
OUT=${OUT:-$PWD/out}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"
RUNS=$(mktemp -d)
trap 'rm -rf "$RUNS"' EXIT
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
summary=()
failures=0

check() { # NAME SECONDS COMMAND...
  local name=$1 limit=$2 status began=$SECONDS
  shift 2
  echo
  echo "=== $name"
  timeout --kill-after=10 "$limit" "$@"
  status=$?
  if [ $status -eq 0 ]; then
    summary+=("ok    $name ($((SECONDS - began)) s)")
  else
    summary+=("FAIL  $name (status $status, $((SECONDS - began)) s)")
    failures=$((failures + 1))
  fi
}

measure() { # NAME ARGUMENTS...: one run, as JSON
  local name=$1
  shift
  check "run $name" 60 "$PYTHON" -m gpuexplorer run "$@" --device cuda --json "$RUNS/$name.json"
}

echo "=== environment"
date -u
uname -srm
"$PYTHON" --version
nvidia-smi || true
"$PYTHON" -m pip list 2>/dev/null |
  grep -iE '^(cuda|cupy|nvidia|numpy|msgspec|torch|pytest|psutil|simpleeval) ?' || true

check "riskiest" 120 "$PYTHON" tests/gpu/riskiest.py
check "selftest" 400 "$PYTHON" -m gpuexplorer selftest --device cuda:0 --json "$OUT/selftest.json"
check "devices" 60 "$PYTHON" -m gpuexplorer devices --json "$OUT/devices.json"
check "doctor" 60 "$PYTHON" -m gpuexplorer doctor
check "tests" 420 "$PYTHON" -m pytest tests/gpu tests/backends/test_cuda_against_cupy.py \
  -p no:cacheprovider -q --timeout 120 --junitxml "$OUT/gpu-tests.xml"
check "memory" 180 "$PYTHON" tests/bench/memory_prediction.py --device torch:cuda:0
check "agreement" 120 "$PYTHON" tests/gpu/agreement.py --json "$OUT/agreement.json"
check "A/A" 120 "$PYTHON" tests/bench/aa.py --device cuda --size 1024
check "calibrate" 240 "$PYTHON" -m gpuexplorer calibrate --device cuda:0 --json "$OUT/ceilings.json"
check "copy" 120 "$PYTHON" tests/bench/copy_bandwidth.py --device cuda
if "$PYTHON" -c "import torch; raise SystemExit(not torch.cuda.is_available())" 2>/dev/null; then
  check "torch.utils.benchmark" 180 "$PYTHON" tests/bench/torch_benchmark.py --device torch:cuda:0 \
    --json "$OUT/torch-benchmark.json"
fi
check "study precision" 180 "$PYTHON" -m gpuexplorer study precision matmul --variant torch --device torch:cuda:0 \
  --size 4096 --plot "$OUT/precision.png" --json "$OUT/precision.json"
check "study switches" 400 "$PYTHON" -m gpuexplorer study switches mlp_training --variant torch \
  --device torch:cuda:0 --rounds 6 --plot "$OUT/switches.png" --json "$OUT/switches.json"
check "study speedup" 180 "$PYTHON" -m gpuexplorer study speedup matmul --size 32:2048:*2 --yes \
  --plot "$OUT/speedup.png" --json "$OUT/speedup.json"
measure matmul-naive matmul --variant naive --size 4096 --block 16x16 --seconds 1
measure matmul-naive-32x8 matmul --variant naive --size 4096 --block 32x8 --seconds 1
measure matmul-tiled matmul --variant tiled --size 4096 --seconds 1
measure matmul-cublas matmul --variant cublas --size 4096 --seconds 1
measure matmul-cublas-fp16 matmul --variant cublas --size 4096 --precision fp16 --seconds 1
measure matmul-small matmul --variant naive --size 64 --block 16x16 --seconds 1
measure matmul-small-cold matmul --variant naive --size 64 --block 16x16 --cache cold --seconds 1
measure matmul-zeros matmul --variant cublas --size 8192 --precision fp16 --fill zeros --seconds 1
measure matmul-normal matmul --variant cublas --size 8192 --precision fp16 --fill normal --seconds 1
measure copy stream --variant copy --size 268435456 --seconds 1
measure triad stream --variant triad --size 268435456 --seconds 1
measure transpose transpose --variant padded --size 16384 --seconds 1
measure reduction reduction --variant tree --size 67108864 --seconds 1

echo
echo "=== figures"
"$PYTHON" tests/gpu/figures.py "$OUT/runs.json" "$RUNS"/*.json || failures=$((failures + 1))

echo
echo "=== summary"
printf '%s\n' "${summary[@]}"
echo "$failures failed"
[ "$failures" -eq 0 ]
