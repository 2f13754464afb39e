/* The form of a memory: counted texts, checked JSON, the fields of a schema, and a warning before an edit is lost.
   Without it the form works all the same: metadata is JSON text then. */

const form = document.getElementById("memory_form");
const columns = document.querySelector(".memory-columns");
const language = document.documentElement.lang || "en";
let leaving = false;

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/* JSON text: what is wrong and where, or the same text indented, every number as it was written */

class JsonText {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  formatted() {
    this.skip();
    if (this.text[this.at] !== "{") this.fail("object");
    const shown = this.value("");
    this.skip();
    if (this.at < this.text.length) this.fail("extra");
    return shown;
  }

  fail(problem, at = this.at) {
    const lines = this.text.slice(0, at).split("\n");
    throw Object.assign(new SyntaxError(problem), {
      problem,
      line: lines.length,
      column: [...lines[lines.length - 1]].length + 1,
    });
  }

  skip() {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? "")) this.at += 1;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found && found[0];
  }

  value(indent) {
    const first = this.text[this.at];
    if (first === "{") return this.items(indent, "}", true);
    if (first === "[") return this.items(indent, "]", false);
    if (first === '"') return this.string();
    const word = this.take(/true|false|null/y);
    if (word) return word;
    const start = this.at;
    const number = this.take(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y) ?? this.fail("value");
    if (!Number.isFinite(Number(number))) this.fail("number", start);
    return number;
  }

  items(indent, end, keyed) {
    const inner = indent + "  ";
    const parts = [];
    const keys = new Set();
    const open = this.text[this.at];
    this.at += 1;
    this.skip();
    while (this.text[this.at] !== end) {
      if (parts.length) {
        if (this.text[this.at] !== ",") this.fail("comma");
        this.at += 1;
        this.skip();
      }
      parts.push(inner + (keyed ? this.pair(inner, keys) : this.value(inner)));
      this.skip();
    }
    this.at += 1;
    return parts.length ? `${open}\n${parts.join(",\n")}\n${indent}${end}` : open + end;
  }

  pair(indent, keys) {
    const start = this.at;
    if (this.text[this.at] !== '"') this.fail("key");
    const key = this.string();
    if (keys.has(JSON.parse(key))) this.fail("twice", start);
    keys.add(JSON.parse(key));
    this.skip();
    if (this.text[this.at] !== ":") this.fail("colon");
    this.at += 1;
    this.skip();
    return `${key}: ${this.value(indent)}`;
  }

  string() {
    const start = this.at;
    this.at += 1;
    while (this.text[this.at] !== '"') {
      const character = this.text[this.at];
      if (character === undefined) this.fail("open", start);
      if (character < " ") this.fail("control");
      if (character === "\\") this.take(/\\(["\\/bfnrt]|u[0-9a-fA-F]{4})/y) ?? this.fail("escape");
      else this.at += 1;
    }
    this.at += 1;
    return this.text.slice(start, this.at);
  }
}

function watchJson(editor, words) {
  const area = editor.querySelector("textarea");
  const status = editor.querySelector(".json-status");
  const button = editor.querySelector("[data-format]");
  const check = () => {
    try {
      const shown = area.value.trim() ? new JsonText(area.value).formatted() : "";
      status.textContent = shown ? words.good : words.none;
      status.classList.remove("wrong");
      return shown;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      status.textContent = fill(words.place, { ...error, problem: words[error.problem] });
      status.classList.add("wrong");
      return null;
    }
  };
  let waiting;
  area.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(check, 300);
  });
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = check();
    if (shown === null) return area.focus();
    area.value = shown;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  check();
}

/* The fields of the type's schema, drawn by django-jsonform */

function showAgain(editor) {
  leaving = true;
  const asked = document.createElement("input");
  Object.assign(asked, { type: "hidden", name: "_show", value: editor });
  form.append(asked);
  form.submit();
}

function watchFields(editor, words) {
  const box = editor.querySelector("#metadata-fields");
  if (!box || !window.reactJsonForm) return;
  const part = (name) => form.elements[`metadata-${name}`];
  const read = (name) => JSON.parse(document.getElementById(`metadata-${name}`).textContent);
  const area = editor.querySelector("textarea");
  const opened = area.value;
  box.hidden = false; // fields measure themselves as they are drawn
  new MutationObserver(() => translate(box, words)).observe(box, { childList: true, subtree: true, attributes: true });
  try {
    window.reactJsonForm
      .createForm({
        containerId: box.id,
        dataInputId: "metadata-sent",
        schema: read("schema"),
        data: read("data"),
        errorMap: {},
      })
      .render();
  } catch (error) {
    box.remove(); // the JSON text is there in any case
    return console.error(error);
  }
  part("shown").value = part("sent").value;
  const show = (fields) => {
    part("editor").value = fields ? "fields" : "";
    box.hidden = !fields;
    for (const item of [area, ...editor.querySelectorAll(".json-status, [data-format]")]) item.hidden = fields;
    for (const note of editor.querySelectorAll(".kept-keys")) note.hidden = !fields;
    for (const item of editor.querySelectorAll("[data-switch]")) item.hidden = (item.dataset.switch === "fields") === fields;
  };
  editor.addEventListener("click", (event) => {
    const wanted = event.target.closest("[data-switch]")?.dataset.switch;
    if (!wanted) return;
    const changed = wanted === "json" ? part("shown").value !== part("sent").value : area.value !== opened;
    if (changed) return showAgain(wanted);
    show(wanted === "fields");
    (wanted === "fields" ? box.querySelector("input, select, textarea, button") : area)?.focus();
  });
  show(columns.dataset.chosen !== "json");
}

