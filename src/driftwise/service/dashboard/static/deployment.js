"use strict";
// One deployment: what it does, what it earns, what has changed.

const NAME = location.pathname.split("/")[2]; // letters, digits and _ . - need no escape
const BASE = `/v1/deployments/${NAME}`;
const MOST_ROWS = 50;
const MOST_ACTIVATED = 20; // of arms that move there are many
const MOST_NEVER = 10;

async function draw() {
  const [described, statistics] = await Promise.all([ask(BASE), ask(`${BASE}/statistics`)]);
  const { monitor } = statistics;
  const groups = coloured(monitor);
  const colours = new Map(groups.flatMap(({ places, colour }) => places.map((p) => [monitor.labels[p], colour])));
  at("content").hidden = false;
  document.title = `${described.name} · driftwise`;
  say(at("name"), described.name);
  say(at("status"), described.status);
  say(at("policy"), described.policy);
  tiles(statistics);
  at("legend").replaceChildren(...groups.map(({ label, colour }) => made("li", "", swatch(colour), label)));

  life.from = monitor.stretches[0]?.at ?? statistics.now - 60;
  life.to = Math.max(statistics.now, life.from + 10);
  life.marks = [
    ...monitor.changes.map((each) => ({ at: each.at, colour: colours.get(each.arm) })),
    ...monitor.alarms.at.map((when) => ({ at: when, colour: null })),
  ];
  const drawable = groups.length > 0;
  const moving = monitor.states.length > 0;
  say(
    at("about-allocation"),
    moving
      ? "Share of activations, over the whole life of the deployment."
      : "Share of decisions, over the whole life of the deployment. Dashed lines: changes that were detected.",
  );
  for (const id of ["allocation", "rewards", "rate"]) at(id).hidden = !(id === "rate" ? monitor.stretches.length : drawable);
  at("no-allocation").hidden = drawable;
  if (drawable) {
    drawAllocation(monitor, groups);
    if (moving) drawMoved(monitor);
    else drawRewards(monitor, groups, described.settings.reward_range);
  }
  at("states-part").hidden = !(moving && drawable);
  if (moving && drawable) drawStates(monitor);
  if (monitor.stretches.length) drawRate(monitor);
  floor(monitor);
  if (moving) activated(monitor, colours);
  else arms(monitor, colours, described.settings.reward_range);
  neverChosen(statistics.never);
  changes(monitor, colours, moving);
  delays(monitor, statistics.reward_window);
  budgets(statistics.budgets, monitor);
}

function tiles({ monitor, pending }) {
  const moving = monitor.states.length > 0;
  const settled = monitor.learned + (moving ? 0 : monitor.defaulted);
  const told = [
    ["decisions a second, over a minute", number(monitor.decisions_per_second, 2)],
    ["decisions", count(monitor.decided)],
    ["wait for their outcome", count(pending)],
    ["outcomes came", count(monitor.learned)],
    ["did not come in time", count(monitor.defaulted)],
    [moving ? "reward of an arm a round, overall" : "reward a decision, overall", number(settled ? monitor.earned / settled : null)],
    ["least propensity so far", number(monitor.propensity_floor)],
    ["changes detected", count(monitor.changes.length)],
  ];
  const list = at("tiles");
  if (list.children.length !== told.length)
    list.replaceChildren(...told.map(([what]) => made("div", "", made("dt", "", what), made("dd"))));
  told.forEach(([, value], i) => say(list.children[i].lastChild, value));
}

const ARMS_HEAD = ["arm", "chosen lately", "mean reward lately", "95% interval", "from", "last 1000 of all"];
const ACTIVATED_HEAD = ["arm", "activated lately, of all decisions", "activated in all", "of all decisions"];

/** The head of the table of arms, and how many of them are left out of it. */
function head(words, all, most) {
  const cells = words.map((word) => made("th", word === "95% interval" ? "wide" : "", word));
  at("arms-head").replaceChildren(made("tr", "", ...cells));
  at("more-arms").hidden = all <= most;
  say(at("more-arms"), `And ${count(all - most)} more.`);
}

/** The arms that were not chosen yet. */
function neverChosen(never) {
  at("never").hidden = !never.length;
  const rest = never.length - MOST_NEVER;
  say(at("never"), `Never chosen so far: ${never.slice(0, MOST_NEVER).join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}.`);
}

/** How often each arm that moves was activated, those most often first. */
function activated(monitor, colours) {
  say(
    at("about-rewards"),
    `What an arm earns a round, on average over all arms that were told of, less what activations cost: the mean over the ` +
      `last ${span(monitor.window_seconds)} at each time, with 95% intervals.`,
  );
  const lately = chosenLately(monitor);
  const from = monitor.stretches.at(-1)?.at - monitor.window_seconds + monitor.width_seconds / 2;
  const recent = monitor.stretches.reduce((sum, each) => sum + (each.at >= from ? each.decisions : 0), 0);
  const totals = monitor.labels.map((_, place) => monitor.stretches.reduce((sum, each) => sum + each.decided[place], 0));
  const order = totals.map((_, place) => place).sort((a, b) => totals[b] - totals[a] || a - b);
  const rows = order.slice(0, MOST_ACTIVATED).map((place) =>
    made(
      "tr",
      "",
      made("td", "", swatch(colours.get(monitor.labels[place])), monitor.labels[place]),
      made("td", "", recent ? percent(lately[place] / recent) : "–"),
      made("td", "", count(totals[place])),
      made("td", "", monitor.decided ? percent(totals[place] / monitor.decided) : "–"),
    ),
  );
  head(ACTIVATED_HEAD, order.length, MOST_ACTIVATED);
  at("arms").replaceChildren(...rows);
}

