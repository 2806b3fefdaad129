// Tables of docs/data: a filter over rows (all words must match) and sorting by a click on a heading.
for (const data of document.querySelectorAll(".data")) {
  const input = data.querySelector("input");
  const count = data.querySelector(".data-bar span");
  const body = data.querySelector("tbody");
  const rows = [...body.rows];
  const texts = rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());

  input.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });

  const headings = [...data.querySelectorAll("th")];
  headings.forEach((heading, column) => {
    heading.tabIndex = 0;
    const sort = () => {
      const descending = heading.ariaSort === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.ariaSort = descending ? "descending" : "ascending";
      const key = (row) => row.cells[column].textContent;
      const order = (a, b) => {
        const [x, y] = [parseFloat(key(a)), parseFloat(key(b))];
        return Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
      };
      body.append(...[...rows].sort((a, b) => (descending ? -1 : 1) * order(a, b)));
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}
