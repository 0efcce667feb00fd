"""Connection to MongoDB: opened by the first call, with a timeout for every call and no secrets in messages."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from watersmeet.common.redaction import excerpt, secrets_of, shown
from watersmeet.core.errors import DatabaseDown, DatabaseProblem

if TYPE_CHECKING:
    from pymongo import MongoClient, WriteConcern
    from pymongo.collection import Collection
    from pymongo.database import Database
    from pymongo.errors import PyMongoError

Doc = dict[str, Any]
SCHEMES = ("mongodb://", "mongodb+srv://")
NOT_ALLOWED = frozenset({8000, 13, 18})
"""Codes of a refused login or right."""
_DOWN_HINT = "start it, or check the address and the network; searches go on with the last state"


class Connection:
    """A database of a MongoDB server. Writes are acknowledged once they are in the journal."""

    def __init__(self, uri: str, variable: str, database: str, namespace: str, seconds: float) -> None:
        """`variable`: that of the environment which the connection string comes from."""
        self._uri, self._database, self._namespace, self._seconds = uri, database, namespace, seconds
        self._variable = variable
        self._opened: MongoClient[Doc] | None = None
        self._lock = Lock()

    @property
    def place(self) -> str:
        """Address for messages, without secrets."""
        return shown(self._uri).partition("?")[0] if self._uri.startswith(SCHEMES) else "MongoDB"

    def name_of(self, base: str) -> str:
        """Name of a collection in the namespace."""
        return f"{base}_{self._namespace}" if self._namespace else base

    def collection(self, base: str) -> Collection[Doc]:
        return self.database[self.name_of(base)]

    @property
    def database(self) -> Database[Doc]:
        client = self._client
        from pymongo import ReadPreference

        name = client.get_default_database(self._database).name
        concern = self._write_concern(client)
        return client.get_database(name, write_concern=concern, read_preference=ReadPreference.PRIMARY)

    def _write_concern(self, client: MongoClient[Doc]) -> WriteConcern:
        """In the journal; of a replica set, in that of most members.

        A server alone is not asked for `majority`: killed, it had lost up to 55 of 62 acknowledged writes; with the
        journal alone none."""
        from pymongo import WriteConcern

        named = client.write_concern.document.get("w")
        replicas = self._uri.startswith(SCHEMES[1]) or client.options.replica_set_name
        w = named if named is not None else "majority" if replicas else None
        return WriteConcern(w=w, j=True) if w != 0 else WriteConcern(j=True)

    @property
    def _client(self) -> MongoClient[Doc]:
        with self._lock:  # threads share one client
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> MongoClient[Doc]:
        if not self._uri.startswith(SCHEMES):
            hint = f"set {self._variable} to one that begins with {' or '.join(SCHEMES)}"
            raise DatabaseProblem("there is no connection string of MongoDB", hint)
        milliseconds = int(self._seconds * 1000)
        options: dict[str, Any] = {"retryWrites": False} if "retrywrites=" not in self._uri.casefold() else {}
        with self.calls(), warnings.catch_warnings():
            from pymongo import MongoClient

            warnings.simplefilter("error", UserWarning)  # the driver would leave out an option that it does not know
            return MongoClient(
                self._uri,
                timeoutMS=milliseconds,
                serverSelectionTimeoutMS=milliseconds,
                connectTimeoutMS=milliseconds,
                appname="watersmeet",
                connect=False,
                **options,
            )

    @contextmanager
    def calls(self, seconds: float | None = None) -> Iterator[None]:
        """Calls of the driver, whose failures become a `DatabaseProblem`. `seconds`: a shorter timeout for them."""
        try:
            import pymongo
            from pymongo.errors import ConfigurationError, InvalidURI, PyMongoError
        except ModuleNotFoundError as error:
            raise DatabaseProblem("records in MongoDB need pymongo", "pip install 'watersmeet[mongodb]'") from error
        try:
            if seconds is None:
                yield
            else:
                with pymongo.timeout(seconds):
                    yield
        except (ConfigurationError, InvalidURI, UserWarning) as error:
            raise DatabaseProblem(
                f"the connection string of {self.place} cannot be used: {self._said(error)}",
                "check it; user and password must be percent-encoded",
            ) from None  # its cause may show the string
        except PyMongoError as error:
            raise self._problem(error) from None

    def _problem(self, error: PyMongoError) -> DatabaseProblem:
        from pymongo.errors import ConnectionFailure, OperationFailure

        if isinstance(error, OperationFailure) and not error.timeout:
            said = self._said(error)
            if error.code in NOT_ALLOWED:
                return DatabaseProblem(f"{self.place} refuses: {said}", "check user, password and rights")
            return DatabaseProblem(f"{self.place} refuses (code {error.code}): {said}")
        if isinstance(error, ConnectionFailure) or error.timeout:
            return DatabaseDown(f"{self.place} does not answer", _DOWN_HINT)
        return DatabaseProblem(f"{self.place}: {self._said(error)}")

    def _said(self, error: Exception) -> str:
        message = getattr(error, "details", None) or {}
        text = message.get("errmsg") if isinstance(message, dict) else None
        return excerpt(str(text or error), secrets_of(self._uri, {}))

    def close(self) -> None:
        with self._lock:
            client, self._opened = self._opened, None
        if client is not None:
            client.close()
