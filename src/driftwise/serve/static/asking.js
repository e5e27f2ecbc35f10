"use strict";
// What both pages share: asking the service again and again, and saying things safely. Text only ever becomes text.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]; // after Okabe & Ito
const EVERY_MS = 2000;
const SLOWEST_MS = 30000;

const at = (id) => document.getElementById(id);

/** An element with a class and what is in it: text or elements. */
function made(tag, className = "", ...inside) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

/** Text that is set only when it is new, so that a selection survives. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const swatch = (colour) => {
  const mark = made("span", "swatch");
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

class Refused extends Error {
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

/** What an endpoint answers. The key, where one is needed, is forgotten with the tab. */
async function ask(path) {
  const key = sessionStorage.getItem("driftwise-key");
  const answer = await fetch(path, { headers: key ? { authorization: `Bearer ${key}` } : {} });
  const told = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, told.error);
  return told;
}

/** Ask and draw for as long as the page is looked at; more slowly while the service is silent, or slow. */
function keepAsking(look) {
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
      await look();
      at("door").hidden = true;
      at("news").classList.remove("stale");
      say(at("news"), `Live: as of ${clock(Date.now() / 1000)}`);
      pause = Math.min(SLOWEST_MS, Math.max(EVERY_MS, 10 * (performance.now() - began)));
    } catch (error) {
      again = told(error);
      pause = Math.min(SLOWEST_MS, 2 * pause);
    }
    underway = false;
    if (again) timer = setTimeout(once, pause);
  }
  function told(error) {
    at("news").classList.add("stale");
    const closed = error instanceof Refused && (error.status === 401 || error.status === 403);
    const key = sessionStorage.getItem("driftwise-key");
    if (closed) at("content").hidden = true;
    // Another key helps where this one is wrong or too weak; without a key, 403 is about how the page was reached.
    at("door").hidden = !closed || (error.status === 403 && !key);
    const silent = "The service does not answer; what is shown may be old. Asking again…";
    const refused = error.status === 401 && !key ? "Please sign in." : `${error.message}.`;
    say(at("news"), error instanceof Refused ? refused : silent);
    if (!(error instanceof Refused) && !(error instanceof TypeError)) console.error(error);
    return !closed && !(error instanceof Refused && error.status === 404);
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

/** Of every label how often it was chosen in the last stretches, as many as a window has. */
function chosenLately(monitor) {
  const from = monitor.stretches.at(-1)?.at - monitor.window_seconds + monitor.width_seconds / 2;
  const sums = monitor.labels.map(() => 0);
  for (const each of monitor.stretches)
    if (each.at >= from) each.decided.forEach((n, place) => (sums[place] += n));
  return sums;
}

/** At most seven colours: the labels chosen most keep one each, in their own order; the rest share the last. */
function coloured(monitor) {
  const totals = monitor.labels.map(() => 0);
  for (const each of monitor.stretches) each.decided.forEach((n, place) => (totals[place] += n));
  const order = totals.map((_, place) => place).sort((a, b) => totals[b] - totals[a] || a - b);
  const few = monitor.labels.length <= COLOURS.length;
  const shown = (few ? order : order.slice(0, COLOURS.length - 1)).sort((a, b) => a - b);
  const groups = shown.map((place, i) => ({ label: monitor.labels[place], places: [place], colour: COLOURS[i] }));
  const rest = order.filter((place) => !shown.includes(place));
  if (rest.length) groups.push({ label: `${rest.length} others`, places: rest, colour: COLOURS.at(-1) });
  return groups;
}

/** A bar of shares. */
function split(groups, sums) {
  const bar = made("span", "split");
  const all = sums.reduce((a, b) => a + b, 0);
  for (const group of groups) {
    const part = made("span");
    part.style.background = group.colour;
    part.style.width = `${(100 * group.places.reduce((a, place) => a + sums[place], 0)) / (all || 1)}%`;
    bar.append(part);
  }
  return bar;
}
