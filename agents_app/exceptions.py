"""What can go wrong in a chat: errors of the product's tree, with codes for programs."""

from memory_app.exceptions import NetaclawError, Refused


class AgentDisabled(Refused):
    """The agent is switched off."""

    code = "agent_disabled"


class ModelUnconfigured(Refused):
    """The agent has no model that it could ask."""

    code = "model_unconfigured"


class TooManyChats(NetaclawError):
    """This process answers as many chats as it may; `retry_after` is in seconds."""

    code = "busy"
    retry_after = 5


class ModelFailed(NetaclawError):
    """The model gave no answer; `code` says why, `detail` is the provider's own word, for operators only."""

    code = "model_failed"

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail
