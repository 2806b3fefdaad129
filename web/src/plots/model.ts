/** Model of a plot, independent of the drawing surface. */

import type { Points } from "../sim/series.js";

/** Names of colours, resolved by a palette. */
export type Ink = "a" | "b" | "text" | "muted" | "grid" | "target" | "band" | `flow${number}`;

export interface Axis {
  /** With its unit: `time, s`. */
  label: string;
  from: number;
  to: number;
  log?: boolean;
}

export type Mark =
  /** `dense`: with more points than pixels, draw the mean and a shade from minimum to maximum. */
  | {
      kind: "line";
      name: string;
      ink: Ink;
      points: Points;
      width?: number;
      alpha?: number;
      steps?: boolean;
      dense?: boolean;
    }
  | { kind: "points"; name: string; ink: Ink; points: Points; radius?: number }
  /** Vertical lines, such as drops: at full height if few, else as a rug in row `row` from the bottom. */
  | { kind: "rules"; name: string; ink: Ink; x: ArrayLike<number>; row: number }
  /** A constant value, such as a target. */
  | { kind: "level"; name: string; ink: Ink; y: number }
  | { kind: "upright"; name: string; ink: Ink; x: number }
  /** A published band along x or y. */
  | { kind: "band"; name: string; ink: Ink; along: "x" | "y"; from: number; to: number; alpha: number };

export interface Panel {
  /** Empty if the plot has one panel. */
  title: string;
  x: Axis;
  y: Axis;
  marks: Mark[];
  /** Whether x is the simulated time in s: the panel then shows the playhead, and a click seeks. */
  time: boolean;
}

export interface Plot {
  panels: Panel[];
  /** Text for screen readers. */
  summary: string;
  /** Note on how to read it. */
  note?: string;
  /** Whether a logarithmic value axis is offered, and is on. */
  log: { offered: boolean; on: boolean };
}
