"use strict";
// Two deployments or more: which earns more?

const NAMES = [...new Set((query.get("names") ?? "").split(",").filter(Boolean))].slice(0, COLOURS.length);
const SAME_TIME_S = 2; // starts nearer than this are the same

async function draw() {
  const [described, statistics] = await Promise.all([
    Promise.all(NAMES.map((name) => get(`v1/${pathOf(name)}`))),
    sameTime(),
  ]);
  at("content").hidden = false;
  const all = NAMES.map((name, i) => {
    const { monitor } = statistics[i];
    return { name, policy: described[i].policy, monitor, reward: monitor.reward, lift: monitor.lift, colour: COLOURS[i], unit: unitOf(monitor) };
  });
  document.title = `${NAMES.join(", ")} · driftwise`;
  at("legend").replaceChildren(...all.map(({ name, colour }) => element("li", "", swatch(colour), name)));
  life.to = Math.max(...statistics.map((each) => each.computed_at));
  life.from = Math.min(life.to - 10, ...all.flatMap(({ monitor }) => monitor.bins.slice(0, 1).map((bin) => bin.start_at)));
  const drawable = all.some(({ reward }) => reward);
  hideChart("rewards", !drawable);
  if (drawable) drawCompared(all);
  at("rows").replaceChildren(...all.map(row));
  differences(all);
}

/** Statistics of all over the same time: since the last of them has begun. */
async function sameTime() {
  const load = (last) => Promise.all(NAMES.map((name) => getStatistics(name, last)));
  const all = await load(range.last);
  const starts = all.flatMap(({ monitor }) => monitor.bins.slice(0, 1).map((bin) => bin.start_at));
  const [first, last] = [Math.min(...starts), Math.max(...starts)];
  at("same-time").hidden = !(last - first > Math.max(SAME_TIME_S, ...all.map(({ monitor }) => monitor.bin_seconds)));
  if (at("same-time").hidden) return all;
  setText(at("same-time"), `Compared since ${new Date(1000 * last).toLocaleString("en-GB")}, when the last of them began.`);
  return load(Math.max(1, all[0].computed_at - last));
}

const unitOf = (monitor) => ("states" in monitor.tracks ? "arm and round" : "decision");

function row({ name, policy, reward, lift, colour, unit }) {
  const first = element("td", "", swatch(colour), link(name, pathOf(name)), element("span", "note", policy));
  return element("tr", "", first, estimate(reward), estimate(lift, true), element("td", "wide", unit), element("td", "wide", count(reward?.n ?? 0)));
}

/** One chart of all: each has bins of its own, so that times of all are joined. */
function drawCompared(all) {
  const names = all.map(({ name, colour }) => ({ label: name, colour }));
  const points = all.flatMap(({ monitor }, k) => {
    const data = columns(monitor, monitor.bins.map((bin) => ends(bin.reward)), monitor.bins.map((bin) => meanText(bin.reward)), 3);
    return data[0].map((x, i) => ({ x, k, values: [data[1][i], data[2][i], data[3][i]], text: data.words[i] }));
  });
  const times = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const places = new Map(times.map((x, i) => [x, i]));
  const data = [times, ...all.flatMap(() => [0, 1, 2].map(() => Array(times.length).fill(undefined)))]; // undefined: no point here, and no gap
  data.words = times.map(() => all.map(() => "–"));
  for (const { x, k, values, text } of points) {
    values.forEach((value, i) => (data[3 * k + i + 1][places.get(x)] = value));
    if (text) data.words[places.get(x)][k] = text;
  }
  for (let i = 1; i < times.length; i++) all.forEach((_, k) => data.words[i][k] === "–" && data[3 * k + 1][i] === undefined && (data.words[i][k] = data.words[i - 1][k]));
  const series = names.flatMap(({ colour }) => [{ stroke: colour, width: 2 }, { width: 0 }, { width: 0 }]);
  const bands = names.map(({ colour }, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: faded(colour) }));
  chart("rewards", JSON.stringify(names), data, { title: "Reward over time of each deployment, with 95% intervals", names, series, bands, marks: [] });
}

/** The difference of two means, with the interval that follows from theirs (Zou and Donner's method). */
function difference(a, b) {
  const mean = a.mean - b.mean;
  if (a.low === null || b.low === null) return { mean, low: null, high: null };
  return { mean, low: mean - Math.hypot(a.mean - a.low, b.high - b.mean), high: mean + Math.hypot(a.high - a.mean, b.mean - b.low) };
}

function sentence(one, other, { mean, low, high }) {
  if (low === null) return `${one.name} and ${other.name}: too few rewards to compare.`;
  const width = high - low;
  const words = `${one.name} earns ${precise(mean, width)} more per ${one.unit} than ${other.name} (95%: ${precise(low, width)} to ${precise(high, width)})`;
  return low > 0 ? `${words}.` : `No clear difference yet: ${words}.`;
}

/** The best against each of the others, in words; then every pair. */
function differences(all) {
  const ranked = all.filter(({ reward }) => reward).sort((a, b) => b.reward.mean - a.reward.mean);
  const comparable = ranked.every(({ unit }) => unit === ranked[0].unit);
  const words = !comparable
    ? ["Rewards per decision and per arm and round cannot be compared."]
    : ranked.length < 2
      ? ["There is nothing to compare yet: fewer than two of these have rewards in this time."]
      : ranked.slice(1).map((other) => sentence(ranked[0], other, difference(ranked[0].reward, other.reward)));
  const nodes = words.map((text) => element("p", "lead", text));
  if (at("answer").textContent !== words.join("")) at("answer").replaceChildren(...nodes);
  const pairs = comparable ? ranked.flatMap((one, i) => ranked.slice(i + 1).map((other) => [one, other])) : [];
  at("pairs-part").hidden = pairs.length < 2;
  at("pairs").replaceChildren(
    ...pairs.map(([one, other]) => {
      const each = difference(one.reward, other.reward);
      const clear = each.low === null ? "too few" : each.low > 0 ? "yes" : "no";
      return element("tr", "", element("td", "", `${one.name} − ${other.name}`), estimate(each, true), element("td", "", clear));
    }),
  );
}

if (NAMES.length < 2) {
  setText(at("news"), "Choose two deployments or more in the list.");
} else {
  const refresh = poll(draw);
  rangeButtons(() => {
    resetZoom();
    refresh();
  });
}
