/** Drawing surfaces: a canvas, and SVG text. */

export interface Stroke {
  colour: string;
  width?: number;
  dash?: number[];
  alpha?: number;
}

export interface Letters {
  colour: string;
  size?: number;
  anchor?: "start" | "middle" | "end";
  baseline?: "top" | "middle" | "bottom";
  bold?: boolean;
}

export interface Pen {
  polyline(x: ArrayLike<number>, y: ArrayLike<number>, stroke: Stroke): void;
  /** Fills the area between two lines over the same x. */
  area(x: ArrayLike<number>, y0: ArrayLike<number>, y1: ArrayLike<number>, colour: string, alpha: number): void;
  /** Vertical lines from `y0` to `y1`. */
  uprights(x: ArrayLike<number>, y0: number, y1: number, stroke: Stroke): void;
  dots(x: ArrayLike<number>, y: ArrayLike<number>, radius: number, colour: string): void;
  rect(x: number, y: number, width: number, height: number, colour: string, alpha?: number): void;
  text(x: number, y: number, text: string, letters: Letters): void;
  /** Calls `draw` with a clipping rectangle. */
  within(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  private stroke({ colour, width = 1, dash = [], alpha = 1 }: Stroke): void {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.globalAlpha = alpha;
    context.lineJoin = "bevel";
    context.stroke();
    context.globalAlpha = 1;
  }

  polyline(x: ArrayLike<number>, y: ArrayLike<number>, stroke: Stroke): void {
    const { context } = this;
    context.beginPath();
    let down = false;
    for (let i = 0; i < x.length; i++) {
      const value = y[i]!;
      if (Number.isNaN(value)) {
        down = false;
        continue;
      }
      if (down) context.lineTo(x[i]!, value);
      else context.moveTo(x[i]!, value);
      down = true;
    }
    this.stroke(stroke);
  }

  area(x: ArrayLike<number>, y0: ArrayLike<number>, y1: ArrayLike<number>, colour: string, alpha: number): void {
    const { context } = this;
    context.beginPath();
    for (let i = 0; i < x.length; i++) context.lineTo(x[i]!, y0[i]!);
    for (let i = x.length - 1; i >= 0; i--) context.lineTo(x[i]!, y1[i]!);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    context.fill();
    context.globalAlpha = 1;
  }

  uprights(x: ArrayLike<number>, y0: number, y1: number, stroke: Stroke): void {
    this.context.beginPath();
    for (let i = 0; i < x.length; i++) {
      this.context.moveTo(x[i]!, y0);
      this.context.lineTo(x[i]!, y1);
    }
    this.stroke(stroke);
  }

  dots(x: ArrayLike<number>, y: ArrayLike<number>, radius: number, colour: string): void {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < x.length; i++) {
      context.moveTo(x[i]! + radius, y[i]!);
      context.arc(x[i]!, y[i]!, radius, 0, 2 * Math.PI);
    }
    context.fill();
  }

  rect(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, letters: Letters): void {
    const { colour, size = 11, anchor = "start", baseline = "middle", bold = false } = letters;
    const { context } = this;
    context.fillStyle = colour;
    context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.textBaseline = baseline;
    context.fillText(text, x, y);
  }

  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }
}

/** Escapes text for SVG and attributes. */
export const escape = (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`);

const short = (value: number): string => value.toFixed(2).replace(/\.?0+$/, "");

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  private attributes({ colour, width = 1, dash = [], alpha = 1 }: Stroke): string {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const opacity = alpha < 1 ? ` stroke-opacity="${short(alpha)}"` : "";
    return `fill="none" stroke="${escape(colour)}" stroke-width="${width}" stroke-linejoin="round"${dashes}${opacity}`;
  }

  polyline(x: ArrayLike<number>, y: ArrayLike<number>, stroke: Stroke): void {
    let path = "";
    let down = false;
    for (let i = 0; i < x.length; i++) {
      const value = y[i]!;
      if (Number.isNaN(value)) {
        down = false;
        continue;
      }
      path += `${down ? "L" : "M"}${short(x[i]!)} ${short(value)}`;
      down = true;
    }
    if (path) this.parts.push(`<path d="${path}" ${this.attributes(stroke)}/>`);
  }

  area(x: ArrayLike<number>, y0: ArrayLike<number>, y1: ArrayLike<number>, colour: string, alpha: number): void {
    const there = Array.from(x, (at, i) => `${short(at)} ${short(y0[i]!)}`);
    const back = Array.from(x, (at, i) => `${short(at)} ${short(y1[i]!)}`).reverse();
    const path = [...there, ...back].join("L");
    if (path) this.parts.push(`<path d="M${path}Z" fill="${escape(colour)}" fill-opacity="${short(alpha)}"/>`);
  }

  uprights(x: ArrayLike<number>, y0: number, y1: number, stroke: Stroke): void {
    const path = Array.from(x, at => `M${short(at)} ${short(y0)}V${short(y1)}`).join("");
    if (path) this.parts.push(`<path d="${path}" ${this.attributes(stroke)}/>`);
  }

  dots(x: ArrayLike<number>, y: ArrayLike<number>, radius: number, colour: string): void {
    const circles = Array.from(x, (at, i) => `<circle cx="${short(at)}" cy="${short(y[i]!)}" r="${radius}"/>`);
    this.parts.push(`<g fill="${escape(colour)}">${circles.join("")}</g>`);
  }

  rect(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    const [w, t] = [Math.max(0, width), Math.max(0, height)];
    const place = `x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(t)}"`;
    this.parts.push(`<rect ${place} fill="${escape(colour)}" fill-opacity="${short(alpha)}"/>`);
  }

  text(x: number, y: number, text: string, letters: Letters): void {
    const { colour, size = 11, anchor = "start", baseline = "middle", bold = false } = letters;
    const shift = { top: 0.8, middle: 0.35, bottom: -0.2 }[baseline] * size;
    const weight = bold ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y + shift)}" font-size="${size}" text-anchor="${anchor}"${weight} ` +
        `fill="${escape(colour)}">${escape(text)}</text>`,
    );
  }

  within(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${this.clips++}`;
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.parts.push(`<clipPath id="${id}"><rect ${place}/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  toString(width: number, height: number, background: string, title: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="${escape(FONT)}"><title>${escape(title)}</title>` +
      `<rect width="${width}" height="${height}" fill="${escape(background)}"/>${this.parts.join("")}</svg>\n`
    );
  }
}
