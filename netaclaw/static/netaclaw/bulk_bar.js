// The bar of bulk actions: Django's own select, as buttons at the bottom while something is selected.
// Django's actions.js keeps the selection; this only presses its controls. Without this file the select stays.

const form = document.getElementById("changelist-form");
const stock = form?.querySelector("div.actions");
const texts = stock?.querySelector("template.bulk-bar-texts")?.dataset;
const select = stock?.querySelector("select[name=action]");
const boxes = [...document.querySelectorAll("#result_list input.action-select")];
const toggle = document.getElementById("action-toggle");

const grouped = (number) => Number(number).toLocaleString(document.documentElement.lang);
const filled = (text, number) => text.replace("{n}", grouped(number));

function button(text, press, look = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.className = look;
  made.textContent = text;
  made.addEventListener("click", press);
  return made;
}

function run(action) {
  select.value = action;
  form.requestSubmit(stock.querySelector("button[name=index]"));
}

function selectPage() {
  if (!toggle.checked) toggle.click();
}

function selectAll() {
  selectPage();
  stock.querySelector("span.question a").click();
}

function clear() {
  stock.querySelector("span.clear a")?.click(); // takes back "all matching" as well
  boxes.filter((box) => box.checked).forEach((box) => box.click());
}

function build() {
  const bar = document.createElement("div");
  bar.className = "bulk-bar";
  bar.hidden = true;
  bar.setAttribute("role", "region");
  bar.setAttribute("aria-label", texts.label);
  const count = document.createElement("strong");
  count.setAttribute("role", "status");
  const page = button(texts.page, selectPage);
  const all = texts.all ? button(filled(texts.all, texts.total), selectAll) : null;
  const choices = [...select.options].filter((option) => option.value);
  const isLast = (option) => option.value.startsWith("delete");
  const ordered = [...choices.filter((one) => !isLast(one)), ...choices.filter(isLast)];
  const actions = ordered.map((one) => button(one.textContent, () => run(one.value), isLast(one) ? "destructive" : "action"));
  const undo = button(texts.clear, clear, "clear");
  bar.append(count, page, ...(all ? [all] : []), undo, ...actions);
  return { bar, count, page, all };
}

function keepUpToDate({ bar, count, page, all }) {
  const show = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    const across = stock.querySelector("input.select-across").value === "1";
    count.textContent = across ? filled(texts.across, texts.total) : filled(texts.selected, chosen);
    page.hidden = chosen === boxes.length;
    if (all) all.hidden = across;
    if (!chosen && bar.contains(document.activeElement)) boxes[0]?.focus();
    bar.hidden = !chosen;
    document.body.classList.toggle("with-bulk-bar", chosen > 0);
  };
  const soon = () => setTimeout(show); // after Django's own listeners
  form.addEventListener("change", soon);
  form.addEventListener("click", soon);
  bar.addEventListener("click", soon);
  window.addEventListener("pageshow", soon);
  document.addEventListener("selection:clear", () => { clear(); soon(); });
  soon();
}

if (texts && select && toggle && boxes.length) {
  stock.classList.add("replaced");
  const parts = build();
  form.append(parts.bar);
  keepUpToDate(parts);
}
