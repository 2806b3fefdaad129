#!/usr/bin/env bash
# Builds the example, and checks its budgets with 20 seeds and its decisions in five processes. Downloads nothing.
#
# OUT      folder of `make capi OUT=…`; by default the project's out
# NGTCP2   folder where Debian's packages libngtcp2-dev, libngtcp2-9, libngtcp2-crypto-gnutls-dev and
#          libngtcp2-crypto-gnutls2 are unpacked, unless they are installed; libgnutls28-dev is installed
set -eu
cd "$(dirname "$0")"
out=$(realpath "${OUT:-../../../out}")
[ -e "$out/lib/libsojourn_aqm.so" ] || { echo "check.sh: $out has no library; make capi OUT=$out" >&2; exit 3; }
prefix=()
if [ -n "${NGTCP2:-}" ]; then
  root=$(realpath "$NGTCP2")/usr
  PKG_CONFIG_PATH=$(dirname "$(find "$root" -name libngtcp2.pc)"):${PKG_CONFIG_PATH:-}
  export PKG_CONFIG_PATH
  prefix=("--define-variable=prefix=$root")
fi
packages="libngtcp2 libngtcp2_crypto_gnutls"
pkg-config --print-errors --exists $packages gnutls || {
  echo "check.sh: install libngtcp2-dev, libngtcp2-crypto-gnutls-dev and libgnutls28-dev, or see NGTCP2" >&2
  exit 3
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libraries=$(pkg-config "${prefix[@]}" --variable=libdir libngtcp2)
# shellcheck disable=SC2046 # flags are words
cc -std=c11 -O2 -Wall -Wextra -o "$work/transfer" transfer.c host.c \
  $(pkg-config "${prefix[@]}" --cflags $packages) $(pkg-config --cflags gnutls) -I "$out/include" \
  -L "$out/lib" -Wl,-rpath,"$out/lib" -L "$libraries" -Wl,-rpath,"$libraries" \
  $(pkg-config "${prefix[@]}" --libs $packages) $(pkg-config --libs gnutls) -lsojourn_aqm

first=$("$work/transfer" . 1)
echo "$first"
for _ in 2 3 4 5; do
  [ "$("$work/transfer" . 1)" = "$first" ] || { echo "check.sh: two processes decide differently" >&2; exit 1; }
done
for seed in $(seq 20); do
  "$work/transfer" . "$seed" >"$work/$seed"
done
[ "$(cat "$work"/[0-9]* | grep -c decisions)" = "$(cat "$work"/[0-9]* | grep decisions | sed 's/.*: //' | sort -u | wc -l)" ] ||
  { echo "check.sh: two seeds make one run" >&2; exit 1; }
# ECN both ways: all packets are ECT(0), and the sink sees marks.
if grep -v ' 0 not ECT;.* 0 not ECT$' "$work"/[0-9]* | grep -q sent || grep -h '^sink' "$work"/[0-9]* | grep -q ' 0 CE'; then
  echo "check.sh: an ECN field is lost" >&2
  exit 1
fi
echo "decisions are equal in five processes; budgets hold with 20 seeds"
