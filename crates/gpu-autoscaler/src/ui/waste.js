// What is wasted: one bar for the whole fleet, and the dearest findings with their reason and their fix.

const byId = (id) => document.getElementById(id);

/** Dollars as people write them. */
export const dollars = (amount) => amount === null ? "no price" : `$${amount.toLocaleString("en", { maximumFractionDigits: amount < 100 ? 2 : 0 })}`;

/** Findings that are folded open stay open over the next look. */
const open = new Set();

export function drawWaste(waste) {
  byId("waste").hidden = false;
  const problems = byId("waste-problems");
  problems.hidden = waste.problems.length === 0;
  problems.textContent = waste.problems.join(" · ");
  byId("waste-sub").textContent = waste.found ? `the dearest ${waste.findings.length} of ${waste.found} findings` : "none found";
  bar(waste.totals);
  list(waste.findings);
}

function bar(totals) {
  const all = totals.reduce((sum, line) => sum + line.gpus, 0);
  const shown = totals.filter((line) => line.gpus > 0);
  const colour = (line) => `w-${line.what}`;
  const parts = shown.map((line) => {
    const part = element("i", colour(line));
    part.style.flexGrow = line.gpus / all;
    part.title = `${line.what}: ${line.gpus.toFixed(1)} GPUs`;
    return part;
  });
  byId("waste-bar").replaceChildren(...parts);
  byId("waste-bar").setAttribute("aria-label", shown.map((line) => `${line.what} ${line.gpus.toFixed(1)} GPUs`).join(", "));
  const keys = shown.map((line) => {
    const key = element("li");
    const money = line.is_waste && line.monthly_usd !== null ? `, ${dollars(line.monthly_usd)} a month` : "";
    key.append(element("i", colour(line)), `${line.what} ${line.gpus.toFixed(1)}${money}`);
    return key;
  });
  byId("waste-keys").replaceChildren(...keys);
}

function list(findings) {
  byId("waste-list").replaceChildren(...findings.map(item));
}

function item(finding) {
  const item = element("li");
  const details = element("details");
  details.open = open.has(finding.id);
  details.addEventListener("toggle", () => details.open ? open.add(finding.id) : open.delete(finding.id));
  const summary = element("summary");
  const what = finding.subject.replace(/^pod\//, "");
  summary.append(
    element("b", "money", dollars(finding.monthly_usd)),
    element("span", `cause w-${finding.cause}`, finding.cause),
    element("span", "what", what),
    element("span", "score", `score ${finding.score}`),
  );
  details.append(summary, element("p", "why", finding.explanation));
  const evidence = element("ul", "evidence");
  for (const line of finding.evidence) evidence.append(element("li", line.speaks, `${line.signal}: ${line.words}`));
  details.append(evidence);
  if (finding.fix) {
    details.append(element("p", "fix", finding.fix.text));
    if (finding.fix.commands.length) details.append(element("pre", "", finding.fix.commands.join("\n")));
  }
  details.append(element("p", "price", finding.price));
  item.append(details);
  return item;
}

function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}
