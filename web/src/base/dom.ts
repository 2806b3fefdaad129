/** Builds elements. Text becomes text nodes, so that no name in a scenario can become markup. */

export type Child = Node | string | number | null | undefined | false;

type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };

export type Props = Handlers & {
  class?: string;
  id?: string;
  [attribute: string]: unknown;
};

/** Set as properties: after user input the attributes no longer have an effect. */
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "indeterminate", "selected"]);

function setProps(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (PROPERTIES.has(name)) (element as unknown as Record<string, unknown>)[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setProps(element, props);
  fill(element, ...children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element: Element | DocumentFragment, ...children: Child[]): void {
  const nodes = children.filter(child => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...nodes.map(child => (child instanceof Node ? child : String(child))));
}

/** Sets an element's text only if it differs, to avoid a relayout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Offers bytes as a file download. */
export function download(name: string, content: BlobPart, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
