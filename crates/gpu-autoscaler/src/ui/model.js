// The two documents of the server, joined into what the page draws, and the short history the page keeps itself.

/** Two minutes at one look a second. */
export const HISTORY = 120;

/** What the history remembers of each GPU, in this order. */
const TRACES = ["utilization", "memory", "power", "temperature"];

/** uuid -> one ring of HISTORY values for each trace; NaN where nothing was read. */
const rings = new Map();

/** A share in percent, or null where one half is not known. */
export const percentOf = (part, whole) => part === null || whole === null || whole === 0 ? null : (100 * part) / whole;

/** Joins the documents: groups of nodes of GPUs, each with the values of the scales in percent. */
export function join(metrics, cluster) {
  const nodes = new Map();
  for (const about of cluster.nodes) nodes.set(about.name, { name: about.name, about, gpus: [] });
  const failed = new Map();
  for (const error of metrics.errors) {
    const key = `${error.node}/${error.gpu}`;
    if (!failed.has(key)) failed.set(key, []);
    failed.get(key).push(error);
  }
  const gpus = [];
  for (const raw of metrics.gpus) {
    const node = nodes.get(raw.node);
    if (!node) continue; // It left between the two answers; the next look has it right.
    const gpu = describe(raw, node, failed.get(`${raw.node}/${raw.id}`) ?? []);
    node.gpus.push(gpu);
    gpus.push(gpu);
  }
  remember(gpus);
  return { at: metrics.timestamp, simulated: metrics.source === "sim", cluster, gpus, groups: grouped(nodes.values()) };
}

function describe(raw, node, errors) {
  const parts = raw.parts.map((part) => ({
    name: part.partition,
    resource: part.resource,
    owner: part.owner,
    weight: part.memory.total ?? 1,
    raw: part,
    scales: { utilization: part.utilization, memory: percentOf(part.memory.used, part.memory.total), power: null },
  }));
  const gpu = {
    key: raw.uuid,
    raw,
    node,
    parts,
    failures: errors.filter((error) => error.reason === "failed"),
    held: raw.owner !== null || parts.some((part) => part.owner),
    scales: {
      utilization: raw.utilization,
      memory: percentOf(raw.memory.used, raw.memory.total),
      power: percentOf(raw.power_usage, raw.power_limit),
    },
  };
  const owners = [raw.owner, ...parts.map((part) => part.owner)].filter(Boolean);
  const words = owners.flatMap((owner) => [owner.namespace, owner.pod]);
  const { pool, instance_type, zone, capacity_type } = node.about;
  gpu.text = [raw.name, raw.uuid, node.name, pool, instance_type, zone, capacity_type, ...words].join(" ").toLowerCase();
  return gpu;
}

/** How busy a GPU is, for "idle" and for means: its own word, or the busiest of its parts where it has none. */
export function busyness(gpu) {
  if (gpu.scales.utilization !== null) return gpu.scales.utilization;
  const known = gpu.parts.map((part) => part.scales.utilization).filter((value) => value !== null);
  return known.length ? Math.max(...known) : null;
}

function grouped(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    const models = node.about.models.join(", ") || "no GPU";
    const key = `${models}\n${node.about.pool ?? ""}`;
    if (!groups.has(key)) groups.set(key, { key, models, pool: node.about.pool, nodes: [] });
    groups.get(key).nodes.push(node);
  }
  return [...groups.values()].sort((a, b) => a.key.localeCompare(b.key));
}

function remember(gpus) {
  const seen = new Set();
  for (const gpu of gpus) {
    seen.add(gpu.key);
    let ring = rings.get(gpu.key);
    if (!ring) rings.set(gpu.key, (ring = { at: 0, length: 0, values: new Float32Array(HISTORY * TRACES.length) }));
    const values = [gpu.scales.utilization, gpu.scales.memory, gpu.raw.power_usage, gpu.raw.temperature];
    values.forEach((value, trace) => { ring.values[trace * HISTORY + ring.at] = value ?? NaN; });
    ring.at = (ring.at + 1) % HISTORY;
    ring.length = Math.min(ring.length + 1, HISTORY);
  }
  for (const key of rings.keys()) if (!seen.has(key)) rings.delete(key);
}

/** The remembered values of a trace, oldest first. */
export function history(key, trace) {
  const ring = rings.get(key);
  if (!ring) return [];
  const base = TRACES.indexOf(trace) * HISTORY;
  const oldest = ring.at - ring.length + HISTORY;
  return Array.from({ length: ring.length }, (_, i) => ring.values[base + ((oldest + i) % HISTORY)]);
}
