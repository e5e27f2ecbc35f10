"use strict";
// All deployments, a row each: what they earn, and those to compare.

const PAGE = 25;
const MAX_COMPARED = COLOURS.length;
const chosen = new Set(); // names to compare
let shown = PAGE;

async function draw() {
  const { deployments, next } = await get(`v1/deployments?limit=${Math.min(1000, shown)}`);
  // Statistics only of deployments in memory: opening the list must not load the others.
  const awake = deployments.filter((each) => each.round !== null && each.round !== undefined);
  const answers = await Promise.allSettled(awake.map(({ name }) => getStatistics(name, range.last)));
  const statistics = new Map(awake.map(({ name }, index) => [name, answers[index]]));
  at("content").hidden = deployments.length === 0;
  at("empty").hidden = deployments.length > 0;
  at("more").hidden = next === null || shown >= 1000;
  const focus = document.activeElement?.dataset?.name; // rows are made anew: the keyboard stays where it was
  at("rows").replaceChildren(...deployments.map((each) => row(each, statistics.get(each.name))));
  if (focus) [...at("rows").querySelectorAll("input")].find((each) => each.dataset.name === focus)?.focus();
}

/** One deployment; where its statistics cannot be read, the reason takes the place of the numbers. */
function row(deployment, statistics) {
  const monitor = statistics?.value?.monitor;
  const status = deployment.status === "running" ? "" : `${deployment.status}, `;
  const first = element("td", "", link(deployment.name, pathOf(deployment.name)), element("span", "note", status + deployment.policy));
  const box = element("td", "pick", checkbox(deployment.name));
  if (statistics?.status === "rejected") {
    const reason = element("td", "stale", `cannot be read: ${statistics.reason.message}`);
    reason.colSpan = 7;
    return element("tr", "", box, first, reason);
  }
  const shares = element("td", "wide");
  if (monitor?.labels.length) shares.append(...now(monitor));
  const cells = [
    estimate(monitor?.reward),
    estimate(monitor?.lift, true),
    shares,
    element("td", "wide", monitor ? number(monitor.decisions_per_second, 2) : "asleep"),
    element("td", "wide", count(monitor?.n_decided)),
    element("td", "wide", count(deployment.n_pending)),
    element("td", "wide", count(monitor?.changes.length)),
  ];
  return element("tr", "", box, first, ...cells);
}

function checkbox(name) {
  const box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(name);
  box.dataset.name = name;
  box.setAttribute("aria-label", `Compare ${name}`);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(name);
    else chosen.delete(name);
    compareButton();
  });
  return box;
}

function compareButton() {
  const n = chosen.size;
  at("compare").disabled = n < 2 || n > MAX_COMPARED;
  setText(at("compare"), n < 2 ? "Compare" : n > MAX_COMPARED ? `At most ${MAX_COMPARED}` : `Compare ${n}`);
}

/** A bar of shares and the name of who leads. */
function now(monitor) {
  const sums = chosenRecently(monitor);
  const lead = sums.indexOf(Math.max(...sums));
  const all = sums.reduce((a, b) => a + b, 0);
  const words = all ? `${monitor.labels[lead]} ${percent(sums[lead] / all)}` : "";
  return [split(colourGroups(monitor), sums), element("span", "note", words)];
}

at("compare").addEventListener("click", () => {
  const names = [...chosen].map(encodeURIComponent).join(",");
  location.href = new URL(`compare?names=${names}${range.last ? `&last=${range.last}` : ""}`, ROOT);
});
at("further").addEventListener("click", () => {
  shown += PAGE;
  refresh();
});
const refresh = poll(draw);
rangeButtons(refresh);
