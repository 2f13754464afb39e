"""Progress bars on the terminal's error stream, and nothing where that is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _
from rich.console import Console
from rich.progress import Progress


def progress_bar() -> Progress:
    """A bar that doesn't mix with the output of a command."""
    console = Console(stderr=True)
    return Progress(console=console, disable=not console.is_terminal)


@contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """Yields `advance(done, total)`, which moves a bar under `title`."""
    with progress_bar() as progress:
        task = progress.add_task(title, total=None, visible=False)
        yield lambda done, total: progress.update(task, completed=done, total=total, visible=True)


@contextmanager
def adopting() -> Iterator[Callable[[int, int], None]]:
    """A bar for giving rows their terms."""
    with counted(_("Indexing memories")) as advance:
        yield advance
