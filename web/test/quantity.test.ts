import assert from "node:assert/strict";
import { test } from "node:test";
import { digits, formatQuantity, parseQuantity } from "../src/base/quantity.js";

test("quantities are parsed as spelled in scenario files", () => {
  const table = [
    ["10 Mbit/s", "rate", 10e6],
    ["10mbit", "rate", 10e6],
    ["0.25 Gbit/s", "rate", 250e6],
    ["5ms", "time", 5e6],
    ["1.5 s", "time", 1.5e9],
    ["2 min", "time", 120e9],
    ["250 kB", "bytes", 250e3],
    ["3 KiB", "bytes", 3072],
    ["17 packets", "packets", 17],
  ] as const;
  for (const [text, dimension, value] of table) assert.equal(parseQuantity(text, dimension), value, text);
});

test("text that is no quantity of the dimension gives null", () => {
  for (const text of ["10", "", "ms", "5 furlongs", "5 ms 3", "-5 ms", "10 Mbit/s@0s,2 Mbit/s@3s"])
    assert.equal(parseQuantity(text, "time"), null, text);
});

test("a quantity is formatted in the largest unit that fits, and parsed back", () => {
  const table = [
    [1.5e9, "time", "1.5 s"],
    [37e6, "time", "37 ms"],
    [800e3, "time", "800 us"],
    [0, "time", "0 s"],
    [12.34e6, "rate", "12.34 Mbit/s"],
    [1514, "bytes", "1.514 kB"],
    [250, "packets", "250 packets"],
  ] as const;
  for (const [value, dimension, text] of table) {
    assert.equal(formatQuantity(value, dimension), text);
    assert.equal(parseQuantity(text, dimension), value);
  }
});

test("numbers have the given significant digits and no exponent", () => {
  assert.deepEqual(
    [1234.5678, 0.000123456, 1e7, NaN, 0, 2.5].map(value => digits(value, 3)),
    ["1235", "0.000123", "10000000", "–", "0", "2.5"],
  );
});
