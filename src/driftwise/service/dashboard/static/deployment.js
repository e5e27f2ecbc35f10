"use strict";
// One deployment: what it does, what it earns, what has changed.

const NAME = decodeURIComponent(HERE[1]);
const BASE = `v1/${pathOf(NAME)}`;
const DECISIONS_EVERY = 3; // loads of the page for one of its recent decisions

let known = new Map(); // what the policy knows of each arm
let refreshing = false;
let loads = 0;

/** Ask for the policy's summary without waiting for it: the first one may have to be compiled. */
async function refreshKnown() {
  if (refreshing) return;
  refreshing = true;
  try {
    const { arms } = await get(`${BASE}/summary`);
    known = new Map(arms.map((each) => [String(each.arm), each]));
  } catch {
    // the statistics say why, if they fail too
  } finally {
    refreshing = false;
  }
}

async function draw() {
  refreshKnown();
  const [described, statistics] = await Promise.all([get(BASE), getStatistics(NAME, range.last), askScopes()]);
  const { monitor } = statistics;
  const groups = colourGroups(monitor);
  const colours = new Map(groups.flatMap(({ places, colour }) => places.map((p) => [monitor.labels[p], colour])));
  const restless = "states" in monitor.tracks;
  at("content").hidden = false;
  document.title = `${described.name} · driftwise`;
  setText(at("name"), described.name);
  setText(at("status"), described.status);
  setText(at("policy"), described.policy);
  replayLine(described.replay);
  tiles(statistics, restless);
  at("legend").replaceChildren(...groups.map(({ label, colour }) => element("li", "", swatch(colour), label)));
  drawCharts(described, statistics, groups, colours, restless);
  if (restless) activated(monitor, colours);
  else arms(monitor, colours, described.spec.problem.reward_range ?? null);
  knowledge(colours, restless);
  neverChosen(statistics.never_chosen);
  changes(monitor, colours, restless);
  delays(monitor, statistics.reward_window);
  budgets(statistics.details.budgets, monitor);
  actions(described);
  shadows(described);
  if (loads++ % DECISIONS_EVERY === 0) recentDecisions((await get(`${BASE}/decisions?limit=10`)).decisions);
}

function drawCharts(described, statistics, groups, colours, restless) {
  const { monitor } = statistics;
  life.from = monitor.bins[0]?.start_at ?? statistics.computed_at - (range.last ?? 60);
  life.to = Math.max(statistics.computed_at, life.from + 10);
  life.marks = [
    ...monitor.changes.map((each) => ({ at: each.detected_at, colour: colours.get(each.arm) ?? null })),
    ...monitor.alarms.detected_at.map((when) => ({ at: when, colour: null })),
  ];
  const drawable = groups.length > 0 && monitor.bins.length > 0;
  setText(at("about-allocation"), restless ? "Share of activations." : "Share of decisions. Triangles: changes that were detected, with their number.");
  hideChart("allocation", !drawable);
  hideChart("rewards", !drawable);
  hideChart("rate", !monitor.bins.length);
  at("no-rate").hidden = monitor.bins.length > 0;
  at("no-allocation").hidden = drawable;
  const early = monitor.n_decided ? "No decisions in this time." : "No decisions yet.";
  setText(at("no-allocation"), monitor.bins.length ? "Decisions are points and not arms: there is nothing to draw." : early);
  setText(at("no-rate"), early);
  if (drawable) {
    drawAllocation(monitor, groups);
    if (restless) drawSlotReward(monitor);
    else drawRewards(monitor, groups, described.spec.problem.reward_range ?? null);
  }
  at("states-part").hidden = !(restless && drawable);
  if (restless && drawable) drawStates(monitor);
  if (monitor.bins.length) drawRate(monitor);
  floor(monitor);
}

/** A replay beside the deployment: what for, and how far it is. */
function replayLine(replay) {
  at("replay").hidden = !replay;
  if (!replay) return;
  const { why, done, total, seconds_left: left } = replay;
  at("replayed").max = total || 1;
  at("replayed").value = done ?? 0;
  setText(at("about-replay"), `Replay (${why}): ${count(done)} of ${count(total)} events${left ? `, about ${span(left)} left` : ""}`);
}

function tiles({ monitor, n_pending }, restless) {
  const unit = restless ? "of an arm a round" : "of a decision";
  const text = (each, signed = false) => estimate(each, signed).textContent;
  const items = [
    [`reward ${unit} (95% interval)`, text(monitor.reward)],
    ["lift: more than arms chosen at random would earn, by propensities (95% interval)", text(monitor.lift, true)],
    ["decisions a second, over a minute", number(monitor.decisions_per_second, 2)],
    ["decisions", count(monitor.n_decided)],
    ["wait for their outcome", count(n_pending)],
    ["outcomes came", count(monitor.n_learned)],
    ["did not come in time", count(monitor.n_defaulted)],
    ["least propensity so far", number(monitor.propensity_floor)],
    ["changes detected", count(monitor.changes.length)],
  ];
  const list = at("tiles");
  if (list.children.length !== items.length)
    list.replaceChildren(...items.map(([what], i) => element("div", i < 2 ? "double" : "", element("dt", "", what), element("dd"))));
  items.forEach(([what, value], i) => {
    setText(list.children[i].firstChild, what);
    setText(list.children[i].lastChild, value);
  });
}

at("open").addEventListener("submit", (event) => {
  event.preventDefault();
  location.href = new URL(`${pathOf(NAME)}/decisions/${at("id").value}`, ROOT);
});
const refresh = poll(draw);
rangeButtons(() => {
  resetZoom();
  refresh();
});
