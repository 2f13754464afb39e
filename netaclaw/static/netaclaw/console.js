// Shortcuts of the console. Every one presses what the page offers anyway; the list of them is the dialog #shortcuts.

const dialog = document.getElementById("shortcuts");
const TYPING = "input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=reset]), textarea, select, [contenteditable]";
const AFTER_G = 1500; // ms within which the second key must come
let waitingForSecond = 0;

/** The key as it is printed on a Latin keyboard, whatever the layout or input method makes of it. */
function nameOf(event) {
  if (/^[!-~]$/.test(event.key)) return event.shiftKey && /[a-z]/i.test(event.key) ? "" : event.key.toLowerCase();
  if (event.key.length > 1) return event.key;
  if (event.code === "Slash") return event.shiftKey ? "?" : "/";
  return event.shiftKey ? "" : (event.code.match(/^Key([A-Z])$/)?.[1] ?? "").toLowerCase();
}

const rows = () => [...document.querySelectorAll("#result_list tbody tr")];
const linkOf = (row) => row?.querySelector("th a[href]") ?? row?.querySelector("td a[href]");
const currentRow = () => document.activeElement?.closest?.("#result_list tbody tr");

function step(by) {
  const all = rows();
  const at = all.indexOf(currentRow());
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  linkOf(next)?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function open(row, part) {
  const link = linkOf(row);
  if (!link) return false;
  location.assign(part ? link.href.replace(/\/change\/(?=[?#]|$)/, `/${part}/`) : link.href);
  return true;
}

function press(selector) {
  const found = [...document.querySelectorAll(selector)].find((one) => one.getClientRects().length);
  found?.click();
  return Boolean(found);
}

function edit() {
  if (press("[data-shortcut=e]") || open(currentRow())) return;
  const page = location.pathname.match(/^(.*)\/(history|delete)\/$/);
  if (page) location.assign(`${page[1]}/change/`);
  else document.querySelector("#content-main form :is(textarea, input[type=text]):not([readonly], #searchbar)")?.focus();
}

function history() {
  if (press("[data-shortcut=h]") || open(currentRow(), "history")) return;
  press(".object-tools a.historylink");
}

function search() {
  const box = document.getElementById("searchbar") ?? document.querySelector("[data-shortcut='/']");
  box?.focus();
  box?.select?.();
  return Boolean(box);
}

function select() {
  const box = currentRow()?.querySelector("input.action-select");
  box?.click();
  return Boolean(box);
}

/** Closes what is open: a panel first, then the selection. An open dialog closes by itself. */
function close() {
  const inside = document.activeElement?.closest("details[open]");
  const panel = inside ?? document.querySelector("details[open][data-panel], details[open].menu");
  if (panel) {
    panel.open = false;
    panel.querySelector("summary")?.focus();
  } else {
    document.dispatchEvent(new Event("selection:clear"));
  }
}

function go(name) {
  const place = { o: "overview", m: "memories", p: "preview" }[name];
  if (place) location.assign(dialog.dataset[place]);
  return Boolean(place);
}

const KEYS = {
  "/": search,
  "?": () => showShortcuts(),
  j: () => step(1),
  k: () => step(-1),
  x: select,
  a: () => press("#action-toggle"),
  e: edit,
  h: history,
  Escape: close,
};

function showShortcuts() {
  if (!dialog.open) dialog.showModal(); // gives the focus back when it closes
}

function save(event) {
  const button = document.querySelector("#content-main form [name=_save], [data-shortcut=save]");
  if (!button) return;
  event.preventDefault();
  if (!event.repeat) button.form.requestSubmit(button);
}

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.key === "Process" || event.keyCode === 229) return;
  const withControl = event.ctrlKey || event.metaKey;
  if (withControl && !event.altKey && !event.shiftKey && (event.code === "KeyS" || event.key === "s")) save(event);
  if (withControl || event.altKey || dialog.open) return;
  if (event.target.matches?.(TYPING)) {
    if (event.key === "Escape" && event.target.id === "searchbar") event.target.blur();
    return;
  }
  onPlainKey(event, nameOf(event));
}

function onPlainKey(event, name) {
  const isSecond = performance.now() - waitingForSecond < AFTER_G && waitingForSecond > 0;
  waitingForSecond = name === "g" ? performance.now() : 0;
  if (isSecond && go(name)) {
    event.preventDefault();
  } else if (name === "Enter" && event.target.matches("input.action-select")) {
    event.preventDefault(); // would send the form
    open(currentRow());
  } else if (Object.hasOwn(KEYS, name)) {
    if (name !== "Escape") event.preventDefault();
    KEYS[name]();
  }
}

/** A click anywhere on a row opens it, unless it was meant for something in it or marks text. */
function onRowClick(event) {
  const row = event.target.closest("#result_list tbody tr");
  if (!row || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (event.target.closest("a, button, input, label, select, summary, details, .action-checkbox")) return;
  if (!String(getSelection())) open(row);
}

if (dialog) {
  document.addEventListener("keydown", onKey);
  document.querySelectorAll("[data-opens=shortcuts]").forEach((one) => one.addEventListener("click", showShortcuts));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.querySelector("body.model-memory #result_list")?.addEventListener("click", onRowClick);
}
