/** Modules that `build.mjs` makes. */

declare module "virtual:scenarios" {
  const scenarios: { name: string; text: string }[];
  export default scenarios;
}

declare module "virtual:claims" {
  const claims: {
    id: string;
    paper: string;
    figure: string;
    where: string;
    metric: string;
    unit: string;
    expected: number;
    tight_lo: number;
    tight_hi: number;
    loose_lo: number;
    loose_hi: number;
  }[];
  export default claims;
}

declare module "virtual:worker" {
  /** The worker's bundled source. */
  const source: string;
  export default source;
}

declare module "virtual:styles" {
  const css: string;
  export default css;
}
