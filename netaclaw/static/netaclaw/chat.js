// The page for trying an agent: sends the form, and shows the turn's events as they come. Without it the form is posted.

const form = document.getElementById("chat-form");
const turns = document.getElementById("turns");
const stop = document.getElementById("stop");
let running = null;

function from(template, values = {}) {
  const copy = document.getElementById(template).content.firstElementChild.cloneNode(true);
  const text = copy.querySelector("summary") ?? copy;
  for (const [name, value] of Object.entries(values)) text.textContent = text.textContent.replace(`%${name}%`, () => value);
  return copy;
}

function said(role) {
  const item = document.createElement("li");
  item.className = `spoken ${role}`;
  turns.append(item);
  return item;
}

function paragraph(item, text = "") {
  const shown = document.createElement("p");
  shown.className = "text";
  shown.dir = "auto";
  shown.textContent = text;
  item.append(shown);
  return shown;
}

function problem(item, message, detail = "") {
  const shown = from("problem");
  if (message) shown.querySelector(".message").textContent = message;
  shown.querySelector(".detail").textContent = detail;
  item.append(shown);
}

function showing(item) {
  const tools = new Map();
  let last = null;
  return {
    memory(data) {
      item.append(data.enabled ? from("memory-on", { hits: data.hits, characters: data.characters, milliseconds: data.milliseconds }) : from("memory-off"));
      if (data.enabled) item.querySelector(".block").textContent = data.block;
      if (data.failure) problem(item, data.failure);
    },
    delta(data) {
      if (last?.step !== data.step || item.lastElementChild !== last.shown) last = { step: data.step, shown: paragraph(item) };
      last.shown.append(data.text);
    },
    tool_call(data) {
      const shown = from("tool");
      shown.querySelector("summary").textContent = data.name;
      shown.querySelector(".arguments").textContent = JSON.stringify(data.arguments, null, 1);
      tools.set(data.id, shown);
      item.append(shown);
    },
    tool_result(data) {
      const shown = tools.get(data.id);
      if (shown) shown.querySelector(".result").textContent = JSON.stringify(data.result, null, 1);
    },
    done(data) {
      item.append(from("end", { model: data.model, given: data.usage.inputTokens, made: data.usage.outputTokens }));
    },
    error(data) {
      problem(item, data.message, data.detail);
    },
  };
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(block);
      if (found) yield [found[1], JSON.parse(found[2])];
    }
  }
}

async function send() {
  running = new AbortController();
  stop.hidden = false;
  const body = new FormData(form);
  paragraph(said("user"), body.get("message"));
  const item = said("assistant");
  let ended = false;
  try {
    const response = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/event-stream" }, signal: running.signal });
    if (!response.ok) {
      const told = response.headers.get("Content-Type")?.startsWith("application/json") ? await response.json() : {};
      problem(item, told.message);
      return;
    }
    form.message.value = "";
    const show = showing(item);
    for await (const [name, data] of events(response)) {
      show[name]?.(data);
      item.scrollIntoView({ block: "nearest" });
      if (name === "done" || name === "error") {
        ended = true;
        form.session.value = data.sessionId;
      }
    }
    if (!ended) problem(item);
  } catch (error) {
    if (running.signal.aborted) item.append(from("stopped"));
    else problem(item);
  } finally {
    running = null;
    stop.hidden = true;
    form.message.focus();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running && form.reportValidity()) send();
});
stop.addEventListener("click", () => running?.abort());
