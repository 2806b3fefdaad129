#!/usr/bin/env bash
# Tests every example in this folder, each with a set-up of its own, and prints a table: name, version of the stack, result
# and CPU seconds of its tests. Arguments are names of some of them. Those in Rust are workspaces; those in Python run with
# PYTHON (default: python3), which has sojourn and the packages of their requirements.txt; those in C have a check.sh.
# An example whose parts are missing is skipped with the reason.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Prepares an example: builds it, or returns 3 with the reason in the log.
prepare() {
  if [ -e "$1/Cargo.toml" ]; then
    cargo test --quiet --locked --no-run --manifest-path "$1/Cargo.toml"
  elif [ -e "$1/requirements.txt" ]; then
    "$python" -c "import sojourn, ${1%%-*}" || { echo "needs: pip install sojourn -r $1/requirements.txt"; return 3; }
  else
    "$1/check.sh" --build
  fi
}

# Runs the tests of an example.
check() {
  if [ -e "$1/Cargo.toml" ]; then
    cargo test --quiet --locked --manifest-path "$1/Cargo.toml"
  elif [ -e "$1/requirements.txt" ]; then
    "$python" "$(ls "$1/check.py" "$1/call.py" 2>/dev/null | head -n 1)"
  else
    "$1/check.sh"
  fi
}

# Version of the stack that an example is named after.
version() {
  sed -nE "s/^$1 ?=.*\"=([0-9.]+)\".*/\1/p; s/^$1==([0-9.]+).*/\1/p; s/^# $1 ([0-9.]+).*/\1/p" \
    "$1/Cargo.toml" "$1/requirements.txt" "$1/README.md" 2>/dev/null | head -n 1
}

status=0
printf '%-12s %-8s %-8s %s\n' name version result "CPU s"
for example in ${*:-$(ls -d */)}; do
  example=${example%/}
  result=passed seconds=-
  code=0
  prepare "$example" >"$log" 2>&1 || code=$?
  if [ "$code" = 0 ]; then
    TIMEFORMAT='%U %S'
    times=$({ time check "$example" >"$log" 2>&1; } 2>&1) || code=$?
    seconds=$(echo "$times" | awk 'END { printf "%.1f", $1 + $2 }')
  fi
  case $code in
    0) ;;
    3) result=skipped seconds="- $(tail -n 1 "$log")" ;;
    *) result=failed status=1 ;;
  esac
  printf '%-12s %-8s %-8s %s\n' "$example" "$(version "$example")" "$result" "$seconds"
  if [ "$result" = failed ]; then sed 's/^/  /' "$log" >&2; fi
done
exit $status
