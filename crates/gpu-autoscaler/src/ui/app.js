// Asks the server once a second, fills in the figures and says so when it goes away.

import * as detail from "./detail.js";
import { draw, gpuOf, walk } from "./fleet.js";
import { join, percentOf } from "./model.js";
import { drawWaste, dollars } from "./waste.js";

const LOOK_EVERY = 1000;
/** A server that takes longer is as good as gone. */
const PATIENCE = 5000;
/** The dearest findings on the page; the API has them all. */
const FINDINGS = 12;

const byId = (id) => document.getElementById(id);
const fleet = byId("fleet");
const filter = byId("filter");
let model = null;
let lastAnswer = null;

async function fetchJson(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return answer.json();
}

async function look() {
  const begun = performance.now();
  if (!document.hidden) {
    try {
      const paths = ["/api/v1/monitoring/gpu-metrics", "/api/v1/cluster", `/api/v1/waste?limit=${FINDINGS}`];
      const [metrics, cluster, waste] = await Promise.all(paths.map(fetchJson));
      model = join(metrics, cluster);
      model.waste = waste;
      lastAnswer = performance.now();
      render();
    } catch {
      // The words below say it; the next look comes anyway.
    }
    showConnection();
  }
  // A fleet that takes long to draw is looked at less often: at least as long a rest as the work took.
  const spent = performance.now() - begun;
  setTimeout(look, Math.max(LOOK_EVERY - spent, Math.min(spent, PATIENCE)));
}

function showConnection() {
  const words = byId("connection");
  const age = lastAnswer === null ? null : Math.round((performance.now() - lastAnswer) / 1000);
  const lost = age === null || age >= 3;
  words.hidden = !lost;
  if (!lost) return;
  const text = age === null ? "Waiting for the server …" : `Connection lost – last update ${age} s ago. The values below are old; trying again every second.`;
  if (words.textContent !== text) words.textContent = text;
}

function render() {
  if (!model) return;
  const scale = document.querySelector("input[name=scale]:checked").value;
  const terms = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = draw(model, scale, terms);
  byId("matches").textContent = terms.length ? `${count(matches)} of ${count(model.gpus.length)} GPUs` : "";
  const empty = byId("empty");
  empty.hidden = matches > 0;
  empty.textContent = model.gpus.length ? `No GPU matches “${filter.value.trim()}”.` : "The fleet has no GPU.";
  figures();
  detail.refresh();
}

const count = (value) => value.toLocaleString("en");

function figures() {
  const { cluster, gpus, at } = model;
  const time = new Date(at);
  const day = { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
  show("clock-date", time.toLocaleDateString("en-GB", day));
  show("clock-time", time.toISOString().slice(11, 19));
  const { total, allocated, divided, failing } = cluster.gpus;
  show("f-gpus", count(total));
  const nodes = cluster.nodes.length === 1 ? "1 node" : `${count(cluster.nodes.length)} nodes`;
  show("f-gpus-sub", `on ${nodes}, ${failing ? `${count(failing)} failing` : `${count(divided)} shared`}`);
  share("f-allocated", percentOf(allocated, total), `${count(allocated)} of ${count(total)}`);
  const reporting = gpus.filter((gpu) => gpu.scales.utilization !== null).length;
  share("f-utilization", cluster.utilization, `mean of ${count(reporting)} that report`);
  const lines = model.waste.totals.filter((line) => line.is_waste);
  const money = lines.reduce((sum, line) => sum + (line.monthly_usd ?? 0), 0);
  const wasted = lines.reduce((sum, line) => sum + line.gpus, 0);
  show("f-waste", dollars(money));
  byId("f-waste").parentElement.classList.toggle("some", wasted > 0);
  show("f-waste-sub", `${wasted.toFixed(1)} GPUs' worth`);
  drawWaste(model.waste);
  const { used, total: memory } = cluster.memory;
  share("f-memory", percentOf(used, memory), used === null || memory === null ? "not read" : `${tebibytes(used)} of ${tebibytes(memory)} TiB`);
  const power = cluster.power_usage;
  show("f-power", power === null ? "–" : (power / 1000).toFixed(1), "kW");
  show("f-power-sub", "all boards together");
  show("f-pods", count(cluster.pods.running));
  show("f-pods-sub", cluster.pods.pending ? `${count(cluster.pods.pending)} waiting for GPUs` : "none waiting");
  const busy = cluster.utilization === null ? "–" : `${Math.round(cluster.utilization)} %`;
  document.title = `${busy} busy · gpu-autoscaler${model.simulated ? " demo (simulated)" : ""}`;
}

const tebibytes = (mebibytes) => (mebibytes / 1024 / 1024).toFixed(1);

function share(id, percent, words) {
  show(id, percent === null ? "–" : percent.toFixed(0), percent === null ? "" : "%");
  show(`${id}-sub`, words);
  byId(`${id}-bar`).style.transform = `scaleX(${(percent ?? 0) / 100})`;
}

function show(id, text, unit = "") {
  const node = byId(id);
  if (node.dataset.shown === text + unit) return;
  node.dataset.shown = text + unit;
  node.textContent = text;
  if (!unit) return;
  const small = document.createElement("span");
  small.className = "unit";
  small.textContent = unit;
  node.append(small);
}

filter.addEventListener("input", render);
document.querySelector(".scale").addEventListener("change", render);
fleet.addEventListener("pointerover", detail.point);
fleet.addEventListener("pointerleave", detail.unpoint);
fleet.addEventListener("focusin", detail.point);
fleet.addEventListener("focusout", detail.unpoint);
fleet.addEventListener("keydown", walk);
fleet.addEventListener("click", (event) => { const gpu = gpuOf(event.target); if (gpu) detail.open(gpu); });
addEventListener("scroll", detail.unpoint, { passive: true });
byId("detail-close").addEventListener("click", detail.close);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement === filter) { filter.value = ""; filter.blur(); render(); }
  else if (event.key === "Escape") { detail.unpoint(); detail.close(); }
  else if (event.key === "/" && document.activeElement !== filter) { event.preventDefault(); filter.focus(); }
});
document.addEventListener("visibilitychange", showConnection);
setInterval(showConnection, 1000);
look();
