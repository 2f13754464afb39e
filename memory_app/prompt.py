"""What the model reads of the memory: the fenced context block and the prompt extension (first document, 6 and 7).

Stored text is data. It can't close the block (every sign that could open a tag is escaped), can't start a line of its
own (line breaks become ⏎), and so can't pose as another memory, a heading or a role.
"""

import re
from collections.abc import Iterable, Sequence

import regex

from memory_app.contracts import Hit
from memory_app.models import BUILTIN_TYPES, TypeInfo

OPEN, CLOSE = "<memory-context>", "</memory-context>"
LEAD = "以下是与当前对话可能相关的长期记忆："
EXTENSION_HEAD = """## 记忆系统
你拥有长期记忆能力。使用 memory_save 工具存储重要信息，使用 memory_recall 工具检索过往记忆。

记忆类型：
- user: 用户画像（偏好、角色、习惯）
- project: 项目知识（进展、决策、约束）
- feedback: 行为反馈（用户对你行为的纠正或确认）
- reference: 引用（外部资源链接、文档地址）"""
EXTENSION_TAIL = """

存储原则：
- 当用户透露个人偏好、角色、习惯时，存为 user 类型
- 当了解到项目进展、决策、约束时，存为 project 类型
- 当用户纠正或确认你的行为时，存为 feedback 类型
- 当提到外部资源链接时，存为 reference 类型
- 更新已有记忆而非创建重复条目
- 只存储对未来对话有价值的信息"""
BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
ANGLES = str.maketrans({"<": "&lt;", "＜": "&lt;", "﹤": "&lt;"})
SHORTEST = 40
TITLE = 120
ELLIPSIS = "…"
GRAPHEME = regex.compile(r"\X")
LONGEST_GRAPHEME = 32


def memory_context(hits: Sequence[Hit], characters: int) -> str:
    """The block for the system prompt, fence included, at most `characters` long; "" when there is nothing to say."""
    return fitting(hits, characters)[0]


def fitting(hits: Sequence[Hit], characters: int) -> tuple[str, int]:
    """The block, and how many of the hits are in it.

    Hits come in order, best first. When they don't all fit, the long ones are shortened to an equal length, so that one
    long memory can't push out the short ones; when too little of one would remain, the last hits are left out.
    """
    room = characters - len(f"{OPEN}\n{LEAD}\n{CLOSE}")
    whole = [(_head(hit), _body(hit)) for hit in hits]
    for number in range(len(whole), 0, -1):
        longest = _longest_that_fits([len(head) + len(text) + 1 for head, text in whole[:number]], room) - 1
        items = [_item(head, text, longest) for head, text in whole[:number]]
        if all(items):
            return "\n".join([OPEN, LEAD, *items, CLOSE]), number
    return "", 0


def is_whole(hit: Hit, block: str) -> bool:
    """Whether a hit's text is in the block without being shortened."""
    return f"{_head(hit)}{_body(hit)}\n" in block


def estimated_tokens(text: str) -> int:
    """Roughly what a model counts: a token for each character outside ASCII, one for four of the others."""
    ascii_only = sum(character.isascii() for character in text)
    return len(text) - ascii_only + (ascii_only + 3) // 4


def _head(hit: Hit) -> str:
    title = _line(hit.memory.name)
    return f"\n[{_line(hit.memory.type)}] {title if len(title) <= TITLE else _shortened(title, TITLE)}\n"


def _body(hit: Hit) -> str:
    """The text on one line that can't be taken for the `[type] title` of another memory."""
    text = _line(hit.memory.content)
    return f"\\{text}" if text.startswith("[") else text


def _longest_that_fits(lengths: Sequence[int], room: int) -> int:
    """The greatest length such that all items cut to it fit into `room` together."""
    for position, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - position)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _item(head: str, text: str, longest: int) -> str:
    left = longest - len(head)
    if len(text) <= left:
        return head + text
    return head + _shortened(text, left) if left >= SHORTEST else ""


def _shortened(text: str, characters: int) -> str:
    """Cut between what readers take for characters (a family of emoji is one), and not inside an escape."""
    end = characters - len(ELLIPSIS)
    border = max((found.start() for found in GRAPHEME.finditer(text[: end + 1])), default=0)
    cut = text[: border if end - border <= LONGEST_GRAPHEME else end]
    return re.sub(r"&(l|lt)?$", "", cut) + ELLIPSIS


def _line(text: str) -> str:
    return INVISIBLE.sub("", BREAKS.sub(" ⏎ ", text.strip())).translate(ANGLES)


def extension(types: Iterable[TypeInfo] = BUILTIN_TYPES) -> str:
    """The instructions after an agent's system prompt when its memory is on; operators' own types are named too."""
    builtin = {info.key for info in BUILTIN_TYPES}
    named = [info for info in types if info.key not in builtin]
    own = [f"\n- {_line(info.key)}: {_line(info.name)}（{_line(info.description)}）" for info in named]
    return EXTENSION_HEAD + "".join(own) + EXTENSION_TAIL


def system_prompt(base: str, context: str, types: Iterable[TypeInfo] = BUILTIN_TYPES) -> str:
    """An agent's whole system prompt: its own, the extension, and the context block when there is one."""
    return "\n\n".join(part for part in (base, extension(types), context) if part)
