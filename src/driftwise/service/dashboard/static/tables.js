"use strict";
// Tables and lists on the page of a deployment.

const MAX_ROWS = 50;
const MAX_ACTIVATED = 20; // of restless arms there are many
const MAX_NEVER = 10;

const ARMS_HEAD = ["arm", "chosen recently", "recent mean reward", "95% interval", "from", "last 1000 of all"];
const WIDE = ["95% interval", "from", "last 1000 of all"]; // not on phones: the interval is beside the mean in words
const ACTIVATED_HEAD = ["arm", "activated recently, of all decisions", "activated in all", "of all decisions"];

/** The head of the table of arms, and how many of them are left out of it. */
function head(words, all, most) {
  const cells = words.map((word) => {
    const cell = element("th", WIDE.includes(word) ? "wide" : "", word);
    cell.scope = "col";
    return cell;
  });
  at("arms-head").replaceChildren(element("tr", "", ...cells));
  at("more-arms").hidden = all <= most;
  setText(at("more-arms"), `And ${count(all - most)} more.`);
}

/** What the policy knows of each arm: a row per arm, and a column for each number that it has. */
function knowledge(colours, restless) {
  const all = [...known.values()];
  const between = (arm) => (arm.low === null || arm.high === null ? "–" : `${number(arm.low)} to ${number(arm.high)}`);
  const columns = [
    ["estimate", (arm) => arm.estimate, (arm) => number(arm.estimate)],
    ["interval", (arm) => arm.low, between],
    ["index", (arm) => arm.index, (arm) => number(arm.index)],
    [restless ? "transitions that count" : "rewards that count", (arm) => arm.count, (arm) => number(arm.count)],
    ["pending", (arm) => arm.pending, (arm) => count(arm.pending)],
    ...Object.keys(all[0]?.costs ?? {}).map((name) => [`mean ${name}`, (arm) => arm.costs[name], (arm) => number(arm.costs[name])]),
  ].filter(([, value]) => all.some((arm) => value(arm) !== null));
  at("knowledge-part").hidden = !columns.length;
  at("knowledge-head").replaceChildren(element("tr", "", ...["arm", ...columns.map(([word]) => word)].map((word) => {
    const cell = element("th", "", word);
    cell.scope = "col";
    return cell;
  })));
  const rows = all.slice(0, MAX_ROWS).map((arm) => {
    const label = String(arm.arm);
    const name = element("td", "", swatch(colours.get(label) ?? "transparent"), label);
    return element("tr", "", name, ...columns.map(([, , text]) => element("td", "", text(arm))));
  });
  at("knowledge").replaceChildren(...rows);
  at("more-knowledge").hidden = all.length <= MAX_ROWS;
  setText(at("more-knowledge"), `And ${count(all.length - MAX_ROWS)} more.`);
}

/** The arms that were not chosen yet. */
function neverChosen(never) {
  at("never").hidden = !never.length;
  const rest = never.length - MAX_NEVER;
  setText(at("never"), `Never chosen so far: ${never.slice(0, MAX_NEVER).join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}.`);
}

/** How often each restless arm was activated, those most often first. */
function activated(monitor, colours) {
  setText(
    at("about-rewards"),
    `What an arm earns a round, on average over all arms with an outcome, less what activations cost: the mean over the ` +
      `last ${span(monitor.window_seconds)} at each time, with 95% intervals.`,
  );
  const recently = chosenRecently(monitor);
  const from = monitor.bins.at(-1)?.start_at - monitor.window_seconds + monitor.bin_seconds / 2;
  const recent = monitor.bins.reduce((sum, each) => sum + (each.start_at >= from ? each.n_decisions : 0), 0);
  const totals = monitor.labels.map((_, index) => monitor.bins.reduce((sum, each) => sum + each.n_chosen[index], 0));
  const order = totals.map((_, index) => index).sort((a, b) => totals[b] - totals[a] || a - b);
  const rows = order.slice(0, MAX_ACTIVATED).map((index) =>
    element(
      "tr",
      "",
      element("td", "", swatch(colours.get(monitor.labels[index])), monitor.labels[index]),
      element("td", "", recent ? percent(recently[index] / recent) : "–"),
      element("td", "", count(totals[index])),
      element("td", "", monitor.n_decided ? percent(totals[index] / monitor.n_decided) : "–"),
    ),
  );
  head(ACTIVATED_HEAD, order.length, MAX_ACTIVATED);
  showArms(rows);
}

/** The table, or a sentence in its place. */
function showArms(rows) {
  at("arms").replaceChildren(...rows);
  at("arms-table").hidden = !rows.length;
  if (!rows.length) setText(at("about-rewards"), "No rewards yet.");
}

function arms(monitor, colours, range) {
  setText(
    at("about-rewards"),
    `Mean reward of each arm over the last ${span(monitor.window_seconds)} at each time, with 95% intervals. ` +
      "An arm that is not chosen has none.",
  );
  const sums = chosenRecently(monitor);
  const all = sums.reduce((a, b) => a + b, 0);
  const windows = monitor.bins.at(-1)?.window_means ?? [];
  const [low, high] = range ?? reach(windows);
  const rows = monitor.labels.slice(0, MAX_ROWS).map((label, index) => {
    const [n, mean, from, to] = windows[index] ?? [0, null, null, null];
    const overall = monitor.recent[index];
    const whisker = element("td", "wide");
    if (n) whisker.append(interval([mean, from, to].map((x) => (x - low) / (high - low || 1)), colours.get(label)));
    return element(
      "tr",
      "",
      element("td", "", swatch(colours.get(label)), label),
      element("td", "", all ? percent(sums[index] / all) : "–"),
      estimate(n ? { mean, low: from, high: to } : null),
      whisker,
      element("td", "wide", count(n)),
      element("td", "wide", overall.count ? number(overall.mean) : "–"),
    );
  });
  head(ARMS_HEAD, monitor.labels.length, MAX_ROWS);
  showArms(rows);
}

