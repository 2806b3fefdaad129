/** Saves all plots as one picture. */

import { download } from "../base/dom.js";
import type { Figure } from "../plots/figure.js";
import { toPng } from "../plots/figure.js";
import type { Palette } from "../style/palette.js";

const [WIDTH, HEIGHT, GAP] = [800, 340, 12];

export async function saveAll(figures: readonly Figure[], palette: Palette): Promise<void> {
  const shown = figures.filter(figure => !figure.element.hidden);
  const parts = shown.map((figure, i) => {
    // Every plot uses the same ids of clipping paths, so prefix them.
    const svg = figure.svg(WIDTH, HEIGHT).replace(/clip(\d+)/g, `clip${i}-$1`);
    return svg.replace("<svg ", `<svg x="${(i % 2) * (WIDTH + GAP)}" y="${Math.floor(i / 2) * (HEIGHT + GAP)}" `);
  });
  const [width, height] = [2 * WIDTH + GAP, Math.ceil(shown.length / 2) * (HEIGHT + GAP)];
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<rect width="${width}" height="${height}" fill="${palette.background}"/>${parts.join("")}</svg>\n`;
  download("sojourn-lab.svg", svg, "image/svg+xml");
  download("sojourn-lab.png", await toPng(svg), "image/png");
}
