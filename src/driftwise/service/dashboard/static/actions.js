"use strict";
// What an admin key can do on the page of a deployment: pause and resume, arms, policy. Each asks first.

const admin = { allowed: false };

/** Whether this key may administer the deployment; asked once, and again when another key is typed. */
async function askScopes() {
  const key = sessionStorage.getItem("driftwise-key");
  if (admin.key === key && admin.asked) return;
  const { scopes, deployments } = await get("v1/caller");
  Object.assign(admin, { key, asked: true, allowed: scopes.includes("admin") && (deployments === null || deployments.includes(NAME)) });
}

/** Ask, do it, and say what came of it; where events were dropped, ask whether those that are kept will do. */
async function perform(question, method, path, content) {
  setText(at("done"), ""); // of what was done before
  if (!(await confirmed(question))) return false;
  setText(at("refusal"), "");
  setText(at("done"), "Working…");
  at("actions").classList.add("busy");
  try {
    await send(method, `v1/${pathOf(NAME)}${path}`, content);
    setText(at("done"), "Done.");
    return true;
  } catch (error) {
    setText(at("done"), "");
    setText(at("refusal"), error instanceof RequestError ? `${error.message}.` : "The service does not answer; look whether it was done before you try again.");
    if (error.code !== "events-dropped") return false;
    return perform(`${error.message}. Begin with the events that are kept?`, method, path, { ...content, allow_partial_replay: true });
  } finally {
    at("actions").classList.remove("busy");
    refresh();
  }
}

/** Ask in a dialog; the keyboard starts at Cancel. */
function confirmed(question) {
  const dialog = at("confirm");
  setText(at("question"), question);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
at("yes").addEventListener("click", () => at("confirm").close("yes"));
at("no").addEventListener("click", () => at("confirm").close(""));

// What an arm of some kinds of problems may bring.
const OPTIONS = { contextual: '{"features": [1, 0]}', "contextual-knapsack": '{"features": [1, 0]}', restless: '{"arm_type": "..."}' };
let armsNow = [];

/** Show what can be done with this deployment; nothing for a key that may not. */
function actions(described) {
  const retired = described.status === "retired";
  at("actions").hidden = !admin.allowed || retired;
  at("pause").hidden = described.status !== "running";
  at("resume").hidden = described.status !== "paused";
  armsNow = described.arms ?? [];
  at("add-arm").hidden = at("retire-arm").hidden = !armsNow.length;
  at("options-field").hidden = !(described.spec.problem.kind in OPTIONS);
  at("options").placeholder = OPTIONS[described.spec.problem.kind] ?? "";
  const names = armsNow.map(String);
  const select = at("old-arm");
  if (names.join("\n") !== [...select.options].map((each) => each.text).join("\n"))
    select.replaceChildren(...names.map((name, i) => new Option(name, i)));
}

at("pause").addEventListener("click", () => perform(`Pause ${NAME}? Requests for decisions are refused until it is resumed; outcomes are still accepted.`, "POST", "/pause"));
at("resume").addEventListener("click", () => perform(`Resume ${NAME}?`, "POST", "/resume"));

at("add-arm").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("new-arm").value.trim();
  const name = armsNow.every((arm) => typeof arm === "number") && text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
  let options = {};
  try {
    options = at("options-field").hidden || !at("options").value.trim() ? {} : JSON.parse(at("options").value);
  } catch {
    setText(at("refusal"), `The options are not JSON: ${at("options").value}`);
    return;
  }
  if (await perform(`Add the arm ${text} to ${NAME}? It starts without history.`, "POST", "/arms", { ...options, name })) at("new-arm").value = at("options").value = "";
});

at("retire-arm").addEventListener("submit", (event) => {
  event.preventDefault();
  const arm = armsNow[at("old-arm").value];
  perform(`Remove the arm ${arm} from ${NAME}? It is never chosen again.`, "POST", "/arms/retire", { name: arm });
});

at("change-policy").addEventListener("submit", async (event) => {
  event.preventDefault();
  const policy = at("new-policy").value.trim();
  const question = `Change the policy of ${NAME} to ${policy}? The journal is replayed into it beside the deployment, which goes on deciding meanwhile.`;
  if (await perform(question, "PATCH", "", { policy })) at("new-policy").value = "";
});

// ---- shadow policies, which choose without being obeyed ----

/** A row for each: what it would have earned, and how much more that is than what was earned; or why nobody knows. */
function shadows(described) {
  const all = described.shadows ?? [];
  at("shadows-part").hidden = !all.length;
  if (!at("shadows").contains(document.activeElement)) at("shadows").replaceChildren(...all.map(shadowRow));
}

/** A mean with the ends of its interval, as `estimate` takes it. */
const meanOf = (each) => each && { mean: each.mean, low: each.ci95?.[0] ?? null, high: each.ci95?.[1] ?? null };

function shadowRow({ policy, estimate: value, difference, n, why }) {
  const name = element("td", "", element("code", "", policy), why ? element("span", "note", why) : "");
  const cells = [name, estimate(meanOf(value)), estimate(meanOf(difference), true), element("td", "", count(n))];
  if (!admin.allowed) return element("tr", "", ...cells, element("td"));
  const button = element("button", "", "Promote");
  button.type = "button";
  button.addEventListener("click", () => perform(`Promote ${policy}? It decides for ${NAME} from then on.`, "POST", "/promote", { policy }));
  return element("tr", "", ...cells, element("td", "", button));
}
