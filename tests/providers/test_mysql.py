import json

import pytest
from django.conf import settings
from django.db import OperationalError, connections

from memory_app.contracts import PageQuery, Scope, SearchOptions
from memory_app.exceptions import StoreUnavailable
from memory_app.providers.mysql import STRIPES, MysqlProvider, _stripe
from tests.conftest import draft
from tests.providers.contract import ANN, ProviderContract, find

SERVERS = [name for name in ("mysql", "mariadb") if name in settings.DATABASES]
DATABASES = ["default", *SERVERS, *(f"{name}-replica-1" for name in SERVERS)]

if SERVERS:  # script/test says which servers were given

    @pytest.mark.django_db(transaction=True, databases=DATABASES)
    @pytest.mark.parametrize("alias", SERVERS)
    class TestMysqlProvider(ProviderContract):
        """The contract on real servers, outside of transactions, as the product uses them."""

        @pytest.fixture
        def provider(self, alias: str) -> MysqlProvider:
            with connections[alias].cursor() as cursor:
                cursor.execute("DELETE FROM netaclaw_memory")
            return MysqlProvider(alias)

    def lost_once(provider: MysqlProvider, monkeypatch, code: int) -> list[int]:
        """Makes the next save fail once, with the error of a lost connection or a deadlock."""
        attempts: list[int] = []
        real = provider._row

        def row(draft):
            attempts.append(1)
            if len(attempts) == 1:
                raise OperationalError(code, "test")
            return real(draft)

        monkeypatch.setattr(provider, "_row", row)
        return attempts

    @pytest.fixture
    def store(alias: str) -> MysqlProvider:
        with connections[alias].cursor() as cursor:
            cursor.execute("DELETE FROM netaclaw_memory")
        return MysqlProvider(alias)

    on_servers = [
        pytest.mark.django_db(transaction=True, databases=DATABASES),
        pytest.mark.parametrize("alias", SERVERS),
    ]

    def on_each_server(test):
        for mark in on_servers:
            test = mark(test)
        return test

    @on_each_server
    @pytest.mark.parametrize("code", [1213, 1205, 2006, 2013])
    def test_it_repeats_a_whole_operation_after_a_deadlock_or_a_lost_connection(store, alias, monkeypatch, code):
        attempts = lost_once(store, monkeypatch, code)
        assert store.save(draft("tea")).outcome == "created"
        assert len(attempts) == 2
        assert store.count(PageQuery()) == 1

    @on_each_server
    def test_it_gives_up_after_a_bounded_number_of_attempts(store, alias, monkeypatch):
        attempts: list[int] = []

        def row(draft):
            attempts.append(1)
            raise OperationalError(1213, "SELECT secret")

        monkeypatch.setattr(store, "_row", row)
        with pytest.raises(StoreUnavailable) as caught:
            store.save(draft("tea"))
        assert len(attempts) == store.attempts
        assert "SELECT" not in caught.value.message

    @on_each_server
    def test_it_survives_a_killed_connection(store, alias):
        store.save(draft("tea"))
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            number = cursor.fetchone()[0]
        other = connections[alias].copy()
        with other.cursor() as cursor:
            cursor.execute(f"KILL {number}")
        other.close()
        assert find(store, "tea") == ["tea"]

    @on_each_server
    def test_it_stops_a_search_that_takes_too_long(store, alias):
        store.save_many([draft(f"whale {n} " + "x" * 60_000) for n in range(250)])
        with pytest.raises(StoreUnavailable):
            store.search("walrus", SearchOptions(Scope.all_users("helper"), seconds=0.001))
        assert find(store, "whale", limit=1, seconds=60)

    @on_each_server
    def test_it_reads_from_a_replica_and_falls_back_to_its_source(store, alias, settings, monkeypatch):
        replica = connections[f"{alias}-replica-1"]
        settings.REPLICAS = {alias: (replica.alias,)}
        store.save(draft("tea"))
        assert find(store, "tea") == ["tea"]
        assert replica.connection is not None
        replica.close()
        monkeypatch.setitem(replica.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(replica.settings_dict, "PORT", "1")
        assert find(MysqlProvider(alias), "tea") == ["tea"]
        assert replica.connection is None

    @on_each_server
    def test_it_keeps_metadata_to_the_letter(store, alias):
        metadata = {"zz": 2**70, "a": 1.10, "中": "🙂", "b": {"y": None, "x": [1, 2.0]}}
        memory = store.save(draft("tea", metadata=metadata)).memory
        shown = store.get(ANN, memory.id).metadata
        assert json.dumps(shown) == json.dumps(metadata)

    @on_each_server
    def test_it_holds_no_owners_lock_after_a_save_that_had_to_wait(store, alias, monkeypatch):
        monkeypatch.setattr("memory_app.providers.mysql.LOCK_SECONDS", 1)
        drafts = [draft(f"text {n}", Scope("helper", f"user{n}")) for n in range(40)]
        held = f"netaclaw.{connections[alias].settings_dict['NAME']}"[:60] + f".{_stripe(drafts[7])}"
        other = connections[alias].copy()
        with other.cursor() as cursor:
            cursor.execute("SELECT GET_LOCK(%s, 0)", [held])
            with pytest.raises(StoreUnavailable):
                store.save_many(drafts)
            cursor.execute("SELECT RELEASE_LOCK(%s)", [held])
            store.save_many(drafts)
            names = [held.rsplit(".", 1)[0] + f".{stripe}" for stripe in range(STRIPES)]
            for name in names:
                cursor.execute("SELECT IS_USED_LOCK(%s)", [name])
                assert cursor.fetchone() == (None,)
        other.close()
