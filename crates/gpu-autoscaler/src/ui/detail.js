// What one GPU says: in a tip beside its tile, and in a panel with its last two minutes.

import { choose, element, gpuOf, look, tileOf } from "./fleet.js";
import { HISTORY, history } from "./model.js";

const byId = (id) => document.getElementById(id);
const tip = byId("tip");
const panel = byId("detail");
/** The uuid in the panel. */
let chosen = null;

const number = (value, digits = 0) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const or = (value, text) => (value === null || value === undefined ? "not read" : text(value));
const percent = (value) => or(value, (v) => `${number(v, 1)} %`);
const watts = (value) => or(value, (v) => `${number(v)} W`);
const degrees = (value) => or(value, (v) => `${v} °C`);
const gibibytes = (memory) => or(memory.used, (used) => `${number(used / 1024, 1)} of ${or(memory.total, (total) => `${number(total / 1024)} GiB`)}`);
const name = (owner) => (owner ? `${owner.namespace}/${owner.pod}` : "nobody");

function rows(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([term, text]) => [element("dt", "", term), element("dd", "", text)]));
  return list;
}

/** Shows the tip for the tile under the pointer or the focus; hides it elsewhere. */
export function point(event) {
  const gpu = gpuOf(event.target);
  tip.hidden = !gpu;
  if (!gpu) return;
  fillTip(gpu);
  const tile = event.target.closest("button.tile").getBoundingClientRect();
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, tile.left + tile.width / 2 - box.width / 2), innerWidth - box.width - 8);
  const above = tile.top - box.height - 8;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above > 8 ? above : tile.bottom + 8)}px)`;
  tip.gpuKey = gpu.key;
}

export function unpoint() {
  tip.hidden = true;
}

function fillTip(gpu) {
  const { raw } = gpu;
  const owners = gpu.parts.length
    ? `${gpu.parts.filter((part) => part.owner).length} of ${gpu.parts.length} parts held`
    : raw.owner ? name(raw.owner) : "free: nobody holds it";
  const list = rows(element("dl", "rows"), [
    ["Utilisation", percent(raw.utilization)],
    ["Memory", gibibytes(raw.memory)],
    ["Power", watts(raw.power_usage)],
    ["Temperature", degrees(raw.temperature)],
  ]);
  tip.replaceChildren(element("strong", "", owners), element("span", "soft", `${raw.node} · ${raw.id} · ${raw.name}`), list);
}

export function open(gpu) {
  chosen = gpu.key;
  choose(chosen);
  panel.hidden = false;
  document.body.classList.add("detail-open");
  fillPanel(gpu);
  byId("detail-title").focus({ preventScroll: true });
  tileOf(chosen)?.scrollIntoView({ block: "nearest" });
}

export function close() {
  if (!chosen) return;
  const tile = tileOf(chosen);
  chosen = null;
  choose(null);
  panel.hidden = true;
  document.body.classList.remove("detail-open");
  tile?.focus({ preventScroll: true });
}

/** New values for what is open. */
export function refresh() {
  if (!tip.hidden) {
    const pointed = tileOf(tip.gpuKey)?.gpu;
    if (pointed) fillTip(pointed);
    else tip.hidden = true;
  }
  if (!chosen) return;
  const tile = tileOf(chosen);
  if (!tile) return close();
  fillPanel(tile.gpu);
}

function fillPanel(gpu) {
  const { raw } = gpu;
  byId("detail-title").textContent = `${raw.node} / ${raw.id}`;
  byId("detail-sub").textContent = `${raw.name}, simulated`;
  byId("detail-charts").replaceChildren(
    chart("Utilisation", percent(raw.utilization), gpu.key, "utilization", 100),
    chart("Memory", gibibytes(raw.memory), gpu.key, "memory", 100),
    chart("Power", `${watts(raw.power_usage)} of ${watts(raw.power_limit)}`, gpu.key, "power", raw.power_limit ?? 0),
    chart("Temperature", degrees(raw.temperature), gpu.key, "temperature", 100),
  );
  const whole = { name: "whole GPU", owner: raw.owner, scales: gpu.scales, raw: { memory: raw.memory } };
  byId("detail-owners").replaceChildren(...(gpu.parts.length ? gpu.parts : [whole]).map(ownerRow));
  const missing = gpu.failures.map((error) => error.field).join(", ");
  byId("detail-missing").replaceChildren(...(missing ? [element("p", "missing", `The GPU did not answer for: ${missing}`)] : []));
  const { instance_type, zone, capacity_type, pool } = gpu.node.about;
  const clocks = raw.clock_speeds;
  rows(byId("detail-facts"), [
    ["Memory interface", percent(raw.memory_utilization)],
    ["Clocks", `${or(clocks.graphics, number)} / ${or(clocks.memory, number)} MHz`],
    ["Node", [instance_type, zone, capacity_type].filter(Boolean).join(", ")],
    ...(pool ? [["Pool", pool]] : []),
    ["UUID", raw.uuid],
  ]);
}

function ownerRow(part) {
  const row = element("li");
  const busy = part.scales.utilization;
  const swatch = element("span", `swatch ${look(part.owner, busy)}`, busy === null ? "?" : part.owner ? String(Math.round(busy)) : "");
  const who = element("div", "who", part.owner ? name(part.owner) : "free");
  who.append(element("small", "", [part.name, gibibytes(part.raw.memory), part.owner?.container].filter(Boolean).join(" · ")));
  row.append(swatch, who);
  return row;
}

const SVG = "http://www.w3.org/2000/svg";

function chart(title, now, key, trace, top) {
  const figure = element("div", "chart");
  const line = element("div");
  line.append(element("span", "", title), element("b", "", now));
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${HISTORY - 1} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title} over the last ${HISTORY} looks`);
  const values = history(key, trace);
  const highest = top || Math.max(1, ...values.filter(Number.isFinite));
  for (const d of runs(values, highest)) {
    for (const [className, shape] of [["area", `${d.line}L${d.end} 100L${d.start} 100Z`], ["", d.line]]) {
      const path = document.createElementNS(SVG, "path");
      if (className) path.setAttribute("class", className);
      path.setAttribute("d", shape);
      svg.append(path);
    }
  }
  figure.append(line, svg);
  return figure;
}

/** Lines through the values that were read; a value that was not leaves a gap, not a zero. */
function runs(values, highest) {
  const found = [];
  let run = null;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) { run = null; return; }
    const x = HISTORY - values.length + i;
    const y = (96 - 92 * Math.min(value / highest, 1)).toFixed(1);
    if (run) { run.line += `L${x} ${y}`; run.end = x; return; }
    run = { line: `M${x} ${y}`, start: x, end: x };
    found.push(run);
  });
  return found;
}
