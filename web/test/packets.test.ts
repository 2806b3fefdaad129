import assert from "node:assert/strict";
import { test } from "node:test";
import { firstDifference } from "../src/sim/first-difference.js";
import { PacketIndex } from "../src/sim/packets.js";
import { WAITING, type Packets } from "../src/sim/protocol.js";

/** Rows [arrived, left, fate], in order of arrival; packets queued at the end leave at Infinity. */
function queue(...rows: [number, number, number][]): PacketIndex {
  const numbered = rows.map(([arrived, left, fate], arrival) => ({ arrived, left, fate, arrival }));
  const ended = numbered.sort((one, two) => one.left - two.left || one.arrival - two.arrival);
  const packets: Packets = {
    time: Float64Array.from(ended, row => row.left),
    sojourn: Float64Array.from(ended, row => (row.fate === WAITING ? -1 - row.arrived : row.left - row.arrived)),
    flow: Uint32Array.from(ended, row => row.arrival % 3),
    bytes: Uint32Array.from(ended, () => 1500),
    arrival: Uint32Array.from(ended, row => row.arrival),
    fate: Uint8Array.from(ended, row => row.fate),
    ecn: Uint8Array.from(ended, () => 0),
  };
  return new PacketIndex(packets);
}

const arrivals = (index: PacketIndex, at: number): number[] =>
  index.waiting(at).map(row => index.packets.arrival[row]!);

test("the queue has the packets that have arrived and not departed", () => {
  // The third is dropped on arrival, the fourth overtakes the second, the fifth is queued at the end.
  const index = queue([10, 11, 0], [12, 90, 0], [20, 20, 2], [30, 40, 1], [50, Infinity, WAITING]);
  const table: [number, number[]][] = [
    [9, []],
    [10, [0]],
    [11, []],
    [12, [1]],
    [20, [1]],
    [30, [1, 3]],
    [40, [1]],
    [60, [1, 4]],
    [90, [4]],
    [1e6, [4]],
  ];
  for (const [at, expected] of table) assert.deepEqual(arrivals(index, at), expected, `at ${at}`);
});

test("stepping visits every arrival and departure, in both directions", () => {
  const index = queue([10, 11, 0], [12, 90, 0], [20, 20, 2], [30, 40, 1], [50, Infinity, WAITING]);
  const forth: number[] = [];
  for (let at = index.next(-1); Number.isFinite(at); at = index.next(at)) forth.push(at);
  assert.deepEqual(forth, [10, 11, 12, 20, 30, 40, 50, 90]);
  const back: number[] = [];
  for (let at = index.previous(91); at > 0; at = index.previous(at)) back.push(at);
  assert.deepEqual(back, forth.reverse());
});

test("equal queues have no first difference", () => {
  const rows: [number, number, number][] = [
    [1, 5, 0],
    [2, 9, 1],
    [3, 3, 2],
    [4, Infinity, WAITING],
  ];
  assert.equal(firstDifference(queue(...rows), queue(...rows)), null);
});

test("the first difference is the earliest in time, not in the order of arrival", () => {
  // Packet 0 is dropped at 50 in A and sent at 70 in B; packet 1 differs at 20 already.
  const a = queue([1, 50, 4], [2, 20, 4], [60, 61, 0]);
  const b = queue([1, 70, 0], [2, 30, 0], [60, 75, 0]);
  const first = firstDifference(a, b)!;
  assert.deepEqual([first.arrival, first.at_ns, first.arrived_ns], [1, 20, 2]);
  assert.equal(a.packets.fate[first.a!], 4);
  assert.equal(b.packets.fate[first.b!], 0);
});

test("arrivals that differ are a consequence, not the first difference", () => {
  const a = queue([1, 5, 0], [10, 11, 0]);
  const b = queue([1, 5, 0], [12, 13, 0]);
  assert.equal(firstDifference(a, b), null);
});

test("a packet still queued on one side differs at the verdict of the other", () => {
  const first = firstDifference(queue([1, Infinity, WAITING]), queue([1, 8, 4]))!;
  assert.deepEqual([first.at_ns, first.a], [8, null]);
});