function translate(box, words) {
  for (const item of box.querySelectorAll("button, option, .rjf-collapsed-indicator span")) {
    const text = item.firstChild;
    if (text?.nodeType === Node.TEXT_NODE && text.data in words && words[text.data] !== text.data) text.data = words[text.data];
    if (item.title && words[item.title] && item.title !== words[item.title]) item.title = words[item.title];
    const said = item.classList.contains("rjf-add-button") ? `${text.data} (${titleOf(item)})` : item.title;
    if (said && item.getAttribute("aria-label") !== said) item.setAttribute("aria-label", said);
  }
  for (const field of box.querySelectorAll("input, select, textarea")) name(field, words);
}

function titleOf(item) {
  return item.closest(".rjf-form-group")?.querySelector(".rjf-form-group-title")?.firstChild?.textContent ?? "";
}

function name(field, words) {
  if (field.closest("label")) return;
  const label = field.closest(".rjf-form-row-inner")?.querySelector("label")?.textContent;
  const group = field.closest(".rjf-form-group");
  const rows = [...(group?.querySelectorAll(".rjf-form-row") ?? [])];
  const number = rows.indexOf(field.closest(".rjf-form-row")) + 1;
  const said = label || `${titleOf(field)} ${fill(words.item, { number })}`.trim();
  if (field.getAttribute("aria-label") !== said) field.setAttribute("aria-label", said);
}

/* Texts as high as they are long, counted before they are too long */

function count(field) {
  const counter = document.createElement("span");
  counter.className = "counter";
  counter.id = `${field.id}_counter`;
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${counter.id}`.trim());
  const limit = Number(field.dataset.limit);
  const shown = (number) => number.toLocaleString(language);
  const update = () => {
    const used = [...field.value].length;
    counter.textContent = fill(columns.dataset.count, { used: shown(used), limit: shown(limit) });
    counter.classList.toggle("over", used > limit);
    counter.hidden = used < limit / 2 && field.tagName === "INPUT";
    field.setAttribute("aria-invalid", String(used > limit));
  };
  field.addEventListener("input", update);
  (field.closest(".flex-container") ?? field).after(counter);
  update();
}

function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  const fit = () => {
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 4}px`;
  };
  area.addEventListener("input", fit);
  fit();
}

/* Leaving with unsaved edits */

function snapshot() {
  return new URLSearchParams(new FormData(form)).toString();
}

function warnBeforeLeaving() {
  const opened = snapshot();
  const unsaved = form.dataset.unsaved !== undefined || form.querySelector("[data-unsaved]") !== null;
  form.addEventListener("submit", () => (leaving = true));
  document.querySelector("[data-discard]")?.addEventListener("click", () => (leaving = true));
  window.addEventListener("pageshow", () => (leaving = false));
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && (unsaved || snapshot() !== opened)) event.preventDefault();
  });
}

function refuseUnreadableNumbers(editor, words) {
  form.addEventListener("submit", (event) => {
    const wrong = [...editor.querySelectorAll("#metadata-fields input")].find((field) => field.validity.badInput);
    if (!wrong || editor.querySelector("#metadata-fields").hidden) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    wrong.setCustomValidity(words.blank);
    wrong.reportValidity();
    wrong.addEventListener("input", () => wrong.setCustomValidity(""), { once: true });
  });
}

if (form) {
  const editor = form.querySelector("[data-metadata-editor]");
  if (editor) {
    const words = JSON.parse(document.getElementById("metadata-words").textContent);
    watchJson(editor, words);
    refuseUnreadableNumbers(editor, words);
    watchFields(editor, words);
  }
  if (columns) form.querySelectorAll("[data-limit]").forEach(count);
  form.querySelectorAll("textarea").forEach(grow);
  const type = form.querySelector("select[name=type]");
  if (type?.dataset.withSchema) {
    const schemas = JSON.parse(type.dataset.withSchema);
    let before = type.value;
    type.addEventListener("change", () => {
      if (schemas.includes(before) || schemas.includes(type.value)) showAgain("fields");
      before = type.value;
    });
  }
  for (const area of form.querySelectorAll(".choices textarea")) {
    area.addEventListener("input", () => (form.querySelector(`[data-hand="${area.name}"]`).checked = true));
  }
  warnBeforeLeaving();
}
