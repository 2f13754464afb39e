"""How an operator's browser is set up: language, theme, screen."""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Look:
    """A browser's language, theme (`light` or `dark`) and screen in CSS pixels."""

    language: str = "en"
    theme: str = "light"
    width: int = 1280
    height: int = 800

    def __str__(self) -> str:
        return f"{self.language}-{self.theme}-{self.width}"

    @property
    def locale(self) -> str:
        return {"en": "en-US", "zh-hans": "zh-CN"}[self.language]


ENGLISH, CHINESE = Look(), Look("zh-hans")
DARK, CHINESE_DARK = Look(theme="dark"), Look("zh-hans", "dark")
PHONE, CHINESE_PHONE = Look(width=390, height=844), Look("zh-hans", width=390, height=844)

every_look = pytest.mark.parametrize("look", [ENGLISH, DARK, CHINESE, CHINESE_DARK], ids=str)
every_language = pytest.mark.parametrize("look", [ENGLISH, CHINESE], ids=str)
every_theme = pytest.mark.parametrize("look", [ENGLISH, DARK], ids=str)
on_phones = pytest.mark.parametrize("look", [PHONE, CHINESE_PHONE], ids=str)
