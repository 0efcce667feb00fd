"""A server in front of another that stops answering for some paths, as one does that is too busy."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Stalling:
    """Passes connections on to a port of this machine, or to a socket. What asks for a path with `on` in it is never
    passed on, and nothing is while it is `silent`."""

    def __init__(self, target: int | str) -> None:
        self._target, self.on, self.silent = target, b"", False
        self.stalled = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Stalling:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = self._connected()
                self._open += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _connected(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target))
        made = socket.socket(socket.AF_UNIX)
        made.connect(self._target)
        return made

    def _pass_on(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while block := source.recv(1 << 16):
                if asks and self.on and self.on in block.partition(b"\r\n")[0]:
                    self.stalled += 1
                    return
                while self.silent:
                    time.sleep(0.02)
                target.sendall(block)
            target.shutdown(socket.SHUT_WR)
