"""What a browser would send back for a page's form, read from its HTML."""

from html.parser import HTMLParser


class _Fields(HTMLParser):
    """The successful controls of one form, by name."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id, self.inside = form_id, False
        self.found: dict[str, str] = {}
        self.area = self.select = ""

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = self.form_id in (values.get("id", ""), "")
        elif self.inside and "disabled" not in values:
            getattr(self, f"_{tag}", lambda values: None)(values)

    def _input(self, values):
        kind = values.get("type", "text")
        ticked = kind not in ("radio", "checkbox") or "checked" in values
        if "name" in values and kind not in ("submit", "button") and ticked:
            self.found[values["name"]] = values.get("value", "")

    def _textarea(self, values):
        self.area = values.get("name", "")
        self.found[self.area] = ""

    def _select(self, values):
        self.select = values.get("name", "")

    def _option(self, values):
        if "selected" in values or self.select not in self.found:
            self.found[self.select] = values.get("value", "")

    def handle_data(self, data):
        if self.area:
            self.found[self.area] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.found[self.area] = self.found[self.area].removeprefix("\n")
            self.area = ""
        self.inside = self.inside and tag != "form"


def fields_of(response, form_id: str = "memory_form") -> dict[str, str]:
    """Names and values of a page's form, line breaks as browsers send them; the last form without an id."""
    reader = _Fields(form_id)
    reader.feed(response.content.decode())
    return {name: value.replace("\r\n", "\n").replace("\n", "\r\n") for name, value in reader.found.items()}
