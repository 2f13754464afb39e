"""What a bulk action asks for besides its yes, and the work that follows from the answers."""

from typing import Any

from django import forms
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from memory_app import bulk
from memory_app.admin.base import agent_choices
from memory_app.contracts import MAX_USER_ID, clean_key
from memory_app.exceptions import InvalidInput
from memory_app.models import MemoryType

TYPED_ABOVE = 100
Plan = dict[str, Any]


class Question(forms.Form):
    """The form of a confirmation. `plan` is what was decided, as JSON can keep it."""

    required_css_class = "required"
    button: Any
    permission = "change"

    def __init__(self, *args: Any, total: int, **kwargs: Any) -> None:
        self.total = total
        super().__init__(*args, **kwargs)

    def plan(self) -> Plan:
        raise NotImplementedError

    def button_text(self) -> str:
        """The action with object and count."""
        return str(self.button % {"count": self.total})


class DeleteQuestion(Question):
    """More than a hundred go only when their number is typed."""

    button = ngettext_lazy("Delete %(count)d memory", "Delete %(count)d memories", "count")
    permission = "delete"

    typed = forms.CharField(label=_("number of memories"), widget=forms.TextInput(attrs={"inputmode": "numeric"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text = gettext("Type %(count)d to confirm that all of them are deleted.")
        self.fields["typed"].help_text = text % {"count": self.total}
        self.fields["typed"].widget.attrs["autocomplete"] = "off"
        if self.total <= TYPED_ABOVE:
            del self.fields["typed"]

    def clean_typed(self) -> str:
        """Grouped digits count as well."""
        typed = str(self.cleaned_data["typed"]).replace(",", "").replace(" ", "")
        if typed != str(self.total):
            raise forms.ValidationError(
                gettext("This isn't the number of memories; it is %(count)d.") % {"count": self.total}
            )
        return typed

    def plan(self) -> Plan:
        return {"kind": "delete"}


class RetypeQuestion(Question):
    """The new type, one that exists."""

    button = ngettext_lazy("Change the type of %(count)d memory", "Change the type of %(count)d memories", "count")

    type = forms.ChoiceField(label=_("New type"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(info.key, f"{info.name} ({info.key})") for info in MemoryType.available()]
        self.fields["type"].choices = choices  # type: ignore[attr-defined]

    def plan(self) -> Plan:
        return {"kind": "retype", "type": self.cleaned_data["type"]}


class MoveQuestion(Question):
    """Where to: another agent, another user, or both."""

    button = ngettext_lazy("Move %(count)d memory", "Move %(count)d memories", "count")

    agent = forms.ChoiceField(
        label=_("New agent"),
        required=False,
        help_text=_("With another agent a memory gets a new ID, in that agent's store."),
    )
    owner = forms.ChoiceField(
        label=_("New user"),
        choices=[
            ("keep", _("as it is")),
            ("shared", _("all users (shared)")),
            ("user", _("the user named here:")),
        ],
        initial="keep",
        widget=forms.RadioSelect,
    )
    user = forms.CharField(label=_("user"), required=False, max_length=MAX_USER_ID)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["agent"].choices = [("", _("as it is")), *agent_choices()]  # type: ignore[attr-defined]

    def clean_user(self) -> str:
        try:
            return clean_key(self.cleaned_data["user"], "user", MAX_USER_ID, required=False)
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("owner") == "user" and not data.get("user") and "user" not in self.errors:
            self.add_error("user", gettext("Name the user, or choose all users."))
        if data.get("owner") == "keep" and data.get("user"):
            self.add_error("owner", gettext("A user is named, but not chosen."))
        if data.get("owner") == "keep" and not data.get("agent") and not self.errors:
            raise forms.ValidationError(gettext("Choose another agent, another user, or both."))
        return data

    def plan(self) -> Plan:
        data = self.cleaned_data
        users = {"keep": None, "shared": "", "user": data["user"]}
        return {"kind": "move", "agent": data["agent"] or None, "user": users[data["owner"]]}


QUESTIONS: dict[str, type[Question]] = {"delete": DeleteQuestion, "retype": RetypeQuestion, "move": MoveQuestion}


def work_of(plan: Plan) -> bulk.Work:
    """The work that a plan stands for."""
    if plan["kind"] == "delete":
        return bulk.delete
    if plan["kind"] == "retype":
        return bulk.retype(plan["type"])
    return bulk.move(plan["agent"], plan["user"])
