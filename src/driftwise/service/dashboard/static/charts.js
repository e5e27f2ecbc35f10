"use strict";
// Charts over the life of a deployment, drawn by uPlot. They share one axis of time and one set of dashed lines.

const ALLOCATION_BINS = 3; // shares of the decisions of fewer bins jump about
const life = { from: 0, to: 1, marks: [] };
const charts = new Map();

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faded = (colour) => `${colour}2e`;

/** Dashed lines where a change was detected, in the colour of its arm unless that could not be seen. */
const markChanges = (only) => ({
  hooks: {
    draw: (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.lineWidth = (only ? 2 : 1.25) * devicePixelRatio;
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      for (const { at: when, colour } of life.marks) {
        const x = Math.round(u.valToPos(when, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = only || colour || ink("--ink");
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    },
  },
});

function axes(format) {
  const font = "12px system-ui, sans-serif";
  const look = { stroke: () => ink("--soft"), font, ticks: { show: false } };
  const lines = { stroke: () => ink("--line"), width: 1 };
  const days = () => life.to - life.from > 86400 * 1.5;
  const word = (t) =>
    new Date(1000 * t).toLocaleString("en-GB", days() ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } : { timeStyle: life.to - life.from < 600 ? "medium" : "short" });
  return [
    { ...look, grid: { show: false }, size: 30, space: () => (days() ? 110 : 70), values: (_, ticks) => ticks.map(word) },
    { ...look, grid: lines, size: 46, values: (_, ticks) => ticks.map(format) },
  ];
}

/** Whether there is a single point, of which no line could be drawn. */
const single = (u) => u.data[0].length === 1;

/** Draw a chart, or give it new data. `shape` says what is drawn; while it stays the same, only data changes. */
function chart(id, shape, data, { series, bands = [], range, format = (value) => number(value, 3), marks = [markChanges()] }) {
  const place = at(id);
  let drawn = charts.get(id);
  if (drawn && drawn.shape !== shape) {
    drawn.plot.destroy();
    drawn = undefined;
  }
  if (drawn) {
    drawn.plot.setData(data);
    return;
  }
  const options = {
    width: place.clientWidth,
    height: place.clientHeight,
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: true, range: () => [life.from, life.to] }, y: { range } },
    axes: axes(format),
    series: [{}, ...series.map((each) => ({ points: { show: each.width ? single : false }, ...each }))],
    bands,
    plugins: marks,
  };
  charts.set(id, { shape, plot: new uPlot(options, data, place) });
}

/** Rows of numbers as columns. A pause longer than a window is a gap, not a line across it. */
function columns(monitor, rows, width) {
  const result = Array.from({ length: width + 1 }, () => []);
  const put = (x, values) => [x, ...values].forEach((value, place) => result[place].push(value));
  monitor.bins.forEach((each, i) => {
    const before = monitor.bins[i - 1];
    if (before && each.start_at - before.start_at > monitor.window_seconds) put((each.start_at + before.start_at) / 2, Array(width).fill(null));
    put(Math.min(each.start_at + monitor.bin_seconds / 2, life.to), rows[i]);
  });
  return result;
}

/** Shares of decisions, one upon the other: the whole is drawn first, and what lies under it over it. */
function drawAllocation(monitor, groups) {
  const { bins } = monitor;
  const rows = bins.map((_, last) => {
    const few = bins.slice(Math.max(0, last + 1 - ALLOCATION_BINS), last + 1);
    const sums = groups.map((group) =>
      few.reduce((sum, each) => sum + group.places.reduce((n, place) => n + each.n_chosen[place], 0), 0),
    );
    const all = sums.reduce((a, b) => a + b, 0);
    let under = 0;
    return sums.map((n) => (all ? (under += n) / all : null)).reverse();
  });
  const series = groups.map(({ colour }) => ({ stroke: colour, width: 0, fill: colour })).reverse();
  chart("allocation", JSON.stringify(groups), columns(monitor, rows, groups.length), { series, range: [0, 1], format: percent, marks: [markChanges("#ffffff")] });
}

/** Mean rewards in a window, with their intervals. */
function drawRewards(monitor, groups, range) {
  const alone = groups.filter((group) => group.places.length === 1);
  const rows = monitor.bins.map(({ window_means: means }) =>
    alone.flatMap(({ places: [place] }) => (means[place] === null ? [null, null, null] : means[place].slice(1))),
  );
  const series = alone.flatMap(({ colour }) => [{ stroke: colour, width: 2 }, { width: 0 }, { width: 0 }]);
  const bands = alone.map(({ colour }, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: faded(colour) }));
  const shape = JSON.stringify([alone, range]);
  chart("rewards", shape, columns(monitor, rows, 3 * alone.length), { series, bands, range: range ?? undefined });
}

