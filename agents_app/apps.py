from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AgentsAppConfig(AppConfig):
    name = "agents_app"
    verbose_name = _("Agents")

    def ready(self) -> None:
        from agents_app import conversation
        from memory_app import forgetting

        trace = forgetting.Trace("messages", _("messages"), conversation.count_of_user, conversation.erase_user)
        forgetting.TRACES[trace.name] = trace
