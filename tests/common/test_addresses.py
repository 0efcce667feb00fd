"""Which addresses are public, whatever they are written in."""

from __future__ import annotations

import socket
from threading import Event

import pytest

from watersmeet.common.addresses import Address, Guard, Target, is_public, parse, resolve
from watersmeet.core.errors import AddressRefused, NoReply

PUBLIC = """
    1.1.1.1 93.184.216.34 2606:4700::1111 2a00:1450:4001::1
    ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2002:101:101::1
"""
PRIVATE = """
    127.0.0.1 127.8.8.8 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 192.0.2.1 198.18.0.1
    224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    :: ::1 fe80::1 fe80::1%1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 ff0e::1 2001:db8::1 100::1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::ffff:0:127.0.0.1
    64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1.1.1.1
    2002:7f00:1::1 2002:a9fe:a9fe::1 2002:c0a8:101:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
"""


@pytest.mark.parametrize("ip", PUBLIC.split())
def test_public(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize("ip", PRIVATE.split())
def test_private(ip: str) -> None:
    assert not is_public(ip)


def refused(url: str, *ips: str, allowed: tuple[str, ...] = ()) -> bool:
    try:
        Guard(allowed).check(parse(url), [Address(socket.AF_INET, (ip, 80)) for ip in ips])
    except AddressRefused:
        return True
    return False


def test_one_private_address_of_several_is_enough() -> None:
    assert not refused("http://docs.test/", "1.1.1.1", "1.0.0.1")
    assert refused("http://docs.test/", "1.1.1.1", "10.0.0.1")


def test_what_the_user_allows() -> None:
    for allowed in ("localhost", "LocalHost", "localhost:8000"):
        assert not refused("http://localhost:8000/docs", "127.0.0.1", allowed=(allowed,))
    assert refused("http://localhost:8000/docs", "127.0.0.1", allowed=("localhost:80", "host", "calhost"))
    assert refused("http://127.0.0.1:8000/docs", "127.0.0.1", allowed=("localhost",))
    assert not refused("http://[::1]/", "::1", allowed=("::1",))
    assert refused("http://localhost.evil.test/", "127.0.0.1", allowed=("localhost",))


@pytest.mark.parametrize(
    "spelling", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:7f00:1]", "１２７.0.0.1"]
)
def test_however_an_address_is_spelt_the_connection_is_judged(spelling: str) -> None:
    target = parse(f"http://{spelling}/")
    with pytest.raises(AddressRefused):
        Guard().check(target, resolve(target.host, target.port, 5))


def test_an_address_is_taken_apart() -> None:
    found = parse("https://me:p%40ss@Exämple.TEST.:8443/a b/ü?q=x y#part")
    assert found == Target("https", "xn--exmple-cua.test", 8443, "/a%20b/%C3%BC?q=x%20y", "me:p%40ss")
    assert found.host_header == "xn--exmple-cua.test:8443"
    assert found.url == "https://me:p%40ss@xn--exmple-cua.test:8443/a%20b/%C3%BC?q=x%20y"
    assert parse("http://[2606:4700:0::1111]").url == "http://[2606:4700::1111]/"
    assert parse("https://a.test:443/x%20y").url == "https://a.test/x%20y"
    assert parse(parse("http://a.test/?a=%26&b").url).url == "http://a.test/?a=%26&b"
    # As every client must: what is before the last @ is a user, and not the host that is judged.
    assert parse("http://good.test@evil.test/").host == "evil.test"


NO_ADDRESSES = r"""
    docs //docs.test ftp://docs.test ftp://docs.test:80/ file:///etc/passwd javascript:alert(1) http:// http:///x http://a.test:x/
    http://a.test:0/ http://a.test:99999/ http://[::1 http://[v1.a]/ http://[fe80::1%25eth0/]/ http://a.test\x/
"""


@pytest.mark.parametrize("url", ["", "http://a b/", f"http://{'ü' * 70}.test/", *NO_ADDRESSES.split()])
def test_what_is_no_web_address(url: str) -> None:
    with pytest.raises(NoReply, match="not a web address"):
        parse(url)


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a..b", "x" * 70 + ".test"])
def test_a_name_that_nobody_has(host: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        resolve(host, 80, 20)


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = Event()

    def stuck(host: str, port: int, *, flags: int = 0, **_: object) -> list[object]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        let_go.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    with pytest.raises(TimeoutError):
        resolve("docs.test", 80, 0.05)
    let_go.set()
