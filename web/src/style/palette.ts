/**
 * Colours of canvases, which style sheets do not reach. A and B are a blue and an orange of different lightness. The
 * seven flow colours start from Okabe and Ito's and are adjusted so that all pairs differ with every kind of colour
 * blindness (`test/palette.test.ts`); flows also show their number if there is room.
 */

import type { Ink } from "../plots/model.js";

export type Theme = "light" | "dark";

export interface Palette {
  theme: Theme;
  background: string;
  /** Background of the queue and the link. */
  track: string;
  text: string;
  muted: string;
  grid: string;
  drop: string;
  mark: string;
  target: string;
  ink(ink: Ink): string;
  flow(flow: number): string;
  /** Text colour on a flow's colour. */
  onFlow(flow: number): string;
}

/** Relative luminance of a colour as `#rrggbb` (WCAG 2). */
export function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const FLOWS: Record<Theme, string[]> = {
  light: ["#059def", "#dc7e2a", "#096c51", "#5f5288", "#9c2400", "#c989a5", "#231812"],
  dark: ["#1b91f7", "#ffb500", "#6efdcd", "#e23900", "#c4d1ff", "#c53d97", "#9c8e6a"],
};

const SIDES = { light: { a: "#0a5bb5", b: "#c04a00" }, dark: { a: "#6db3ff", b: "#ffa057" } };

function palette(theme: Theme, plain: Omit<Palette, "theme" | "ink" | "flow" | "onFlow">): Palette {
  const flows = FLOWS[theme];
  const flow = (number: number): string => flows[number % flows.length]!;
  const onFlow = (number: number): string => (luminance(flow(number)) > 0.18 ? "#111111" : "#ffffff");
  const ink = (name: Ink): string => {
    if (name === "a" || name === "b") return SIDES[theme][name];
    if (name === "band") return theme === "light" ? "#7a5ea8" : "#b79ce0";
    if (name.startsWith("flow")) return flow(Number(name.slice(4)));
    return plain[name as "text" | "muted" | "grid" | "target"];
  };
  return { theme, ...plain, flow, onFlow, ink };
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
