#!/usr/bin/env bash
# Tests every example in this folder, each a workspace of its own, and prints a table: name, version of the stack, result
# and CPU seconds of its tests. Arguments are names of some of them.
set -eu
cd "$(dirname "$0")"
status=0
printf '%-14s %-10s %-8s %s\n' name version result "CPU s"
for example in ${*:-$(ls -d */)}; do
  example=${example%/}
  version=$(sed -nE "s/^$example = .*\"=([0-9.]+)\".*/\1/p" "$example/Cargo.toml")
  log=$(mktemp)
  result=failed seconds=-
  if cargo test --quiet --locked --no-run --manifest-path "$example/Cargo.toml" >"$log" 2>&1; then
    TIMEFORMAT=%U
    if seconds=$({ time cargo test --quiet --locked --manifest-path "$example/Cargo.toml" >"$log" 2>&1; } 2>&1); then
      result=passed
    fi
  fi
  printf '%-14s %-10s %-8s %s\n' "$example" "$version" "$result" "$seconds"
  if [ "$result" = failed ]; then
    status=1
    sed 's/^/  /' "$log" >&2
  fi
  rm -f "$log"
done
exit $status
