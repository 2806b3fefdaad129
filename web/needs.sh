#!/usr/bin/env bash
# Prints one line: what is missing to build the module and the page of `sojourn lab`, and the command that builds them;
# exits with 4 if something must be installed first. Run by `sojourn lab` if the page is not built.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target=wasm32-unknown-unknown

has_target() {
  [[ -d "$("$1" --print sysroot 2>/dev/null)/lib/rustlib/$target/lib" ]]
}

# build.sh adds the target to a rustup toolchain; Debian has it in other packages, which conflict with its rustc.
makes_wasm() {
  has_target rustc || command -v rustup >/dev/null || has_target /usr/bin/rustc ||
    [[ -x /usr/bin/cargo && -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ]]
}

missing=() packages=()
if ! makes_wasm; then
  missing+=("a Rust for $target")
  packages+=(rustc-web cargo-web rust-web-src)
fi
for tool in node npm; do
  if ! command -v "$tool" >/dev/null; then
    missing+=("$tool")
    [[ $tool == node ]] && packages+=(nodejs) || packages+=(npm)
  fi
done

make="make -C $(printf %q "$root") web"
if ((${#missing[@]} == 0)); then
  echo "run: $make"
  exit 0
fi
what="$(printf '%s, ' "${missing[@]}")"
if command -v apt-get >/dev/null && { [[ " ${packages[*]} " != *" rustc-web "* ]] || ! dpkg -s rustc >/dev/null 2>&1; }; then
  sudo=""
  ((EUID == 0)) || sudo="sudo "
  echo "this machine lacks ${what%, }; run: ${sudo}apt-get install -y --no-install-recommends ${packages[*]} && $make"
elif [[ " ${packages[*]} " == *" rustc-web "* ]]; then
  echo "this machine lacks ${what%, }; install Rust from https://rustup.rs${packages[3]:+ and Node.js from https://nodejs.org}, then run: $make"
else
  echo "this machine lacks ${what%, }; install Node.js (https://nodejs.org), then run: $make"
fi
exit 4
