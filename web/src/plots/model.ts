/** What a plot shows, whatever it is drawn on. */

import type { Points } from "../sim/series.js";

/** Names of colours; a palette has their values. */
export type Ink = "a" | "b" | "text" | "muted" | "grid" | "target" | "band" | `flow${number}`;

export interface Axis {
  /** With its unit: `time, s`. */
  label: string;
  from: number;
  to: number;
  log?: boolean;
}

export type Mark =
  /** `dense`: where there are more points than can be told apart, the mean, and a shade from least to greatest. */
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
  /** Vertical lines, such as drops: at full height while they are few, else as a rug in row `row` from the bottom. */
  | { kind: "rules"; name: string; ink: Ink; x: ArrayLike<number>; row: number }
  /** A value that holds everywhere, such as a target. */
  | { kind: "level"; name: string; ink: Ink; y: number }
  | { kind: "upright"; name: string; ink: Ink; x: number }
  /** A published band along x or y. */
  | { kind: "band"; name: string; ink: Ink; along: "x" | "y"; from: number; to: number; alpha: number };

export interface Panel {
  /** Empty where a plot has one panel. */
  title: string;
  x: Axis;
  y: Axis;
  marks: Mark[];
  /** Whether x is the time of the run, in s: then it has the playhead, and a click goes there. */
  time: boolean;
}

export interface Plot {
  panels: Panel[];
  /** What it says, for those who do not see it. */
  summary: string;
  /** How it is to be read, where that is not plain. */
  note?: string;
  /** Whether its value axis can be logarithmic, and is so unless asked otherwise. */
  log: { offered: boolean; on: boolean };
}
