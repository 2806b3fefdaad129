#!/usr/bin/env bash
# Builds the WebAssembly module of crates/web into web/build/sojourn.wasm; exits with 4 and a reason if that is not possible.
# Uses the wasm target of the installed toolchain, which rustup adds, or Debian's rustc-web. The latter has the standard
# library as sources (rust-web-src), which is built as well; any lld will do, since Debian's has LLVM's version in its name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=wasm32-unknown-unknown
built=target/wasm
profile=(--release --locked --package sojourn-web --crate-type cdylib --target "$target" --target-dir "$built")
# Optimise the simulation for speed, parsing and formatting for size; docs/lab.md has the costs of other levels.
export CARGO_PROFILE_RELEASE_PANIC=abort CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_OPT_LEVEL=2
for package in toml toml_edit toml_parser toml_writer winnow serde_json serde indexmap hashbrown; do
  profile+=(--config "profile.release.package.$package.opt-level=\"z\"")
done

# The module is part of the wheel, so it must not contain local paths. Less inlining than level 2: a fifteenth of the size,
# for a seventh of the speed with FQ-CoDel and none with CoDel.
export RUSTFLAGS="${RUSTFLAGS:-} -C llvm-args=-inline-threshold=150 --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"

skip() {
  echo "skipped: the WebAssembly module: $1" >&2
  exit 4
}

has_target() {
  [[ -d "$("$1" --print sysroot 2>/dev/null)/lib/rustlib/$target/lib" ]]
}

debian_lld() {
  local root
  for root in "$(rustc --print sysroot 2>/dev/null)" "$(/usr/bin/rustc --print sysroot)"; do
    local lld=("$root"/lib/rustlib/*/bin/rust-lld)
    if "${lld[0]}" -flavor wasm --version >/dev/null 2>&1; then echo "${lld[0]}"; return; fi
  done
  local name
  for name in rust-lld wasm-ld $(compgen -c | grep -E '^(wasm-ld|lld)-[0-9]+$' | sort -rVu); do
    if "$name" -flavor wasm --version >/dev/null 2>&1 || [[ $name == wasm-ld* ]] && command -v "$name" >/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

# Prefer rustup, which adds the target to the same toolchain; offline it fails, and Debian's toolchain may still do.
if ! has_target rustc && command -v rustup >/dev/null; then
  echo "adding $target to the toolchain (rustup)"
  timeout 300 rustup target add "$target" </dev/null >/dev/null 2>&1 || echo "rustup cannot add $target; is the network there?" >&2
fi

if has_target rustc; then
  cargo rustc "${profile[@]}"
elif [[ -x /usr/bin/cargo && -x /usr/bin/rustc ]] && has_target /usr/bin/rustc; then
  PATH=/usr/bin:$PATH cargo rustc "${profile[@]}"
elif [[ -x /usr/bin/cargo && -x /usr/bin/rustc && -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]]; then
  lld=$(debian_lld) || skip "there is no lld for it (Debian: lld)"
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld RUSTC_BOOTSTRAP=1
  PATH=/usr/bin:$PATH cargo rustc "${profile[@]}" -Z build-std=std,panic_abort
else
  skip "$(web/needs.sh)"
fi

mkdir -p web/build
install -m 644 "$built/$target/release/sojourn_web.wasm" web/build/sojourn.wasm
