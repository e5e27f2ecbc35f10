"use strict";
// Charts of time, drawn by uPlot. All on a page share their axis of time, the cursor and the zoom. Each has a table of
// its numbers, for those who cannot see it; arrow keys read its values.

const life = { from: 0, to: 1, marks: [] };
const charts = new Map();
let zoom = null; // a part of `life`
const MARK_PX = 18; // changes nearer than this are drawn as one
const MAX_LINES = 6; // more marks than this have no lines

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faded = (colour) => `${colour}2e`;
const timeRange = () => [(zoom ?? life).from, (zoom ?? life).to];

// ---- detected changes ----

/** Marks in groups that can be told apart: where, how many, and the colour if they have one in common. */
function groupMarks(u) {
  const groups = [];
  for (const { at: when, colour } of [...life.marks].sort((a, b) => a.at - b.at)) {
    const x = u.valToPos(when, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    const last = groups.at(-1);
    if (last && x - last.x < MARK_PX * devicePixelRatio) {
      last.n += 1;
      if (last.colour !== colour) last.colour = null;
    } else groups.push({ x, n: 1, colour });
  }
  return groups;
}

/** A triangle above the chart for each group of changes, with their number; dashed lines if there are few. */
const markChanges = (lineColour) => ({
  hooks: {
    draw: (u) => {
      const { ctx, bbox } = u;
      const px = devicePixelRatio;
      const groups = groupMarks(u);
      ctx.save();
      ctx.lineWidth = 1.25 * px;
      ctx.font = `600 ${10 * px}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      for (const { x, n, colour } of groups) {
        ctx.fillStyle = colour ?? ink("--ink");
        ctx.beginPath();
        ctx.moveTo(x - 4 * px, bbox.top - 8 * px);
        ctx.lineTo(x + 4 * px, bbox.top - 8 * px);
        ctx.lineTo(x, bbox.top - px);
        ctx.fill();
        ctx.fillStyle = ink("--ink");
        if (n > 1) ctx.fillText(n, x + 5 * px, bbox.top - 6 * px);
        if (groups.length > MAX_LINES) continue;
        ctx.strokeStyle = lineColour ?? colour ?? ink("--ink");
        ctx.setLineDash([4 * px, 4 * px]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    },
  },
});

// ---- axes ----

const days = ([from, to]) => to - from > 86400 * 1.5;
function timeText(t, visible = timeRange()) {
  const short = { timeStyle: visible[1] - visible[0] < 600 ? "medium" : "short" };
  const long = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  return new Date(1000 * t).toLocaleString("en-GB", days(visible) ? long : short);
}

function axes(format) {
  const font = "12px system-ui, sans-serif";
  const look = { stroke: () => ink("--soft"), font, ticks: { show: false } };
  const lines = { stroke: () => ink("--line"), width: 1 };
  return [
    { ...look, grid: { show: false }, size: 30, space: () => (days(timeRange()) ? 110 : 70), values: (_, ticks) => ticks.map((t) => timeText(t)) },
    { ...look, grid: lines, size: 46, values: (_, ticks) => ticks.map(format) },
  ];
}

// ---- values at the cursor ----

/** Show the values at the cursor of the chart that is pointed at, or that has the keyboard. */
const readValues = (drawn) => ({
  hooks: {
    setCursor: (u) => {
      const { idx, left } = u.cursor;
      const here = drawn.place.matches(":hover, :focus-visible");
      const words = here && left >= 0 && idx !== null ? drawn.words[idx] : null;
      drawn.tip.hidden = !words;
      if (!words) return;
      const rows = drawn.names.map(({ label, colour }, i) => element("span", "", swatch(colour), `${label} ${words[i]}`));
      drawn.tip.replaceChildren(element("strong", "", timeText(u.data[0][idx])), ...rows);
      const room = drawn.place.clientWidth - drawn.tip.offsetWidth;
      const beside = u.over.offsetLeft + left + 14;
      drawn.tip.style.left = `${Math.max(0, Math.min(beside > room ? beside - drawn.tip.offsetWidth - 28 : beside, room))}px`;
    },
    setSelect: (u) => {
      if (u.select.width > 5) setZoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    },
  },
});

/** Left and right move from value to value, plus and minus zoom, Escape shows all. */
function onKey(drawn, event) {
  const u = drawn.plot;
  const [from, to] = timeRange();
  const within = u.data[0].map((_, i) => i).filter((i) => drawn.words[i] && u.data[0][i] >= from && u.data[0][i] <= to);
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  if (event.key in steps && within.length) {
    const now = within.indexOf(drawn.reading);
    const next = now < 0 ? (steps[event.key] > 0 && event.key !== "End" ? 0 : within.length - 1) : now + steps[event.key];
    drawn.reading = within[Math.max(0, Math.min(within.length - 1, next))];
    u.setCursor({ left: u.valToPos(u.data[0][drawn.reading], "x"), top: 5 });
    setText(at("reading"), `${timeText(u.data[0][drawn.reading])}: ${drawn.names.map(({ label }, i) => `${label} ${drawn.words[drawn.reading][i]}`).join(", ")}`);
  } else if (event.key === "+" || event.key === "-") {
    const middle = within.includes(drawn.reading) ? u.data[0][drawn.reading] : (from + to) / 2;
    const half = ((to - from) / 2) * (event.key === "+" ? 0.5 : 2);
    setZoom(Math.max(life.from, middle - half), Math.min(life.to, middle + half));
  } else if (event.key === "Escape") resetZoom();
  else return;
  event.preventDefault();
}

// ---- zoom ----

function setZoom(from, to) {
  if (to - from < 1e-3) return;
  zoom = from <= life.from && to >= life.to ? null : { from, to };
  at("unzoom").hidden = zoom === null;
  for (const { plot } of charts.values()) plot.setData(plot.data);
}
const resetZoom = () => setZoom(-Infinity, Infinity);
at("unzoom").addEventListener("click", () => {
  resetZoom();
  at("ranges").querySelector("button").focus();
});

// ---- charts ----

/** Whether there is a single point, of which no line could be drawn. */
const single = (u) => u.data[0].length === 1;

/**
 * Draw a chart, or give it new data. `shape` says what is drawn; while it stays the same, only data changes. `names`
 * are labels with colours, and `data.words` has the text of each at each time. `title` says what the chart is of.
 */
function chart(id, shape, data, { title, names, series, bands = [], range: y, format = (value) => number(value, 3), marks = [markChanges()] }) {
  const place = at(id);
  let drawn = charts.get(id);
  if (drawn && drawn.shape !== shape) {
    drawn.plot.destroy();
    drawn = undefined;
  }
  if (!drawn) {
    drawn = { shape, place, tip: element("div", "tip"), reading: null, ...frame(place) };
    drawn.tip.hidden = true;
    Object.assign(drawn, { names, words: data.words });
    const options = {
      width: place.clientWidth,
      height: place.clientHeight,
      padding: [14, 28, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false }, sync: { key: "time" }, bind: { dblclick: () => resetZoom } },
      scales: { x: { time: true, range: timeRange }, y: { range: y } },
      axes: axes(format),
      series: [{}, ...series.map((each) => ({ points: { show: each.width ? single : false }, ...each }))],
      bands,
      plugins: [...marks, readValues(drawn)],
    };
    drawn.plot = new uPlot(options, data, place);
    drawn.plot.root.setAttribute("aria-hidden", "true");
    place.append(drawn.tip);
    place.onkeydown = (event) => onKey(charts.get(id), event);
    place.onblur = () => drawn.plot.setCursor({ left: -10, top: -10 });
    charts.set(id, drawn);
  } else {
    Object.assign(drawn, { names, words: data.words });
    drawn.plot.setData(data);
  }
  place.setAttribute("aria-label", `${title}. Arrow keys read its values, plus and minus zoom, Escape shows all.`);
  if (drawn.details.open) fillTable(drawn);
}

/** What stands around a chart: it can have the keyboard, and below it is a table of its numbers. */
function frame(place) {
  place.tabIndex = 0;
  place.setAttribute("role", "group");
  const old = place.nextElementSibling;
  if (old?.className === "numbers") old.remove();
  const table = element("div", "scroll");
  table.tabIndex = 0;
  const details = element("details", "numbers", element("summary", "", "Numbers of this chart"), table);
  details.addEventListener("toggle", () => details.open && fillTable(charts.get(place.id)));
  place.after(details);
  return { details, table };
}

function fillTable({ plot, names, words, table, place }) {
  const head = ["time", ...names.map(({ label }) => label)].map((label) => {
    const cell = element("th", "", label);
    cell.scope = "col";
    return cell;
  });
  const rows = plot.data[0].flatMap((t, i) =>
    words[i] ? [element("tr", "", element("td", "", timeText(t, [life.from, life.to])), ...words[i].map((text) => element("td", "", text)))] : [],
  );
  table.setAttribute("role", "region");
  table.setAttribute("aria-label", `Numbers: ${place.getAttribute("aria-label").split(".")[0]}`);
  table.replaceChildren(element("table", "", element("thead", "", element("tr", "", ...head)), element("tbody", "", ...rows.reverse())));
}

/** Take a chart away, with its table. */
function hideChart(id, hidden) {
  at(id).hidden = hidden;
  const details = charts.get(id)?.details;
  if (details) details.hidden = hidden;
}

/** Rows of numbers as columns, with their words. A pause longer than a window is a gap, not a line across it. */
function columns(monitor, rows, words, width) {
  const result = Array.from({ length: width + 1 }, () => []);
  result.words = [];
  const put = (x, values, text) => {
    [x, ...values].forEach((value, place) => result[place].push(value));
    result.words.push(text);
  };
  monitor.bins.forEach((each, i) => {
    const before = monitor.bins[i - 1];
    if (before && each.start_at - before.start_at > monitor.window_seconds) put((each.start_at + before.start_at) / 2, Array(width).fill(null), null);
    if (monitor.bins.length === 1) put(each.start_at, rows[i], null); // an area needs two points
    put(Math.min(each.start_at + monitor.bin_seconds / 2, life.to), rows[i], words[i]);
  });
  return result;
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
