import pytest
from django.conf import settings
from django.db import connections

from memory_app.providers.mysql import MysqlProvider
from tests.providers.contract import ProviderContract

SERVERS = [name for name in ("mysql", "mariadb") if name in settings.DATABASES]

if SERVERS:  # script/test says which servers were given

    @pytest.mark.django_db(transaction=True, databases=["default", *SERVERS])
    @pytest.mark.parametrize("alias", SERVERS)
    class TestMysqlProvider(ProviderContract):
        """The contract on real servers, outside of transactions, as the product uses them."""

        @pytest.fixture
        def provider(self, alias: str) -> MysqlProvider:
            with connections[alias].cursor() as cursor:
                cursor.execute("DELETE FROM netaclaw_memory")
            return MysqlProvider(alias)
