"use strict";
// What both pages share: requests to the service, again and again, and text that only ever becomes text.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]; // after Okabe & Ito
const EVERY_MS = 2000;
const SLOWEST_MS = 30000;

const at = (id) => document.getElementById(id);

/** An element with a class and what is in it: text or elements. */
function element(tag, className = "", ...inside) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...inside);
  return node;
}

/** Set text only when it is new, so that a selection survives. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const swatch = (colour) => {
  const mark = element("span", "swatch");
  mark.style.background = colour;
  return mark;
};

const TINY = 1e-4; // from here down zeros are not counted by people
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < TINY) return value.toExponential(Math.min(1, digits - 1));
  return value.toLocaleString("en", { maximumSignificantDigits: digits });
}
const count = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));
const percent = (value) => `${Math.round(100 * value)}%`;
const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString("en-GB");

/** Seconds as people say them. */
function span(seconds) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]])
    if (seconds >= size) return `${number(seconds / size, 2)} ${unit}`;
  return `${number(1000 * seconds, 2)} ms`;
}

class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** A link may bring the token; it is kept as a key is, and does not stay in the address. */
const token = new URLSearchParams(location.search).get("token");
if (token) {
  sessionStorage.setItem("driftwise-key", token);
  history.replaceState(null, "", location.pathname);
}

/** The response of an endpoint. The key, where one is needed, is forgotten with the tab. */
async function get(path) {
  const key = sessionStorage.getItem("driftwise-key");
  const response = await fetch(path, { headers: key ? { authorization: `Bearer ${key}` } : {} });
  const body = await response.json();
  if (!response.ok) throw new RequestError(response.status, body.detail);
  return body;
}

/** The statistics of a deployment, with times in seconds since 1970, as charts need them. */
async function getStatistics(name) {
  const statistics = await get(`/v1/deployments/${encodeURIComponent(name)}/statistics`);
  const { monitor } = statistics;
  const seconds = (time) => Date.parse(time) / 1000;
  statistics.computed_at = seconds(statistics.computed_at);
  for (const each of monitor.bins) each.start_at = seconds(each.start_at);
  for (const each of monitor.changes) each.detected_at = seconds(each.detected_at);
  monitor.alarms.detected_at = monitor.alarms.detected_at.map(seconds);
  return statistics;
}

/** Load and draw for as long as the page is visible; more slowly while the service does not answer, or is slow. */
function poll(load) {
  let timer = null;
  let underway = false;
  let pause = EVERY_MS;
  async function once() {
    clearTimeout(timer);
    if (document.hidden || underway) return;
    underway = true;
    const began = performance.now();
    let again = true;
    try {
      await load();
      at("door").hidden = true;
      at("news").classList.remove("stale");
      setText(at("news"), `Live: as of ${clock(Date.now() / 1000)}`);
      pause = Math.min(SLOWEST_MS, Math.max(EVERY_MS, 10 * (performance.now() - began)));
    } catch (error) {
      again = showError(error);
      pause = Math.min(SLOWEST_MS, 2 * pause);
    }
    underway = false;
    if (again) timer = setTimeout(once, pause);
  }
  function showError(error) {
    at("news").classList.add("stale");
    const closed = error instanceof RequestError && (error.status === 401 || error.status === 403);
    const key = sessionStorage.getItem("driftwise-key");
    if (closed) at("content").hidden = true;
    // Another key helps where this one is wrong or too weak; without a key, 403 is about how the page was reached.
    at("door").hidden = !closed || (error.status === 403 && !key);
    const silent = "The service does not answer; the page may be out of date. Trying again…";
    const refused = error.status === 401 && !key ? "Please sign in." : `${error.message}.`;
    setText(at("news"), error instanceof RequestError ? refused : silent);
    if (!(error instanceof RequestError) && !(error instanceof TypeError)) console.error(error);
    return !closed && !(error instanceof RequestError && error.status === 404);
  }
  at("door").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("driftwise-key", at("key").value.trim());
    at("key").value = "";
    once();
  });
  document.addEventListener("visibilitychange", once);
  once();
}

/** How often each label was chosen in the last bins, as many as a window has. */
function chosenRecently(monitor) {
  const from = monitor.bins.at(-1)?.start_at - monitor.window_seconds + monitor.bin_seconds / 2;
  const sums = monitor.labels.map(() => 0);
  for (const each of monitor.bins)
    if (each.start_at >= from) each.n_chosen.forEach((n, index) => (sums[index] += n));
  return sums;
}

/** At most seven colours: the labels chosen most have one each, in their own order; the rest share the last. */
function colourGroups(monitor) {
  const totals = monitor.labels.map(() => 0);
  for (const each of monitor.bins) each.n_chosen.forEach((n, index) => (totals[index] += n));
  const order = totals.map((_, index) => index).sort((a, b) => totals[b] - totals[a] || a - b);
  const few = monitor.labels.length <= COLOURS.length;
  const shown = (few ? order : order.slice(0, COLOURS.length - 1)).sort((a, b) => a - b);
  const groups = shown.map((index, i) => ({ label: monitor.labels[index], places: [index], colour: COLOURS[i] }));
  const rest = order.filter((index) => !shown.includes(index));
  if (rest.length) groups.push({ label: `${rest.length} others`, places: rest, colour: COLOURS.at(-1) });
  return groups;
}

/** A bar of shares. */
function split(groups, sums) {
  const bar = element("span", "split");
  const all = sums.reduce((a, b) => a + b, 0);
  for (const group of groups) {
    const part = element("span");
    part.style.background = group.colour;
    part.style.width = `${(100 * group.places.reduce((a, index) => a + sums[index], 0)) / (all || 1)}%`;
    bar.append(part);
  }
  return bar;
}
