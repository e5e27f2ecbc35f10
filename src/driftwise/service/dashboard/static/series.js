"use strict";
// What the charts of a deployment show.

const ALLOCATION_BINS = 3; // shares of the decisions of fewer bins jump about

const meanText = (mean) => (mean === null ? "–" : `${precise(mean[1], mean[3] - mean[2])} (${precise(mean[2], mean[3] - mean[2])} to ${precise(mean[3], mean[3] - mean[2])})`);
const ends = (mean) => (mean === null ? [null, null, null] : mean.slice(1));

/** Lines with their intervals: a series of means for each name, drawn as a line in a band. */
function drawMeans(id, title, monitor, names, meansOf, y) {
  const means = monitor.bins.map(meansOf);
  const data = columns(monitor, means.map((row) => row.flatMap(ends)), means.map((row) => row.map(meanText)), 3 * names.length);
  const series = names.flatMap(({ colour }) => [{ stroke: colour, width: 2 }, { width: 0 }, { width: 0 }]);
  const bands = names.map(({ colour }, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: faded(colour) }));
  chart(id, JSON.stringify([names, y]), data, { title, names, series, bands, range: y ?? undefined });
}

/** Shares, one upon the other: the whole is drawn first, and what lies under it over it. */
function drawShares(id, title, monitor, names, sumsOf, marks) {
  const sums = monitor.bins.map(sumsOf);
  const all = sums.map((row) => (row === null ? 0 : row.reduce((a, b) => a + b, 0)));
  const rows = sums.map((row, i) => {
    let under = 0;
    return (row ?? names).map((n) => (all[i] ? (under += n) / all[i] : null)).reverse();
  });
  const words = sums.map((row, i) => names.map((_, k) => (all[i] ? percent(row[k] / all[i]) : "–")));
  const series = names.map(({ colour }) => ({ stroke: colour, width: 0, fill: colour })).reverse();
  chart(id, JSON.stringify(names), columns(monitor, rows, words, names.length), { title, names, series, range: [0, 1], format: percent, marks });
}

function drawAllocation(monitor, groups) {
  const { bins } = monitor;
  const sumsOf = (_, last) => {
    const few = bins.slice(Math.max(0, last + 1 - ALLOCATION_BINS), last + 1);
    return groups.map((group) => few.reduce((sum, each) => sum + group.places.reduce((n, place) => n + each.n_chosen[place], 0), 0));
  };
  drawShares("allocation", "Share of choices over time", monitor, groups, sumsOf, [markChanges("#ffffff")]);
}

/** Mean rewards of arms in a window, with their intervals. */
function drawRewards(monitor, groups, y) {
  const alone = groups.filter((group) => group.places.length === 1);
  drawMeans("rewards", "Mean reward of each arm over time, with 95% intervals", monitor, alone, ({ window_means: means }) => alone.map(({ places: [place] }) => means[place]), y);
}

/** Mean reward of a restless arm in a round, with its interval. */
function drawSlotReward(monitor) {
  const names = [{ label: "reward", colour: COLOURS[0] }];
  drawMeans("rewards", "Mean reward of an arm in a round over time, with 95% intervals", monitor, names, ({ tracks: { slot_reward: mean } }) => [mean]);
}

/** Names with their colours, above a chart that is not of arms. */
function legend(id, names) {
  at(id).replaceChildren(...names.map(({ label, colour }) => element("li", "", swatch(colour), label)));
}
const coloured = (labels) => labels.map((label, i) => ({ label, colour: COLOURS[i % COLOURS.length] }));

/** Shares of arms by state; states beyond the colours there are share the last. */
function drawStates(monitor) {
  const labels = monitor.tracks.states;
  const few = labels.length > COLOURS.length ? [...labels.slice(0, COLOURS.length - 1), `${labels.length - COLOURS.length + 1} others`] : labels;
  const names = coloured(few);
  legend("states-legend", names);
  const sumsOf = ({ tracks: { states } }) =>
    states === null ? null : few.map((_, i) => (i < few.length - 1 ? states[i] : states.slice(i).reduce((a, b) => a + b, 0)));
  drawShares("states", "Share of arms in each state over time", monitor, names, sumsOf, []);
}

/**
 * What is left of each budget, as a share of what there was of it at that time, and the share of rounds to come: a row
 * of the track has the share of rounds first, then for each budget what remained and the total.
 */
function drawSpending(monitor) {
  const labels = monitor.tracks.budgets;
  const names = [...coloured(labels), { label: "rounds to come", colour: ink("--soft") }];
  legend("spending-legend", names.slice(0, -1));
  const rows = monitor.bins.map(({ tracks: { budgets } }) =>
    budgets === null ? names.map(() => null) : [...labels.map((_, i) => budgets[2 * i + 1] / budgets[2 * i + 2]), budgets[0]],
  );
  const words = rows.map((row) => row.map((share) => (share === null ? "–" : percent(share))));
  const series = labels.map((_, i) => ({ stroke: COLOURS[i % COLOURS.length], width: 2 }));
  const pace = { stroke: () => ink("--soft"), width: 1.5, dash: [4, 4] };
  const y = (_, low) => [Math.min(0, low), 1];
  chart("spending", JSON.stringify(labels), columns(monitor, rows, words, names.length), { title: "Share of each budget that is left over time", names, series: [...series, pace], range: y, format: percent, marks: [] });
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
  data.words = points.map(([, y]) => [number(y)]);
  const y = (_, low, high) => [0, 1.1 * high || 1];
  const names = [{ label: "a second", colour: ink("--ink") }];
  chart("rate", "", data, { title: "Decisions a second over time", names, series: [{ stroke: () => ink("--ink"), width: 1.5, fill: () => ink("--tint") }], range: y, marks: [] });
}

/** The least propensity of the window that ends with each bin. */
function drawFloor(monitor) {
  const { bins, window_seconds: window } = monitor;
  const rows = bins.map((last) => {
    const floors = bins.filter((each) => each.start_at <= last.start_at && each.start_at > last.start_at - window);
    const known = floors.map((each) => each.propensity_floor).filter((floor) => floor !== null);
    return [known.length ? Math.min(...known) : null];
  });
  const y = (_, low, high) => [0, Math.min(1, 1.25 * high) || 1];
  const names = [{ label: "least propensity", colour: ink("--ink") }];
  const data = columns(monitor, rows, rows.map(([floor]) => [number(floor)]), 1);
  chart("floor", "", data, { title: "Least propensity over time", names, series: [{ stroke: () => ink("--ink"), width: 1.5 }], range: y, marks: [] });
}
