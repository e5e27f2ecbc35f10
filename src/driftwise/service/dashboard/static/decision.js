"use strict";
// One decision: what was chosen, what came of it, and what the policy knew then.

const NAME = decodeURIComponent(HERE[1]);
const ID = HERE[3];
const BASE = `v1/${pathOf(NAME)}/decisions/${ID}`;
let explained = false;

async function draw() {
  document.title = `Decision ${ID} · ${NAME} · driftwise`;
  at("up").replaceChildren(link(NAME, pathOf(NAME)));
  const decision = await get(BASE);
  at("content").hidden = false;
  setText(at("name"), `Decision ${decision.id}`);
  facts(decision);
  if (!explained) {
    try {
      explain(await get(`${BASE}/explain`));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      setText(at("about"), `It cannot be explained: ${error.message}.`);
    }
    explained = true;
  }
  return decision.status === "pending"; // the outcome of others does not change
}

const action = (value) => (value === null ? "nothing" : Array.isArray(value) ? value.join(", ") : String(value));
const time = (text) => (text === null ? "–" : new Date(text).toLocaleString("en-GB"));

function facts(decision) {
  const how = decision.sticky ? "the unit kept its arm" : decision.override ? "chosen outside" : "chosen by the policy";
  const outcome = Object.entries(decision.outcome ?? {});
  const small = outcome.filter(([, value]) => typeof value !== "object" || value === null);
  const items = [
    ["chosen", action(decision.action)],
    ["how", how],
    ["propensity", number(decision.propensity)],
    ["decided", time(decision.decided_at)],
    ["status", decision.status],
    ["outcome came", time(decision.outcome_at)],
    ...small.map(([name, value]) => [`outcome: ${name}`, typeof value === "number" ? number(value) : String(value)]),
    ...(decision.unit === null ? [] : [["unit", decision.unit]]),
  ];
  at("facts").replaceChildren(...items.map(([what, value]) => element("div", "", element("dt", "", what), element("dd", "", value))));
  record("request", Object.entries(decision.request));
  record("outcome", outcome.filter((each) => !small.includes(each)));
}

/** Longer values as JSON, a line for each. */
function record(id, entries) {
  at(`${id}-part`).hidden = !entries.length;
  setText(at(id), entries.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("\n"));
}

/** The arms as the policy saw them; a column for each thing that it knew. */
function explain(explanation) {
  const { arms, window, reproduced } = explanation;
  const looked = window && window.to_round >= window.from_round ? `, looking at rounds ${count(window.from_round)} to ${count(window.to_round)}` : "";
  const same = reproduced ? "A replay chooses the same." : "A replay chooses otherwise.";
  setText(at("about"), `${explanation.policy} decided in round ${count(explanation.round)}${looked}. ${same}`);
  const between = (arm) => (arm.low === null || arm.high === null ? "–" : `${number(arm.low)} to ${number(arm.high)}`);
  const columns = [
    ["state", (arm) => arm.state, (arm) => String(arm.state)],
    ["type", (arm) => arm.arm_type, (arm) => String(arm.arm_type)],
    ["estimate", (arm) => arm.estimate, (arm) => number(arm.estimate)],
    ["interval", (arm) => arm.low, between],
    ["index", (arm) => arm.index, (arm) => number(arm.index)],
    ["share", (arm) => arm.share, (arm) => percent(arm.share)],
    ["rewards that count", (arm) => arm.count, (arm) => number(arm.count)],
    ["pending", (arm) => arm.pending, (arm) => count(arm.pending)],
    ...Object.keys(arms[0]?.costs ?? {}).map((name) => [`mean ${name}`, (arm) => arm.costs[name], (arm) => number(arm.costs[name])]),
    ["why", (arm) => arm.why, (arm) => arm.why],
  ].filter(([, value]) => arms.some((arm) => (value(arm) ?? null) !== null));
  const title = (text) => {
    const cell = element("th", "", text);
    cell.scope = "col";
    return cell;
  };
  at("arms-head").replaceChildren(element("tr", "", title("arm"), ...columns.map(([word]) => title(word))));
  const order = [...arms].sort((a, b) => b.chosen - a.chosen);
  at("arms").replaceChildren(
    ...order.map((arm) => {
      const mark = arm.chosen ? element("span", "status", "chosen") : "";
      const cells = columns.map(([word, , text]) => element("td", word === "why" ? "why" : "", text(arm)));
      return element("tr", arm.chosen ? "chosen" : "", element("td", "", `${arm.arm} `, mark), ...cells);
    }),
  );
  at("arms-part").hidden = !arms.length;
}

at("open").addEventListener("submit", (event) => {
  event.preventDefault();
  location.href = new URL(`${pathOf(NAME)}/decisions/${at("id").value}`, ROOT);
});
poll(draw);
