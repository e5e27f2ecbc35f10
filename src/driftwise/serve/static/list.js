"use strict";
// All deployments, a row each.

const PAGE = 25;
let shown = PAGE;

async function draw() {
  const { deployments, next } = await ask(`/v1/deployments?limit=${Math.min(1000, shown)}`);
  // Only what is at work anyway is asked for its numbers: looking at a list must not wake what sleeps.
  const awake = deployments.filter((each) => each.round !== null && each.round !== undefined);
  const answers = await Promise.allSettled(awake.map(({ name }) => ask(`/v1/deployments/${encodeURIComponent(name)}/statistics`)));
  const statistics = new Map(awake.map(({ name }, place) => [name, answers[place]]));
  at("content").hidden = deployments.length === 0;
  at("empty").hidden = deployments.length > 0;
  at("more").hidden = next === null || shown >= 1000;
  at("rows").replaceChildren(...deployments.map((each) => row(each, statistics.get(each.name))));
}

/** One deployment; where its statistics cannot be read, the reason takes the place of the numbers. */
function row(deployment, statistics) {
  const monitor = statistics?.value?.monitor;
  const link = made("a", "", deployment.name);
  link.href = `/deployments/${encodeURIComponent(deployment.name)}`;
  const status = deployment.status === "running" ? "" : `${deployment.status}, `;
  const first = made("td", "", link, made("span", "note", status + deployment.policy));
  if (statistics?.status === "rejected") {
    const reason = made("td", "stale", `cannot be read: ${statistics.reason.message}`);
    reason.colSpan = 5;
    return made("tr", "", first, reason);
  }
  const shares = made("td");
  if (monitor?.labels.length) shares.append(...now(monitor));
  const cells = [
    made("td", "", monitor ? number(monitor.decisions_per_second, 2) : "asleep"),
    made("td", "wide", count(monitor?.decided)),
    made("td", "wide", count(deployment.pending)),
    made("td", "", count(monitor?.changes.length)),
  ];
  return made("tr", "", first, shares, ...cells);
}

/** A bar of shares and the name of who leads. */
function now(monitor) {
  const sums = chosenLately(monitor);
  const lead = sums.indexOf(Math.max(...sums));
  const all = sums.reduce((a, b) => a + b, 0);
  const words = all ? `${monitor.labels[lead]} ${percent(sums[lead] / all)}` : "";
  return [split(coloured(monitor), sums), made("span", "note", words)];
}

at("further").addEventListener("click", () => {
  shown += PAGE;
  draw();
});
keepAsking(draw);
