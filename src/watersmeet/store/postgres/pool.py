"""Connections to PostgreSQL, taken from a pool. A connection that is lost is replaced by the next statement."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from watersmeet.common.redaction import HIDDEN, excerpt, secrets_of, shown
from watersmeet.core.errors import ConfigError, DatabaseDown, DatabaseProblem, DiskFull, WatersmeetError

if TYPE_CHECKING:
    import psycopg

    Db = psycopg.Connection[Any]

DEFAULT_NAME = "main"
_HOST = r"(?:[\w.-]*|\[[0-9A-Fa-f:.]*\])(?::\d*)?"
_HOSTS = re.compile(f"{_HOST}(?:,{_HOST})*")
"""Hosts of an address: libpq takes several, each with a port."""
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
MAX_NAME = 40
DOWN_HINT = "start it, or check the address and the network; the next command or query connects again"
TLS_HINT = "check sslmode and sslrootcert in the address, and which name and authority the server's certificate has"
_TLS = re.compile(r"certificate|SSL error|does not support SSL|sslmode|sslrootcert", re.IGNORECASE)
GRACE_SECONDS = 1.0
"""How much longer an answer is waited for than the server may take: it should say itself that it took too long."""
IDLE = 8
"""Connections kept open."""


class Address(NamedTuple):
    """An address of an index: what libpq connects to, the `index`, and the `generation` of it, if it names one."""

    database: str
    name: str
    generation: int | None = None

    @property
    def query(self) -> str:
        return f"index={self.name}" + (f"&generation={self.generation}" if self.generation is not None else "")

    @property
    def text(self) -> str:
        """With its secrets."""
        return f"{self.database}{'&' if '?' in self.database else '?'}{self.query}"

    @property
    def shown(self) -> str:
        """For messages, without secrets."""
        parts = urlsplit(self.database)
        hosts = parts.netloc.rpartition("@")[2]
        sound = _HOSTS.fullmatch(hosts) and "@" not in parts.path  # else it may be a part of a password
        return f"postgresql://{hosts or 'localhost'}{parts.path}?{self.query}" if sound else f"{HIDDEN}?{self.query}"


def address_of(place: str) -> Address:
    place = place.replace("#", "%23")  # a database's address has no fragment, but a password may have the sign
    try:
        parts = urlsplit(place)
    except ValueError:
        raise ConfigError("the address of the index cannot be read", "postgresql://HOST/DATABASE?index=NAME") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    name, generation = options.pop("index", DEFAULT_NAME), options.pop("generation", "")
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ConfigError(
            f"an index cannot be called {name!r}", "use small letters, digits and single underscores: ?index=team_a"
        )
    if generation and not (generation.isascii() and generation.isdecimal()):
        raise ConfigError(f"a generation cannot be called {generation!r}", "leave it out: the current one is meant")
    database = place.partition("?")[0]  # as it is written: without a host it begins with ///
    database += f"?{urlencode(options)}" if options else ""
    return Address(database, name, int(generation) if generation else None)


@dataclass
class Pool:
    """Connections to one database, whose tables are looked for in these schemas."""

    address: str
    seconds: float
    statement_seconds: float
    schemas: tuple[str, ...] = ()
    _free: list[Db] = field(default_factory=list, init=False)
    _closed: bool = field(default=False, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @property
    def place(self) -> str:
        """The address without secrets."""
        return shown(self.address)

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """One statement, which is one call and sees one state of the database. It is repeated if the connection was
        lost while nobody used it, so it only reads."""
        start = time.monotonic()
        for again in (True, False):
            with self.errors():
                connection, used = self._taken(self.seconds)
                try:
                    found = connection.execute(sql, values).fetchall()
                except self._lost():
                    self._close(connection)
                    self._close_idle()
                    if used and again and time.monotonic() < start + self.seconds:
                        continue
                    raise
                except BaseException:
                    self._give_back(connection)
                    raise
                self._give_back(connection)
                return found
        raise AssertionError("the loop returns or raises")

    @contextmanager
    def connection(self) -> Iterator[Db]:
        """A connection for several statements."""
        with self.errors():
            connection = self._checked()
            try:
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def transaction(self) -> Iterator[Db]:
        with self.connection() as db, db.transaction():
            yield db

    def close(self) -> None:
        """Close idle connections now, and each other one when it is given back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            self._close(connection)

    # ------------------------------------------------------------ connections

    def _taken(self, seconds: float) -> tuple[Db, bool]:
        """A connection for statements that take so long at most, and whether it was used before."""
        with self._lock:
            found = self._free.pop() if self._free else None
        connection = self._connected() if found is None else found
        connection.seconds = seconds + GRACE_SECONDS  # type: ignore[attr-defined] # of a timed connection
        return connection, found is not None

    def _checked(self) -> Db:
        """A connection that answers."""
        while True:
            connection, used = self._taken(self.seconds)
            try:
                if used:
                    connection.execute("SELECT 1")
            except self._lost():
                self._close(connection)
                self._close_idle()
            else:
                connection.seconds = self.statement_seconds + GRACE_SECONDS  # type: ignore[attr-defined] # as above
                return connection

    def _connected(self) -> Db:
        options = f"-c timezone=UTC -c statement_timeout={round(self.statement_seconds * 1000)}"
        if self.schemas:
            options += f" -c search_path={','.join(self.schemas)}"
        connection: Db = _timed_connection().connect(
            self.address,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, round(self.seconds)),
            options=options,
            application_name="watersmeet",
        )
        return connection

    def _give_back(self, connection: Db) -> None:
        psycopg = _driver()
        idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if idle and not (connection.closed or self._closed) and len(self._free) < IDLE:
                self._free.append(connection)
                return
        self._close(connection)

    @staticmethod
    def _close(connection: Db) -> None:
        with suppress(Exception):
            connection.close()

    @staticmethod
    def _lost() -> tuple[type[Exception], ...]:
        psycopg = _driver()
        return psycopg.OperationalError, psycopg.InterfaceError

    # ------------------------------------------------------------ errors

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors of the driver, as errors with a hint and without secrets."""
        psycopg = _driver()
        try:
            yield
        except (WatersmeetError, psycopg.errors.LockNotAvailable):
            raise
        except psycopg.errors.DiskFull as error:
            raise DiskFull(f"{self.place}: {self._said(error)}", "make room; nothing was lost") from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseProblem(f"{self.place} refuses: {self._said(error)}", "check user and rights") from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            said = self._said(error)
            if _TLS.search(said):
                raise DatabaseProblem(f"{self.place}: {said}", TLS_HINT) from None
            if "authentication failed" in said or "does not exist" in said:
                raise DatabaseProblem(f"{self.place} refuses: {said}", "check user, password and database") from None
            raise DatabaseDown(f"{self.place} does not answer: {said}", DOWN_HINT) from None
        except psycopg.ProgrammingError as error:
            if 'missing "="' in str(error) or ("invalid" in str(error) and not error.sqlstate):
                raise ConfigError(f"{self.place} cannot be used: {self._said(error)}", "check the address") from None
            raise DatabaseProblem(f"{self.place}: {self._said(error)}") from error
        except psycopg.Error as error:
            raise DatabaseProblem(f"{self.place}: {self._said(error)}") from None

    def _said(self, error: Exception) -> str:
        return excerpt(str(error), secrets_of(self.address, {}))


@cache
def _timed_connection() -> Any:
    """Connections that give up on a server that is there and says nothing, which no timeout of its own ends."""
    driver = _driver()

    class TimedConnection(driver.Connection):  # type: ignore[misc, name-defined] # it is loaded when it is used
        seconds = 60.0

        def wait(self, gen: Any, *rest: Any, **named: Any) -> Any:
            return super().wait(_limited(gen, self.seconds, driver.OperationalError), *rest, **named)

    return TimedConnection


def _limited(waiting: Any, seconds: float, late: type[Exception]) -> Generator[Any, Any, Any]:
    """What the driver waits for, ended if nothing comes for so long."""
    end = time.monotonic() + seconds
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                raise late(f"nothing for {seconds:g} s")
            wanted = waiting.send(ready)
    except StopIteration as done:
        return done.value


def _driver() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise ConfigError("an index in PostgreSQL needs psycopg", "pip install 'watersmeet[cluster]'") from error
    return psycopg


def copy(db: Db, table: str, columns: str, lines: Sequence[Sequence[Any]]) -> None:
    """Add lines to a table in bulk."""
    if lines:
        with db.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copying:
            for line in lines:
                copying.write_row(line)
