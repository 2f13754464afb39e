"""The demo agent: a handful of memories, Chinese and English, to look at in a new installation and to throw away."""

from agents_app import services
from agents_app.models import Agent
from memory_app import services as memory_services
from memory_app.contracts import SHARED, MemoryDraft

NAME = "demo"
USER = "demo-user"
PROMPT = "你是一位贴心的助理。You are a thoughtful assistant."
MEMORIES = (
    ("user", "用户偏好-简洁风格", "用户偏好简洁直接的回答风格，不喜欢冗长的解释。", "回答风格", USER),
    ("user", "花生过敏", "用户对花生过敏，推荐餐厅或菜谱时要避开含花生的菜。", "饮食禁忌", USER),
    (
        "user",
        "Morning coffee",
        "Prefers decaf coffee after 3pm; two espressos are fine in the morning.",
        "Drinks",
        USER,
    ),
    ("project", "当前冲刺目标", "本周冲刺目标是完成支付模块重构，12月18日前交付测试。", "支付模块进度", USER),
    (
        "project",
        "Payment service language",
        "The payment service is being rewritten from Python 2.7 to Go 1.23; the ledger stays on MySQL 8.",
        "Technical decision",
        USER,
    ),
    ("feedback", "不要自动格式化代码", "用户明确要求不要自动格式化代码，保持原有风格。", "代码风格反馈", USER),
    (
        "feedback",
        "Tests before refactoring",
        "Asked to see failing tests first, before any refactoring is proposed.",
        "",
        USER,
    ),
    (
        "reference",
        "值班手册",
        "值班与回滚步骤见内部文档 /docs/oncall/rollback.md，紧急联系人在文末。",
        "运维文档",
        SHARED,
    ),
    (
        "reference",
        "Design tokens",
        "Colours and spacing: docs/design/tokens.md.",
        "Shared style guide",
        SHARED,
    ),
)


def add() -> int:
    """Makes the demo agent with its memories, and returns their number; makes nothing, 0, where there is any agent."""
    if Agent.objects.exists():
        return 0
    services.create_agent(
        NAME, label="示例 Demo", description="Try the memory with it, then delete it.", system_prompt=PROMPT
    )
    drafts = [
        MemoryDraft(NAME, user, type, name, content, description, metadata={"source": "demo"})
        for type, name, content, description, user in MEMORIES
    ]
    return len(memory_services.save_many(drafts))


def remove() -> int:
    """Deletes the demo agent and its memories; returns how many memories there were, -1 when there is no demo agent."""
    agent = Agent.objects.filter(name=NAME).first()
    return services.delete_agent(agent) if agent else -1
