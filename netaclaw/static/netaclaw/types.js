/* The form of a memory type: colour picker, icon choice, and the schema's meaning without leaving the page. */
const form = document.getElementById("memorytype_form");

function linkColor() {
  const text = document.getElementById("id_color");
  const picker = text?.parentElement.querySelector('input[type="color"]');
  if (!picker) return;
  const follow = () => {
    const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(text.value.trim());
    const long = short ? `#${short.slice(1).map((digit) => digit + digit).join("")}` : text.value.trim();
    if (/^#[0-9a-f]{6}$/i.test(long)) picker.value = long;
  };
  picker.hidden = false;
  picker.addEventListener("input", () => { text.value = picker.value; });
  text.addEventListener("input", follow);
  follow();
}

function linkIcon() {
  const text = document.getElementById("id_icon");
  const other = form.querySelector('input[name="icon-choice"][value="other"]');
  text?.addEventListener("input", () => { other.checked = true; });
}

function draw() {
  const data = document.getElementById("preview-schema");
  const target = document.getElementById("schema-form");
  if (!data || !target || !window.reactJsonForm) return;
  new MutationObserver(() => nameFields(target)).observe(target, { childList: true, subtree: true });
  target.hidden = false; // fields measure themselves as they are drawn
  window.reactJsonForm
    .createForm({
      containerId: target.id,
      dataInputId: "schema-data",
      schema: JSON.parse(data.textContent),
      data: {},
      errorMap: {},
    })
    .render();
  document.querySelector(".schema-fields").hidden = true;
}

/* The library draws labels beside its fields without saying whose they are. */
function nameFields(box) {
  for (const field of box.querySelectorAll("input, select, textarea")) {
    const row = field.closest(".rjf-form-row-inner, .rjf-form-row");
    const group = field.closest(".rjf-form-group")?.querySelector(".rjf-form-group-title");
    const said = row?.querySelector("label")?.textContent || group?.firstChild?.textContent || field.name;
    if (field.getAttribute("aria-label") !== said) field.setAttribute("aria-label", said);
  }
}

let asked = 0;
let waiting = 0;
let plain = false; // whether buttons send the form as browsers without JavaScript do

async function look(button) {
  const number = ++asked;
  clearTimeout(waiting); // what is asked for now counts
  const sent = new URLSearchParams(new FormData(form));
  sent.set(button.name, button.value);
  button.setAttribute("aria-busy", "true");
  const result = await fetch(form.action, { method: "POST", body: sent, credentials: "same-origin" })
    .then((answer) => answer.text())
    .then((text) => new DOMParser().parseFromString(text, "text/html").getElementById("schema-result"))
    .catch(() => null);
  button.removeAttribute("aria-busy");
  if (number === asked && result) {
    document.getElementById("schema-result").replaceChildren(...result.childNodes);
    draw();
  }
  return Boolean(result);
}

function linkLooks() {
  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (plain || !["_preview", "_check"].includes(button?.name)) return;
    event.preventDefault();
    if (await look(button)) return;
    plain = true;
    form.requestSubmit(button);
  });
  const preview = document.querySelector('#schema-panel button[name="_preview"]');
  document.getElementById("id_metadata_schema")?.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => look(preview), 600);
  });
}

if (form) { linkColor(); linkIcon(); linkLooks(); draw(); }
