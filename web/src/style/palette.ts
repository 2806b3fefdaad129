/**
 * Colours of canvases, which no style sheet reaches. A and B are a blue and an orange of unlike lightness; flows have
 * the bright qualitative scheme of Paul Tol, which differs in lightness too. Both are told apart with any kind of colour
 * blindness, and flows have their numbers wherever there is room.
 */

import type { Ink } from "../plots/model.js";

export type Theme = "light" | "dark";

export interface Palette {
  theme: Theme;
  background: string;
  /** Ground of the queue and the link. */
  track: string;
  text: string;
  muted: string;
  grid: string;
  drop: string;
  mark: string;
  target: string;
  ink(ink: Ink): string;
  flow(flow: number): string;
}

const FLOWS: Record<Theme, string[]> = {
  light: ["#4477aa", "#cc5566", "#228833", "#a98a00", "#2299bb", "#aa3377", "#6b6b6b"],
  dark: ["#6fa8dc", "#ee7788", "#4fbf60", "#d8c24a", "#66ccee", "#d06aa8", "#aaaaaa"],
};

const SIDES = { light: { a: "#0a5bb5", b: "#c04a00" }, dark: { a: "#6db3ff", b: "#ffa057" } };

function palette(theme: Theme, plain: Omit<Palette, "theme" | "ink" | "flow">): Palette {
  const flows = FLOWS[theme];
  const flow = (number: number): string => flows[number % flows.length]!;
  const ink = (name: Ink): string => {
    if (name === "a" || name === "b") return SIDES[theme][name];
    if (name === "band") return theme === "light" ? "#7a5ea8" : "#b79ce0";
    if (name.startsWith("flow")) return flow(Number(name.slice(4)));
    return plain[name as "text" | "muted" | "grid" | "target"];
  };
  return { theme, ...plain, flow, ink };
}

export const PALETTES: Record<Theme, Palette> = {
  light: palette("light", {
    background: "#ffffff",
    track: "#eef0f3",
    text: "#1a1d21",
    muted: "#5b636e",
    grid: "#e3e6ea",
    drop: "#b00020",
    mark: "#7a5ea8",
    target: "#1f7a3d",
  }),
  dark: palette("dark", {
    background: "#171a1f",
    track: "#23272e",
    text: "#e8eaed",
    muted: "#a2abb7",
    grid: "#2e343c",
    drop: "#ff6b7a",
    mark: "#b79ce0",
    target: "#6fd08c",
  }),
};
