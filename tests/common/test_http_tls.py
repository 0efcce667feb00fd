"""The client over TLS: the certificate must be that of the name, whatever address the name has."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from watersmeet.common import http
from watersmeet.common.addresses import Guard
from watersmeet.common.http import Client
from watersmeet.core.errors import AddressRefused, NoReply
from web import Site, answer, leads_to, running

DAY = datetime.timedelta(days=1)


def certificate(folder: Path, name: str) -> Path:
    """A file with a key and its certificate for a name, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@dataclass
class Secure:
    site: Site
    names: list[str | None] = field(default_factory=list)  # that clients asked for

    def url(self, host: str) -> str:
        return f"https://{host}:{self.site.server_port}/x"


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secure]:
    """A site that is docs.test, on a machine that every name of .test leads to."""
    file = certificate(tmp_path, "docs.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    found = Secure(Site(tls=context))
    context.sni_callback = lambda _, name, __: found.names.append(name)
    trusting = ssl.create_default_context(cafile=str(file))
    monkeypatch.setattr(http, "tls", lambda: trusting)
    real = socket.getaddrinfo

    def look_up(host: str, *rest: object, flags: int = 0, **named: object) -> object:
        numeric = flags & socket.AI_NUMERICHOST
        return real("127.0.0.1" if host.endswith(".test") and not numeric else host, *rest, flags=flags, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with running(found.site):
        yield found


def client(timeout: float = 5.0) -> Client:
    return Client(guard=None, timeout=timeout, backoff=0.001)


def test_the_name_is_asked_for_and_checked(secure: Secure) -> None:
    assert client().get(secure.url("docs.test")).body == b"fine"
    assert secure.names == ["docs.test"]
    assert secure.site.headers[0]["Host"] == f"docs.test:{secure.site.server_port}"


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1"])
def test_a_certificate_for_another_name_is_refused_at_once(secure: Secure, host: str) -> None:
    with pytest.raises(NoReply, match=r"cannot be reached: .*certificate verify failed") as caught:
        client().get(secure.url(host))
    assert "tries" not in str(caught.value)
    assert secure.site.paths == []


def test_a_redirect_is_judged_before_it_is_asked(secure: Secure) -> None:
    secure.site.always = leads_to("https://other.test/")
    with pytest.raises(AddressRefused, match=r"other\.test"):
        Client(guard=Guard(("docs.test",))).get(secure.url("docs.test"))
    assert secure.names == ["docs.test"]


@pytest.mark.slow
def test_a_handshake_that_does_not_end(secure: Secure) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(NoReply, match="within"):
            client(0.2).get(f"https://docs.test:{silent.getsockname()[1]}")


def test_no_tls_there() -> None:
    with running(Site()) as plain, pytest.raises(NoReply):
        client().get(plain.url.replace("http", "https"))


def test_several_at_once(secure: Secure) -> None:
    secure.site.always = answer(bytes(300_000))
    sizes: list[int] = []
    shared = client()
    threads = [
        threading.Thread(target=lambda: sizes.append(len(shared.get(secure.url("docs.test")).body))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == [300_000] * 8