/** Mean reward of a restless arm in a round, with its interval. */
function drawSlotReward(monitor) {
  const rows = monitor.bins.map(({ tracks: { slot_reward: mean } }) => (mean === null ? [null, null, null] : mean.slice(1)));
  const series = [{ stroke: COLOURS[0], width: 2 }, { width: 0 }, { width: 0 }];
  const bands = [{ series: [3, 2], fill: faded(COLOURS[0]) }];
  chart("rewards", "per arm", columns(monitor, rows, 3), { series, bands });
}

/** Names with their colours, above a chart that is not of arms. */
function legend(id, names) {
  at(id).replaceChildren(...names.map((name, i) => element("li", "", swatch(COLOURS[i % COLOURS.length]), name)));
}

/** Shares of arms by state, one upon the other; states beyond the colours there are share the last. */
function drawStates(monitor) {
  const labels = monitor.tracks.states;
  const names = labels.length > COLOURS.length
    ? [...labels.slice(0, COLOURS.length - 1), `${labels.length - COLOURS.length + 1} others`]
    : labels;
  legend("states-legend", names);
  const rows = monitor.bins.map(({ tracks: { states } }) => {
    if (states === null) return names.map(() => null);
    const all = states.reduce((a, b) => a + b, 0);
    const few = names.map((_, i) => (i < names.length - 1 ? states[i] : states.slice(i).reduce((a, b) => a + b, 0)));
    let under = 0;
    return few.map((n) => (all ? (under += n) / all : null)).reverse();
  });
  const series = names.map((_, i) => ({ stroke: COLOURS[i], width: 0, fill: COLOURS[i] })).reverse();
  chart("states", JSON.stringify(names), columns(monitor, rows, names.length), { series, range: [0, 1], format: percent, marks: [] });
}

/**
 * What is left of each budget, as a share of what there was of it at that time, and the share of rounds to come: a row
 * of the track has the share of rounds first, then for each budget what remained and the total.
 */
function drawSpending(monitor) {
  const names = monitor.tracks.budgets;
  legend("spending-legend", names);
  const rows = monitor.bins.map(({ tracks: { budgets } }) =>
    budgets === null
      ? [...names.map(() => null), null]
      : [...names.map((_, i) => budgets[2 * i + 1] / budgets[2 * i + 2]), budgets[0]],
  );
  const series = names.map((_, i) => ({ stroke: COLOURS[i % COLOURS.length], width: 2 }));
  const pace = { stroke: () => ink("--soft"), width: 1.5, dash: [4, 4] };
  const range = (_, low) => [Math.min(0, low), 1];
  chart("spending", JSON.stringify(names), columns(monitor, rows, names.length + 1), { series: [...series, pace], range, format: percent, marks: [] });
}

/** Decisions a second in each whole bin; 0 where there is no bin. */
function drawRate(monitor) {
  const width = monitor.bin_seconds;
  const points = [];
  let end = null;
  for (const each of monitor.bins) {
    if (end !== null && each.start_at > end + width / 2) points.push([end + width / 2, 0], [each.start_at - width / 2, 0]);
    end = each.start_at + width;
    if (end <= life.to || points.length === 0) points.push([each.start_at + width / 2, each.n_decisions / width]);
  }
  if (end !== null && life.to > end + 2 * width) points.push([end + width / 2, 0], [life.to, 0]);
  const data = [points.map(([x]) => x), points.map(([, y]) => y)];
  const range = (_, low, high) => [0, 1.1 * high || 1];
  chart("rate", "", data, { series: [{ stroke: () => ink("--ink"), width: 1.5, fill: () => ink("--tint") }], range, marks: [] });
}

/** The least propensity of the window that ends with each bin. */
function drawFloor(monitor) {
  const { bins, window_seconds: window } = monitor;
  const rows = bins.map((last) => {
    const floors = bins.filter((each) => each.start_at <= last.start_at && each.start_at > last.start_at - window);
    const known = floors.map((each) => each.propensity_floor).filter((floor) => floor !== null);
    return [known.length ? Math.min(...known) : null];
  });
  const range = (_, low, high) => [0, Math.min(1, 1.25 * high) || 1];
  chart("floor", "", columns(monitor, rows, 1), { series: [{ stroke: () => ink("--ink"), width: 1.5 }], range, marks: [] });
}

/** Charts as wide as their places, in the colours of the hour. */
function fit() {
  for (const [id, { plot }] of charts) {
    const { clientWidth: width, clientHeight: height } = at(id);
    if (width && (width !== plot.width || height !== plot.height)) plot.setSize({ width, height });
    else plot.redraw(false, true);
  }
}
addEventListener("resize", fit);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fit);
