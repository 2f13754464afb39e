"""Where .db files may lie: inside the data directory, whatever an operator, an import or a symbolic link says."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from django.utils.translation import gettext as _

from memory_app.contracts import Backend
from memory_app.exceptions import StoreRejected

DEFAULT_SQLITE_PATH = "memory/memory.db"
SERVED = "static"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A store: for `mysql` a database ("" for the main one), for `sqlite` a file ("" for the one that agents share)."""

    backend: str
    database: str = ""
    sqlite_path: str = ""

    def normal(self) -> "Place":
        """One spelling for one store."""
        if self.backend == Backend.MYSQL:
            return Place(self.backend, self.database)
        return Place(self.backend, "", str(PurePosixPath(self.sqlite_path or DEFAULT_SQLITE_PATH)))


def resolve(data_dir: Path, sqlite_path: str) -> Path:
    """The absolute path of an agent's file; raises StoreRejected unless it is a .db file inside `data_dir`."""
    relative = PurePosixPath(sqlite_path or DEFAULT_SQLITE_PATH)
    if relative.is_absolute() or ".." in relative.parts or "\\" in str(relative) or ":" in str(relative):
        raise StoreRejected(
            _("The SQLite file must be named relative to the data directory, for example memory/sales.db.")
        )
    if relative.suffix != ".db" or len(relative.name) < 4:
        raise StoreRejected(_("The SQLite file's name must end in .db, for example memory/sales.db."))
    if relative.parts[0].lower() == SERVED:
        raise StoreRejected(_("Files under static/ are served to everybody; put the SQLite file elsewhere."))
    path = data_dir / relative
    if not path.resolve().is_relative_to(data_dir.resolve()):
        raise StoreRejected(_("The SQLite file lies outside the data directory; remove the link or name another file."))
    if path.resolve().is_relative_to((data_dir / SERVED).resolve()):
        raise StoreRejected(_("Files under static/ are served to everybody; put the SQLite file elsewhere."))
    return path.resolve()
