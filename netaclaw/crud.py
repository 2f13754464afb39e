"""Entities in the Cool Admin dress: one record names an entity's calls, for its URLs, its rights and EPS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import django_filters
from django.db.models import Model, QuerySet
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from memory_app.exceptions import InvalidInput, MemoryNotFound
from memory_app.filters import left_by
from netaclaw.cool import PAGE_SIZE, CoolView, as_object, ok, sorting, whole_number

MAX_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class Column:
    """A field as EPS tells it to the front end's generator."""

    name: str
    type: str
    comment: str
    length: str = ""
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """One call of an entity."""

    path: str
    view: type[CoolView]
    summary: str
    method: str = "post"


@dataclass(frozen=True, slots=True)
class Entity:
    """What lives under /admin/netaclaw/<name>/."""

    name: str
    description: str
    actions: Sequence[Action]
    columns: Sequence[Column]
    equal: Sequence[str] = ()
    like: Sequence[str] = ()

    @property
    def prefix(self) -> str:
        """The entity's address, without a slash at its end."""
        return f"/admin/netaclaw/{self.name}"

    def urls(self) -> list[URLPattern]:
        """Its calls as URL patterns."""
        return [path(f"{self.prefix[1:]}/{action.path}", action.view.as_view()) for action in self.actions]

    def permission_keys(self, user: Any) -> list[str]:
        """The contract's permission keys of the calls that the user may make."""
        allowed = [action for action in self.actions if user.has_perms(_needed(action.view))]
        return [f"netaclaw:{self.name}:{action.path}" for action in allowed]


def _needed(view: type[CoolView]) -> tuple[str, ...]:
    return view.permission if isinstance(view.permission, tuple) else (view.permission,)


def page_numbers(body: Mapping[str, Any]) -> tuple[int, int]:
    """Page and size of a list request, each at least 1; a size over 1000 is capped."""
    page = max(1, whole_number(body.get("page"), 1))
    return page, min(max(1, whole_number(body.get("size"), 0) or PAGE_SIZE), MAX_SIZE)


def ids_of(body: Mapping[str, Any]) -> list[int]:
    """The ids of a delete request: an array, one value, or a comma list; raises InvalidInput for anything else."""
    given = body.get("ids")
    values = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    ids = [number_of(value) for value in values]
    if len(ids) > MAX_SIZE:
        raise InvalidInput(_("Send at most %(limit)d ids at once.") % {"limit": MAX_SIZE})
    if not ids or None in ids:
        raise InvalidInput(_("ids must be an array of numbers, such as [1, 2]."))
    return [number for number in ids if number is not None]


def number_of(value: Any) -> int | None:
    """An id as clients send it, a number or its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def required_id(values: Mapping[str, Any]) -> int:
    """The id of an info or update request; raises InvalidInput without one."""
    number = number_of(values.get("id"))
    if number is None:
        raise InvalidInput(_("The id is missing."))
    return number


class ModelView(CoolView):
    """A call on the rows of a Django model; a subclass names the model, its filters and its rows' fields."""

    permission: str | tuple[str, ...]
    model: ClassVar[type[Model]]
    filters: ClassVar[type[django_filters.FilterSet]]
    sortable: ClassVar[Mapping[str, str]] = {"id": "id"}
    row: ClassVar[Any]  # a function of one row that gives its fields

    def rows(self) -> QuerySet[Any]:
        """Where the rows come from."""
        return self.model._default_manager.all()

    def found(self, body: Mapping[str, Any]) -> QuerySet[Any]:
        """The rows that the filters leave, in the order asked for."""
        found: QuerySet[Any] = left_by(self.filters(data=_without_nothing(body), queryset=self.rows()))
        order, descending = sorting(body, self.sortable, "id")
        sign = "-" if descending else ""
        return found.order_by(f"{sign}{order}", f"{sign}id")

    def one(self, number: int) -> Any:
        """The row of an id; raises MemoryNotFound."""
        found = self.rows().filter(pk=number).first()
        if found is None:
            raise MemoryNotFound(_("There is no entry %(id)s; it may have been deleted.") % {"id": number})
        return found


class ModelPage(ModelView):
    """One page; beyond the end it is empty."""

    def post(self, request: Request) -> Response:
        body = self.body()
        found, (page, size) = self.found(body), page_numbers(body)
        total = found.count()
        start = (page - 1) * size
        shown = found[start : start + size] if start < total else []
        rows = [type(self).row(item) for item in shown]
        return ok({"list": rows, "pagination": {"page": page, "size": size, "total": total}})


class ModelList(ModelView):
    """All rows, in an array."""

    def post(self, request: Request) -> Response:
        return ok([type(self).row(item) for item in self.found(self.body())])


class ModelInfo(ModelView):
    """One row."""

    def get(self, request: Request) -> Response:
        return ok(type(self).row(self.one(required_id(request.query_params))))


class ModelAdd(CoolView):
    """Makes a row from an object, or several from an array of them, all or none."""

    def made(self, given: Sequence[dict[str, Any]]) -> Sequence[Model]:
        """Makes the rows."""
        raise NotImplementedError

    def post(self, request: Request) -> Response:
        ids = [row.pk for row in self.made(each(request.data))]
        return ok({"id": ids if isinstance(request.data, list) else ids[0]})


def each(data: Any) -> list[dict[str, Any]]:
    """The objects of an add request: one, or an array of them."""
    return [as_object(item) for item in data] if isinstance(data, list) else [as_object(data)]


def _without_nothing(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value not in (None, "", [])}
