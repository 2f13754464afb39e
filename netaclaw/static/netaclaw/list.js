// The list of memories: a click anywhere on a row opens it; menus close as menus do; what has data-copy is copied.
const ACTIVE = "a, button, input, select, textarea, label, summary, details";

function openRow(event) {
  const row = event.target.closest("#result_list tbody tr");
  if (!row || event.target.closest(ACTIVE) || String(window.getSelection())) return;
  const link = row.querySelector(".field-title a");
  if (!link) return;
  if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else if (event.button === 0) link.click();
}

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.row-menu[open]")) if (menu !== except) menu.open = false;
}

async function copy(button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: button.dataset.copy });
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = `✓ ${before}`;
  setTimeout(() => { button.textContent = before; }, 1500);
}

document.addEventListener("click", (event) => {
  closeMenus(event.target.closest("details.row-menu"));
  openRow(event);
});
document.addEventListener("auxclick", openRow);
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.row-menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.stopImmediatePropagation();
}, true);
for (const button of document.querySelectorAll(".row-menu [data-copy]")) {
  button.addEventListener("click", (event) => { event.stopPropagation(); copy(button); });
}
