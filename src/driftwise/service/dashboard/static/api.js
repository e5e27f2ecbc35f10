"use strict";
// What all pages share: requests to the service, again and again, and text that only ever becomes text.

const ROOT = new URL("..", document.currentScript.src); // of the service, which a proxy may show in a folder
const HERE = location.pathname.slice(ROOT.pathname.length).split("/");

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

/** A link to a page of the service. */
function link(text, path) {
  const node = element("a", "", text);
  node.href = new URL(path, ROOT);
  return node;
}
const pathOf = (name) => `deployments/${encodeURIComponent(name)}`;

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

const MOST_DIGITS = 8; // after the point: what is smaller comes from rounding
/** Numbers with as many digits as their interval deserves; a true minus, and a plus if `signed`. */
function precise(value, width, signed = false) {
  const size = Math.abs(value);
  const digits = Math.max(0, 1 - Math.floor(Math.log10(width)));
  const wide = digits <= MOST_DIGITS;
  if (!wide && size < 10 ** -MOST_DIGITS) return "0";
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const text = wide ? size.toLocaleString("en", form) : number(size, 6);
  const sign = value < 0 && Number(text.replaceAll(",", "")) !== 0 ? "−" : signed ? "+" : "";
  return sign + text;
}

/** A mean with its 95% interval, which may go to a line of its own; a dash where there is none. */
function estimate(each, signed = false) {
  const cell = element("td", "estimate");
  if (!each) cell.append(element("span", "", "–"));
  else if (each.low === null) cell.append(element("span", "", (signed && each.mean > 0 ? "+" : "") + number(each.mean)));
  else {
    const width = each.high - each.low;
    const ends = `${precise(each.low, width)} to ${precise(each.high, width)}`;
    cell.append(element("span", "", precise(each.mean, width, signed)), " ", element("span", "ends", `(${ends})`));
  }
  return cell;
}

class RequestError extends Error {
  constructor(status, text, code) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** A link may bring the token; it is kept as a key is, and does not stay in the address. */
const query = new URLSearchParams(location.search);
if (query.has("token")) {
  sessionStorage.setItem("driftwise-key", query.get("token"));
  setQuery("token", null);
}

/** Change a part of the address, so that a reload or a link shows the same. */
function setQuery(name, value) {
  if (value === null) query.delete(name);
  else query.set(name, value);
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}

/** Ask an endpoint. The key, where one is needed, is forgotten with the tab. */
async function send(method, path, content) {
  const key = sessionStorage.getItem("driftwise-key");
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  if (content !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(new URL(path, ROOT), { method, headers, body: JSON.stringify(content) });
  const body = await response.json();
  if (!response.ok) throw new RequestError(response.status, body.detail, body.code);
  return body;
}
const get = (path) => send("GET", path);

/** The statistics of a deployment, with times in seconds since 1970, as charts need them; of the last seconds, or all. */
async function getStatistics(name, last = null) {
  const statistics = await get(`v1/${pathOf(name)}/statistics${last ? `?last=${Math.ceil(last)}` : ""}`);
  const { monitor } = statistics;
  const seconds = (time) => Date.parse(time) / 1000;
  statistics.computed_at = seconds(statistics.computed_at);
  for (const each of monitor.bins) each.start_at = seconds(each.start_at);
  for (const each of monitor.changes) each.detected_at = seconds(each.detected_at);
  monitor.alarms.detected_at = monitor.alarms.detected_at.map(seconds);
  return statistics;
}

/**
 * Load and draw for as long as the page is visible; more slowly while the service does not answer, or is slow. A load
 * that returns false was the last. The function returned loads at once.
 */
function poll(load) {
  let timer = null;
  let underway = false;
  let pause = EVERY_MS;
  let wanted = false;
  async function once() {
    clearTimeout(timer);
    wanted = underway;
    if (document.hidden || underway) return;
    underway = true;
    const began = performance.now();
    let again = true;
    try {
      again = (await load()) !== false;
      at("door").hidden = true;
      at("news").classList.remove("stale");
      setText(at("news"), `Live: as of ${clock(Date.now() / 1000)}`);
      pause = Math.min(SLOWEST_MS, Math.max(EVERY_MS, 10 * (performance.now() - began)));
    } catch (error) {
      again = showError(error);
      pause = Math.min(SLOWEST_MS, 2 * pause);
    }
    underway = false;
    if (again) timer = setTimeout(once, wanted ? 0 : pause);
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
  return once;
}

/** Buttons for the time that is shown; the seconds, or null for all, are in the address too. */
const RANGES = [["Last hour", 3600], ["Last day", 86400], ["Last week", 604800], ["All", null]];
const range = { last: RANGES.find(([, seconds]) => String(seconds) === query.get("last"))?.[1] ?? null };
function rangeButtons(changed) {
  const buttons = RANGES.map(([text, seconds]) => {
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      range.last = seconds;
      setQuery("last", seconds);
      press();
      changed();
    });
    return button;
  });
  const press = () => buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(RANGES[i][1] === range.last)));
  press();
  at("ranges").prepend(...buttons);
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
