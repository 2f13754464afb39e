// Buttons with data-copy put its text on the clipboard and say so.

const said = document.getElementById("said");

function byHand(text) {
  // Where the clipboard is refused, as on plain http, an old command still works.
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return byHand(text);
  }
}

document.addEventListener("click", async (event) => {
  const source = event.target.closest("[data-copy]");
  if (said) said.textContent = "";
  if (!source || !said) return;
  event.preventDefault();
  const done = await copy(source.dataset.copy);
  source.focus();
  said.textContent = done ? said.dataset.copied : said.dataset.refused;
});