function arms(monitor, colours, range) {
  say(
    at("about-rewards"),
    `Mean reward of each arm over the last ${span(monitor.window_seconds)} at each time, with 95% intervals. ` +
      "An arm that is not chosen has none.",
  );
  const sums = chosenLately(monitor);
  const all = sums.reduce((a, b) => a + b, 0);
  const windows = monitor.stretches.at(-1)?.window ?? [];
  const [low, high] = range ?? reach(windows);
  const rows = monitor.labels.slice(0, MOST_ROWS).map((label, place) => {
    const [n, mean, from, to] = windows[place] ?? [0, null, null, null];
    const overall = monitor.lately[place];
    const whisker = made("td", "wide");
    if (n) whisker.append(interval([mean, from, to].map((x) => (x - low) / (high - low || 1)), colours.get(label)));
    const words = n ? `${number(mean)} (${number(from, 2)} to ${number(to, 2)})` : "–";
    return made(
      "tr",
      "",
      made("td", "", swatch(colours.get(label)), label),
      made("td", "", all ? percent(sums[place] / all) : "–"),
      made("td", "", words),
      whisker,
      made("td", "", count(n)),
      made("td", "", overall.count ? number(overall.mean) : "–"),
    );
  });
  head(ARMS_HEAD, monitor.labels.length, MOST_ROWS);
  at("arms").replaceChildren(...rows);
}

/** The range of all intervals, where rewards have no range of their own. */
function reach(windows) {
  const ends = windows.filter((each) => each !== null).flatMap(([, , from, to]) => [from, to]);
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

function interval([mean, from, to], colour) {
  const line = made("i");
  const dot = made("b");
  line.style.left = `${100 * from}%`;
  line.style.width = `${100 * (to - from)}%`;
  dot.style.left = `${100 * mean}%`;
  line.style.background = dot.style.background = colour;
  return made("span", "whisker", line, dot);
}

function changes(monitor, colours, moving) {
  const alarms = monitor.alarms.count;
  const own = alarms ? ` The policy itself noticed ${count(alarms)}.` : "";
  const none = monitor.changes.length ? "" : " None so far.";
  const how = moving ? "Arms that move change their rewards by themselves: they are not tested." : "Found by a test of each arm's rewards, whatever the policy.";
  say(at("about-changes"), `${how}${own}${moving ? "" : none}`);
  const rows = [...monitor.changes].reverse().map((each) =>
    made(
      "li",
      "",
      made("span", "", clock(each.at)),
      made("span", "", swatch(colours.get(each.arm)), `${each.arm} ${each.direction === "up" ? "rose" : "fell"}`),
      made("span", "", `mean before ${number(each.mean_before)}`),
    ),
  );
  at("changes").replaceChildren(...rows);
}

function delays(monitor, window) {
  const bins = new Map(monitor.delays.map((each) => [Math.round(Math.log2(1000 * each.seconds_below)), each.count]));
  const all = monitor.learned;
  const within = (share) => {
    let sum = 0;
    for (const each of monitor.delays) if ((sum += each.count) >= share * all) return span(each.seconds_below);
    return "–";
  };
  const limit = window === null ? "" : ` After ${span(window)} the default is recorded.`;
  say(at("about-delays"), all ? `Half within ${within(0.5)}, 95% within ${within(0.95)}.${limit}` : `None came yet.${limit}`);
  const most = Math.max(0, ...bins.values());
  const rows = [];
  for (let power = Math.min(...bins.keys()); power <= Math.max(...bins.keys()); power++) {
    const n = bins.get(power) ?? 0;
    rows.push(made("span", "", `to ${span(2 ** power / 1000)}`), bar(n / most), made("span", "", percent(n / all)));
  }
  at("delays").replaceChildren(...rows);
}

function bar(...shares) {
  const parts = shares.map((share) => {
    const part = made("i");
    part.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
    return part;
  });
  return made("span", "bar", ...parts);
}

function budgets(told, monitor) {
  at("budget-part").hidden = told === null;
  if (told === null) return;
  const drawable = monitor.stretches.some((each) => each.budgets !== null);
  at("spending").hidden = at("spending-legend").hidden = !drawable;
  if (drawable) drawSpending(monitor);
  const rows = Object.entries(told.total).flatMap(([name, total]) => {
    const left = told.left[name] ?? 0;
    const reserved = told.reserved[name] ?? 0;
    const words = `${number(left, 4)} of ${number(total, 4)}` + (reserved ? `, ${number(reserved)} reserved` : "");
    return [made("span", "", name), bar(left / total), made("span", "", words)];
  });
  at("budgets").replaceChildren(...rows);
}

function floor(monitor) {
  const known = monitor.propensity_floor !== null;
  const words = known
    ? `The least probability with which something was chosen in the last ${span(monitor.window_seconds)} at each time. ` +
      "The higher it is, the more the log can tell of other policies."
    : "This policy cannot tell the probabilities of its choices.";
  say(at("about-floor"), monitor.decided ? words : "No decisions yet.");
  at("floor").hidden = !known;
  if (known) drawFloor(monitor);
}

keepAsking(draw);
