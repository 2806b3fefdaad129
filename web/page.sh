#!/usr/bin/env bash
# Bundles the page and copies it with the module into the package, python/sojourn/apps/lab/static; exits with 4 and a reason
# if that is not possible.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

skip() {
  echo "skipped: the page of sojourn lab: $1" >&2
  exit 4
}

[[ -f package.json ]] || skip "its sources are not here"
[[ -f build/sojourn.wasm ]] || skip "the WebAssembly module is not built"
{ command -v node && command -v npm; } >/dev/null || skip "$(./needs.sh)"

if [[ ! -d node_modules || package-lock.json -nt node_modules ]]; then
  timeout 300 npm ci --no-audit --no-fund --loglevel=error || skip "npm cannot install what package-lock.json names; is the network there?"
  touch node_modules
fi
npm run --silent build
static=../python/sojourn/apps/lab/static
mkdir -p "$static"
install -m 644 dist/index.html dist/lab.js dist/lab.css dist/component.js build/sojourn.wasm "$static"
echo "Page: python/sojourn/apps/lab/static"
