// The menus of rows close as menus do: by a click elsewhere. Escape and copying are the console's (console.js, copy.js).

document.addEventListener("click", (event) => {
  const kept = event.target.closest("details.row-menu");
  for (const menu of document.querySelectorAll("details.row-menu[open]")) if (menu !== kept) menu.open = false;
});
