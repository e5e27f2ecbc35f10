"use strict";
// All deployments, a row each.

const PAGE = 25;
let shown = PAGE;

async function draw() {
  const { deployments, next } = await get(`/v1/deployments?limit=${Math.min(1000, shown)}`);
  // Statistics only of deployments in memory: opening the list must not load the others.
  const awake = deployments.filter((each) => each.round !== null && each.round !== undefined);
  const answers = await Promise.allSettled(awake.map(({ name }) => getStatistics(name)));
  const statistics = new Map(awake.map(({ name }, index) => [name, answers[index]]));
  at("content").hidden = deployments.length === 0;
  at("empty").hidden = deployments.length > 0;
  at("more").hidden = next === null || shown >= 1000;
  at("rows").replaceChildren(...deployments.map((each) => row(each, statistics.get(each.name))));
}

/** One deployment; where its statistics cannot be read, the reason takes the place of the numbers. */
function row(deployment, statistics) {
  const monitor = statistics?.value?.monitor;
  const link = element("a", "", deployment.name);
  link.href = `/deployments/${encodeURIComponent(deployment.name)}`;
  const status = deployment.status === "running" ? "" : `${deployment.status}, `;
  const first = element("td", "", link, element("span", "note", status + deployment.policy));
  if (statistics?.status === "rejected") {
    const reason = element("td", "stale", `cannot be read: ${statistics.reason.message}`);
    reason.colSpan = 5;
    return element("tr", "", first, reason);
  }
  const shares = element("td");
  if (monitor?.labels.length) shares.append(...now(monitor));
  const cells = [
    element("td", "", monitor ? number(monitor.decisions_per_second, 2) : "asleep"),
    element("td", "wide", count(monitor?.n_decided)),
    element("td", "wide", count(deployment.n_pending)),
    element("td", "", count(monitor?.changes.length)),
  ];
  return element("tr", "", first, shares, ...cells);
}

/** A bar of shares and the name of who leads. */
function now(monitor) {
  const sums = chosenRecently(monitor);
  const lead = sums.indexOf(Math.max(...sums));
  const all = sums.reduce((a, b) => a + b, 0);
  const words = all ? `${monitor.labels[lead]} ${percent(sums[lead] / all)}` : "";
  return [split(colourGroups(monitor), sums), element("span", "note", words)];
}

at("further").addEventListener("click", () => {
  shown += PAGE;
  draw();
});
poll(draw);
