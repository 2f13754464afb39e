// Ctrl+Enter (or Command+Enter) in a text that carries data-submit sends its form.
for (const field of document.querySelectorAll("[data-submit]")) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
      event.preventDefault();
      field.form.requestSubmit();
    }
  });
}