/** The range of all intervals, where rewards have no range of their own. */
function reach(windows) {
  const ends = windows.filter((each) => each !== null).flatMap(([, , from, to]) => [from, to]);
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

function interval([mean, from, to], colour) {
  const line = element("i");
  const dot = element("b");
  line.style.left = `${100 * from}%`;
  line.style.width = `${100 * (to - from)}%`;
  dot.style.left = `${100 * mean}%`;
  line.style.background = dot.style.background = colour;
  return element("span", "whisker", line, dot);
}

function changes(monitor, colours, restless) {
  const alarms = monitor.alarms.count;
  const own = alarms ? ` The policy itself noticed ${count(alarms)}.` : "";
  const none = monitor.changes.length ? "" : " None so far.";
  const how = restless ? "Restless arms change their rewards by themselves: they are not tested." : "Found by a test of each arm's rewards, whatever the policy.";
  setText(at("about-changes"), `${how}${own}${restless ? "" : none}`);
  const rows = [...monitor.changes].reverse().map((each) =>
    element(
      "li",
      "",
      element("span", "", timeText(each.detected_at, [life.from, life.to])),
      element("span", "", swatch(colours.get(each.arm)), `${each.arm} ${each.direction === "up" ? "rose" : "fell"}`),
      element("span", "", `mean ${number(each.mean_before, 2)} before` + (each.mean_after === null ? "" : `, ${number(each.mean_after, 2)} after`)),
    ),
  );
  at("changes").replaceChildren(...rows);
}

function delays(monitor, window) {
  const bins = new Map(monitor.delays.map((each) => [Math.round(Math.log2(1000 * each.seconds_below)), each.count]));
  const all = monitor.n_learned;
  const within = (share) => {
    let sum = 0;
    for (const each of monitor.delays) if ((sum += each.count) >= share * all) return span(each.seconds_below);
    return "–";
  };
  const limit = window === null ? "" : ` After ${span(window)} the default is recorded.`;
  setText(at("about-delays"), all ? `Half within ${within(0.5)}, 95% within ${within(0.95)}.${limit}` : `None came yet.${limit}`);
  const most = Math.max(0, ...bins.values());
  const rows = [];
  for (let power = Math.min(...bins.keys()); power <= Math.max(...bins.keys()); power++) {
    const n = bins.get(power) ?? 0;
    rows.push(element("span", "", `to ${span(2 ** power / 1000)}`), bar(n / most), element("span", "", percent(n / all)));
  }
  at("delays").replaceChildren(...rows);
}

function bar(...shares) {
  const parts = shares.map((share) => {
    const part = element("i");
    part.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
    return part;
  });
  return element("span", "bar", ...parts);
}

function budgets(amounts, monitor) {
  at("budget-part").hidden = amounts === undefined;
  if (amounts === undefined) return;
  const drawable = monitor.bins.some((each) => each.tracks.budgets !== null);
  hideChart("spending", !drawable);
  at("spending-legend").hidden = !drawable;
  if (drawable) drawSpending(monitor);
  const rows = Object.entries(amounts.total).flatMap(([name, total]) => {
    const remaining = amounts.remaining[name] ?? 0;
    const reserved = amounts.reserved[name] ?? 0;
    const words = `${number(remaining, 4)} of ${number(total, 4)}` + (reserved ? `, ${number(reserved)} reserved` : "");
    return [element("span", "", name), bar(remaining / total), element("span", "", words)];
  });
  at("budgets").replaceChildren(...rows);
}

/** The latest decisions, each with a link to its page. */
function recentDecisions(decisions) {
  at("no-decisions").hidden = decisions.length > 0;
  at("decisions-table").hidden = !decisions.length;
  const action = (value) => (value === null ? "nothing" : Array.isArray(value) ? value.map((x) => (typeof x === "number" ? number(x) : x)).join(", ") : String(value));
  const outcome = ({ outcome: result, status }) => (result?.reward !== undefined ? `${number(result.reward)}` : status);
  if (at("decisions").contains(document.activeElement)) return; // a row with the keyboard is not replaced
  at("decisions").replaceChildren(
    ...decisions.map((each) => {
      const id = link(String(each.id), `${pathOf(NAME)}/decisions/${each.id}`);
      id.setAttribute("aria-label", `Decision ${each.id}`);
      const chosen = element("td", "action", action(each.action));
      return element("tr", "", element("td", "", id), element("td", "", timeText(Date.parse(each.decided_at) / 1000, [life.from, life.to])), chosen, element("td", "wide", number(each.propensity)), element("td", "", outcome(each)));
    }),
  );
}

function floor(monitor) {
  const known = monitor.propensity_floor !== null;
  const words = known
    ? `The least probability with which something was chosen in the last ${span(monitor.window_seconds)} at each time. ` +
      "The higher it is, the more the log can tell of other policies."
    : "This policy cannot tell the probabilities of its choices.";
  setText(at("about-floor"), monitor.n_decided ? words : "No decisions yet.");
  const drawable = known && monitor.bins.length > 0;
  hideChart("floor", !drawable);
  if (drawable) drawFloor(monitor);
}

