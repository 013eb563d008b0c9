// The tiles: one per GPU, made once and changed in place, so that nothing flickers and thousands stay cheap.

import { busyness } from "./model.js";

/** From this many GPUs on, tiles are small and carry no number. */
const DENSE_FROM = 400;

const root = document.getElementById("fleet");
/** uuid -> tile; the tile keeps its GPU as `tile.gpu`. */
const tiles = new Map();
/** The structure that is drawn; anything else is drawn anew. */
let drawn = "";
/** The uuid of the tile that is marked as the one in the panel. */
let chosenKey = null;

/** Marks one tile, or none. */
export function choose(key) {
  tiles.get(chosenKey)?.classList.remove("chosen");
  chosenKey = key;
  tiles.get(key)?.classList.add("chosen");
  for (const tile of tiles.values()) tile.lastClass = null;
}

/** One element with a class and a text. */
export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

export const tileOf = (key) => tiles.get(key);
export const gpuOf = (target) => target.closest?.("button.tile")?.gpu;
const percent = (value) => `${Math.round(value)} %`;

/** The class of a value on the colour scale. */
export const shade = (value) => (value === null ? "unknown" : `c${Math.round(Math.min(Math.max(value, 0), 100) / 10)}`);

/** The class of one part, or of a whole GPU: what nobody holds is free, whether or not it has a reading. */
export const look = (held, value) => (held ? shade(value) : "free");

/** Draws the model; `scale` is what colour means, `terms` the words of the filter. Returns how many GPUs match. */
export function draw(model, scale, terms) {
  const structure = model.groups.map((group) => group.key + group.nodes.map((node) => node.name + node.gpus.map(shape)).join()).join();
  if (structure !== drawn) build(model);
  drawn = structure;
  let matches = 0;
  for (const group of model.groups) {
    let shown = 0;
    for (const node of group.nodes) shown += drawNode(node, scale, terms);
    setHidden(group.key, terms.length > 0 && shown === 0);
    drawSum(group);
    matches += shown;
  }
  return matches;
}

const shape = (gpu) => gpu.key + gpu.parts.map((part) => `${part.name}:${part.weight}`);

/** Frames of groups and nodes by key. */
const frames = new Map();

function build(model) {
  const focused = document.activeElement?.gpu?.key;
  tiles.clear();
  frames.clear();
  root.classList.toggle("dense", model.gpus.length >= DENSE_FROM);
  root.replaceChildren(...model.groups.map(buildGroup));
  const first = tiles.get(focused) ?? tiles.values().next().value;
  if (first) first.tabIndex = 0;
  if (focused) tiles.get(focused)?.focus();
}

function buildGroup(group) {
  const section = element("section", "group");
  // Small groups stand side by side; a group is as wide as its nodes want, and never wider than the page.
  section.style.setProperty("--nodes", String(group.nodes.length));
  const title = element("h2", "", group.models);
  const sum = element("small");
  title.append(sum);
  const nodes = element("div", "nodes");
  nodes.append(...group.nodes.map(buildNode));
  section.append(title, nodes);
  frames.set(group.key, { frame: section, sum });
  return section;
}

function buildNode(node) {
  const card = element("article", "node");
  const header = element("header");
  const { instance_type, zone, capacity_type } = node.about;
  const sum = element("span", "sum");
  const about = element("p", "about", [instance_type, zone].filter(Boolean).join(" · "));
  about.prepend(element("span", `chip ${capacity_type}`, capacity_type));
  header.append(element("h3", "", node.name), sum, about);
  const grid = element("div", "tiles");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", `GPUs of ${node.name}`);
  grid.append(...node.gpus.map(buildTile));
  card.append(header, grid);
  frames.set(`node ${node.name}`, { frame: card, sum });
  return card;
}

function buildTile(gpu) {
  const tile = element("button", "tile");
  tile.type = "button";
  tile.tabIndex = -1;
  tile.setAttribute("aria-label", `${gpu.raw.id} of ${gpu.node.name}`);
  tile.setAttribute("aria-describedby", "tip");
  for (const part of gpu.parts) {
    const strip = element("span", "part");
    strip.style.flexGrow = String(part.weight);
    tile.append(strip);
  }
  tiles.set(gpu.key, tile);
  return tile;
}

function drawNode(node, scale, terms) {
  let shown = 0;
  for (const gpu of node.gpus) {
    const matches = terms.every((term) => gpu.text.includes(term));
    shown += matches;
    drawTile(tiles.get(gpu.key), gpu, scale, matches);
  }
  setHidden(`node ${node.name}`, terms.length > 0 && shown === 0);
  drawSum(node, `node ${node.name}`);
  return shown;
}

function drawTile(tile, gpu, scale, matches) {
  tile.gpu = gpu;
  const flags = (gpu.failures.length ? " failing" : "") + (matches ? "" : " faded");
  const chosen = gpu.key === chosenKey ? " chosen" : "";
  if (gpu.parts.length && scale !== "power") {
    setClass(tile, `tile split${gpu.held ? "" : " free"}${flags}${chosen}`);
    gpu.parts.forEach((part, i) => setClass(tile.children[i], `part ${look(part.owner, part.scales[scale])}`));
    return;
  }
  const value = gpu.scales[scale];
  const broken = value === null && gpu.failures.length > 0;
  setClass(tile, `tile ${broken ? "unknown" : look(gpu.held, value)}${flags}${chosen}`);
  if (gpu.parts.length) for (const strip of tile.children) setClass(strip, "part");
  else if (!root.classList.contains("dense")) setText(tile, value === null ? (broken || gpu.held ? "?" : "") : gpu.held ? String(Math.round(value)) : "");
}

function drawSum(thing, key = thing.key) {
  const gpus = thing.gpus ?? thing.nodes.flatMap((node) => node.gpus);
  const known = gpus.map(busyness).filter((value) => value !== null);
  const mean = known.length ? percent(known.reduce((sum, value) => sum + value, 0) / known.length) : "–";
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
  const words = thing.nodes
    ? [thing.pool && `pool ${thing.pool}`, count(thing.nodes.length, "node"), count(gpus.length, "GPU"), `${mean} busy`]
    : [mean];
  setText(frames.get(key).sum, words.filter(Boolean).join(" · "));
}

function setHidden(key, hidden) {
  const { frame } = frames.get(key);
  if (frame.hidden !== hidden) frame.hidden = hidden;
}

/** What was last set is kept beside the node: asking the document thousands of times a second costs more. */
function setClass(node, className) {
  if (node.lastClass !== className) node.className = node.lastClass = className;
}

function setText(node, text) {
  if (node.lastText !== text) node.textContent = node.lastText = text;
}

/** Arrow keys walk over the tiles that are shown; the last one visited is the way in for Tab. */
export function walk(event) {
  const here = event.target;
  if (!here.gpu) return;
  const shown = [...tiles.values()].filter((tile) => !tile.closest("[hidden]"));
  const at = shown.indexOf(here);
  const target = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: shown.length - 1 }[event.key];
  const next = target === undefined ? vertical(event.key, here, shown) : shown[target];
  if (!next) return;
  event.preventDefault();
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** The nearest tile in the next row above or below. */
function vertical(key, here, shown) {
  const sign = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!sign) return undefined;
  const from = here.getBoundingClientRect();
  const gap = (tile) => {
    const to = tile.getBoundingClientRect();
    const down = sign * (to.top - from.top);
    return down > 1 ? down * 4 + Math.abs(to.left - from.left) : Infinity;
  };
  return shown.map((tile) => [gap(tile), tile]).filter(([distance]) => distance < Infinity).sort((a, b) => a[0] - b[0])[0]?.[1];
}
