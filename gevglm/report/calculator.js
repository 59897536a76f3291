// The page of a calculator: reads what is typed, and writes the risk, what moved it, and what is to be known of it.
// `model` (inputs, words, limits) and `prediction(row)` come before it.

const root = document.getElementById("calculator");
const part = name => root.querySelector(`[data-part="${name}"]`);
const say = (phrase, words = {}) => model.text[phrase].replace(/\{(\w+)\}/g, (all, word) => words[word] ?? all);
const decimals = (x, digits) => new Intl.NumberFormat(model.language, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(x);
const number = x => new Intl.NumberFormat(model.language, { maximumSignificantDigits: 12 }).format(x).replace("-", "\u2212");
const ownComma = new Intl.NumberFormat(model.language).format(1.5).includes(",");
const fitting = x => Math.min(Math.max(1 - Math.floor(Math.log10(x)), 0), 7);
const percent = (risk, digits) => {
  const least = 0.5 * 10 ** -digits, shown = Math.min(Math.max(100 * risk, 0), 100), unit = 10 ** -digits;
  if (shown > 0 && shown < least) return `<\u00a0${decimals(unit, digits)}\u00a0%`;
  if (shown < 100 && 100 - shown < least) return `>\u00a0${decimals(100 - unit, digits)}\u00a0%`;
  return `${decimals(shown, digits)}\u00a0%`;
};
const twoDigits = risk => (risk > 0 && risk < 1 ? fitting(100 * Math.min(risk, 1 - risk)) : 0);

// -- what is typed ---------------------------------------------------------------------------

function typed(text) {
  let plain = text.trim().replace(/[\s\u00a0\u202f'’]/g, "").replace(/^[\u2212\u2013]/, "-");
  if (!plain) return { empty: true };
  const last = Math.max(plain.lastIndexOf(","), plain.lastIndexOf("."));
  const sign = plain[last], foreign = ownComma ? "." : ",";
  if (last >= 0 && plain.split(sign).length === 2) {
    const before = plain.slice(0, last), after = plain.slice(last + 1);
    if (sign === foreign && /^[+-]?[1-9]\d{0,2}$/.test(before) && /^\d{3}$/.test(after)) {
      return { wrong: say("Write {one} or {other}: a number with one comma or point before three digits may mean either.",
        { one: before + after, other: `${before}${ownComma ? "," : "."}${after}` }) };
    }
    const other = sign === "," ? "." : ",", groups = before.split(other);
    if (groups.length > 1 && !groups.slice(1).every(group => /^\d{3}$/.test(group))) return { wrong: say("Type a number.") };
    plain = `${groups.join("")}.${after}`;
  } else if (last >= 0) {
    const groups = plain.split(sign);
    if (!groups.slice(1).every(group => /^\d{3}$/.test(group))) return { wrong: say("Type a number.") };
    plain = groups.join("");
  }
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(plain) ? Number(plain) : NaN;
  return Number.isFinite(value) ? { value } : { wrong: say("Type a number.") };
}

function chosen(input, field) {
  const picked = field.matches("select") ? field.value : field.querySelector("input:checked")?.value ?? "";
  return picked === "" ? { empty: true } : { value: input.choices[Number(picked)][0] };
}

const fields = model.inputs.map((input, i) => root.querySelector(`[data-input="${i}"]`));
model.inputs.forEach((input, i) => {
  if (input.choices || input.low === null) return;
  root.querySelector(`#hint-${i}`).textContent = say("from {low} to {high} in the data", { low: number(input.low), high: number(input.high) });
});
const read = () => model.inputs.map((input, i) => (input.choices ? chosen(input, fields[i]) : typed(fields[i].value)));

function fill(values) {
  model.inputs.forEach((input, i) => {
    const value = values ? values[input.name] : undefined;
    const place = input.choices ? input.choices.findIndex(choice => choice[0] === value) : -1;
    if (!input.choices) fields[i].value = value === undefined ? "" : String(value).replace(".", ownComma ? "," : ".");
    else if (fields[i].matches("select")) fields[i].value = place < 0 ? "" : String(place);
    else fields[i].querySelectorAll("input").forEach((button, k) => { button.checked = k === place; });
  });
  show();
}

const worded = (input, value) => {
  const text = input.choices ? input.choices.find(choice => choice[0] === value)[1] : number(value);
  return input.unit && !input.choices ? `${text}\u00a0${input.unit}` : text;
};

// -- what is shown ---------------------------------------------------------------------------

const element = (name, words = {}, ...children) => {
  const made = document.createElementNS(words.svg ? "http://www.w3.org/2000/svg" : document.documentElement.namespaceURI, name);
  for (const [key, value] of Object.entries(words)) if (key !== "svg") made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const drawn = (name, words, ...children) => element(name, { svg: true, ...words }, ...children);

function frequency(risk) {
  const size = [100, 1e3, 1e4, 1e5].find(size => Math.min(risk, 1 - risk) * size >= 9.5) ?? 1e6;
  const count = Math.round(risk * size), words = { count: number(count), size: number(size) };
  return count ? say("about {count} in {size}", words) : say("fewer than 1 in {size}", words);
}

function scale(found, reference) {
  const most = 1.15 * Math.max(found.upper, found.risk, Number.isFinite(reference) ? reference : 0, 1e-6);
  const power = 10 ** Math.floor(Math.log10(most));
  const end = Math.min([1, 2, 5, 10].map(step => step * power).find(step => step >= most * (1 - 1e-9)) ?? 1, 1);
  const x = risk => 10 + 380 * Math.min(risk / end, 1);
  const digits = (String(Number((50 * end).toPrecision(6))).split(".")[1] ?? "").length;
  const label = (risk, where) => drawn("text", { x: x(risk), y: 52, "text-anchor": where }, percent(risk, digits));
  const marks = Number.isFinite(reference)
    ? [drawn("line", { x1: x(reference), x2: x(reference), y1: 14, y2: 34, class: "mark" }),
       drawn("text", { x: Math.min(Math.max(x(reference), 36), 364), y: 10, "text-anchor": "middle" }, say("reference"))]
    : [];
  return drawn("svg", { viewBox: "0 0 400 58", "aria-hidden": "true", class: "scale" },
    drawn("line", { x1: 10, x2: 390, y1: 24, y2: 24, class: "axis" }),
    drawn("rect", { x: x(found.lower), y: 18, width: Math.max(x(found.upper) - x(found.lower), 1), height: 12, rx: 6, class: "band" }),
    ...marks,
    drawn("circle", { cx: x(found.risk), cy: 24, r: 7, class: "dot" }),
    label(0, "start"), label(end / 2, "middle"), label(end, "end"));
}

function outside(row, found) {
  const said = [];
  for (const input of model.inputs) {
    if (input.choices || input.low === null) continue;
    const words = { label: input.label, value: worded(input, row[input.name]), low: worded(input, input.low), high: worded(input, input.high) };
    if (row[input.name] < input.low) said.push(say("{label} {value} is below all values of the data, which begin at {low}. The risk is extrapolated.", words));
    if (row[input.name] > input.high) said.push(say("{label} {value} is above all values of the data, which end at {high}. The risk is extrapolated.", words));
  }
  const [rare, all] = model.reach, beyond = reach => found.se > reach * (1 + 1e-9);
  if (!said.length && beyond(all)) said.push(say("Each value is within the data, but no combination there is as unusual. The risk is extrapolated."));
  else if (!said.length && beyond(rare)) said.push(say("Each value is within the data, but fewer than 1 in 100 combinations there are as unusual."));
  return said;
}

function moves(row, found, digits) {
  return model.inputs.filter(input => row[input.name] !== input.reference).map(input => {
    const before = prediction({ ...row, [input.name]: input.reference }).risk;
    const words = { label: input.label, value: worded(input, row[input.name]), reference: worded(input, input.reference),
      before: percent(before, digits), after: percent(found.risk, digits) };
    const change = words.before === words.after || !Number.isFinite(before) ? 0 : found.risk - before;
    const phrase = change > 0 ? "{label} {value} instead of {reference} raises the risk from {before} to {after}."
      : change < 0 ? "{label} {value} instead of {reference} lowers the risk from {before} to {after}."
      : "{label} {value} instead of {reference} leaves the risk at {after}.";
    return { change, text: say(phrase, words) };
  }).sort((one, other) => Math.abs(other.change) - Math.abs(one.change));
}

function bar(change, most) {
  const width = most > 0 ? 56 * Math.abs(change) / most : 0;
  return drawn("svg", { viewBox: "0 0 120 16", preserveAspectRatio: "none", "aria-hidden": "true", class: "bar" },
    drawn("rect", { x: change < 0 ? 60 - width : 60, y: 2, width, height: 12, class: change < 0 ? "lowers" : "raises" }),
    drawn("line", { x1: 60, x2: 60, y1: 0, y2: 16, class: "mark" }));
}

function showMoves(row, found, atReference, digits) {
  const changes = moves(row, found, digits), most = Math.max(0, ...changes.map(each => Math.abs(each.change)));
  const same = model.inputs.filter(input => row[input.name] === input.reference).map(input => input.label);
  part("moves").replaceChildren(...changes.map(each => element("li", {}, bar(each.change, most), element("span", {}, each.text))));
  part("how").hidden = !changes.length;
  part("same").textContent = same.length ? say("As in the reference: {names}.", { names: same.join(", ") }) : "";
  const values = model.inputs.map(input => `${input.label} ${worded(input, input.reference)}`).join(", ");
  part("reference").textContent = Number.isFinite(atReference)
    ? say("For the reference ({values}) the risk is {risk}.", { values, risk: percent(atReference, twoDigits(atReference)) }) : "";
  part("why").hidden = false;
}

function showRisk(row) {
  const found = prediction(row), known = [found.risk, found.lower, found.upper].every(Number.isFinite);
  for (const name of ["scale", "warnings"]) part(name).replaceChildren();
  part("why").hidden = part("outside").hidden = true;
  if (!known) return waiting(say("The model has no risk for these values: one of them is beyond what it knows."));
  const width = 50 * (found.upper - found.lower), digits = width > 0 ? fitting(width) : twoDigits(found.risk);
  const atReference = prediction(Object.fromEntries(model.inputs.map(input => [input.name, input.reference]))).risk;
  part("risk").textContent = percent(found.risk, digits);
  part("interval").textContent = say("{level} % interval: {lower} to {upper}",
    { level: number(model.level), lower: percent(found.lower, digits), upper: percent(found.upper, digits) });
  part("frequency").textContent = found.risk > 0 && found.risk < 1 ? frequency(found.risk) : "";
  part("scale").replaceChildren(scale(found, atReference));
  const said = outside(row, found);
  if (found.risk === 0) said.unshift(say("For these values the model holds the outcome to be impossible. Be careful: it cannot know that."));
  if (found.risk === 1) said.unshift(say("For these values the model holds the outcome to be certain. Be careful: it cannot know that."));
  part("warnings").replaceChildren(...said.map(text => element("li", {}, text)));
  part("outside").hidden = !said.length;
  showMoves(row, found, atReference, digits);
  root.classList.remove("waiting");
  announce([say("Risk"), part("risk").textContent, part("interval").textContent, ...said].join(". "));
}

function waiting(text) {
  for (const name of ["frequency", "interval"]) part(name).textContent = "";
  for (const name of ["scale", "warnings"]) part(name).replaceChildren();
  part("why").hidden = part("outside").hidden = true;
  part("risk").textContent = text;
  root.classList.add("waiting");
  announce(text);
}

let later;
function announce(text) {
  clearTimeout(later);
  later = setTimeout(() => { if (part("said").textContent !== text) part("said").textContent = text; }, 600);
}

function show() {
  const values = read(), named = test => model.inputs.filter((input, i) => test(values[i])).map(input => input.label).join(", ");
  values.forEach((value, i) => {
    const problem = root.querySelector(`[data-error="${i}"]`);
    if (!problem) return;
    problem.textContent = value.wrong ?? "";
    fields[i].setAttribute("aria-invalid", value.wrong ? "true" : "false");
  });
  const wrong = named(value => value.wrong), empty = named(value => value.empty);
  if (wrong) return waiting(say("Correct {names}.", { names: wrong }));
  if (empty) return waiting(say("Fill in {names}.", { names: empty }));
  return showRisk(Object.fromEntries(model.inputs.map((input, i) => [input.name, values[i].value])));
}

root.addEventListener("input", show);
root.addEventListener("submit", event => event.preventDefault());
part("typical").addEventListener("click", () => fill(Object.fromEntries(model.inputs.map(input => [input.name, input.reference]))));
part("clear").addEventListener("click", () => { fill(null); root.querySelector("input, select").focus(); });
part("print")?.addEventListener("click", () => window.print());
window.addEventListener("beforeprint", () => {
  part("date").textContent = new Intl.DateTimeFormat(model.language, { dateStyle: "long", timeStyle: "short" }).format(new Date());
});
show();
