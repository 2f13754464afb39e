"""What one page keeps for the next: files of the data directory that only their owner can name, gone after a day.

A session would carry such amounts with every request, and the cache may drop anything at any moment.
"""

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

SECONDS = 24 * 3600
TOKEN = re.compile("[0-9a-f]{32}")


def new_token() -> str:
    """A name that can't be guessed."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Kept:
    """A value, and a file beside it, under a token that an owner was given."""

    owner: int
    token: str

    @property
    def path(self) -> Path:
        """Where the value is; a token is hashed, so that it can be any text."""
        name = hashlib.sha256(f"{self.owner}:{self.token}".encode()).hexdigest()
        return Path(settings.DATA_DIR) / "console" / f"{name}.json"

    @property
    def file(self) -> Path:
        """Where the file is."""
        return self.path.with_suffix(".file")

    def next(self, purpose: str) -> "Kept":
        """The one place that follows on this one for a purpose, whoever asks and however often."""
        return Kept(self.owner, hashlib.sha256(f"{self.token}:{purpose}".encode()).hexdigest()[:32])

    def claim(self, value: Any) -> bool:
        """Keeps the value unless there is one: of several that try, one succeeds."""
        sweep()
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return True

    def write(self, value: Any) -> None:
        """Keeps another value; who reads meanwhile sees the old one or the new one."""
        part = self.path.with_suffix(f".{secrets.token_hex(4)}.part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            json.dump(value, file)
        part.replace(self.path)

    def read(self) -> Any:
        """The value, or None when there is none, or none any more."""
        try:
            return json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def write_file(self, chunks: Iterable[bytes]) -> None:
        """Keeps a file beside the value."""
        sweep()
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(chunks)

    def remove_file(self) -> None:
        """The file is no longer needed; the value stays for its day."""
        self.file.unlink(missing_ok=True)


def sweep() -> None:
    """Makes the directory and removes what is older than a day."""
    directory = Path(settings.DATA_DIR) / "console"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in directory.iterdir():
        try:
            if path.stat().st_mtime < time.time() - SECONDS:
                path.unlink()
        except OSError:
            continue  # another worker was faster
