"""The client against a real server that misbehaves."""

from __future__ import annotations

import email.utils
import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watersmeet.common.addresses import Guard
from watersmeet.common.http import Cancellation, Client, Reply, Stream, Version, _seconds
from watersmeet.core.errors import AddressRefused, NoReply, Stopped, Unreachable
from web import Site, answer, leads_to, raw, running, stream

HEAD = b"HTTP/1.1 200 OK\r\n"
LATE = 10.0
"""Seconds that no test comes near, unless a deadline is evaded: then what it waits for takes longer."""


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as made:
        yield made


def client(**options: Any) -> Client:
    return Client(**{"guard": None, "timeout": 5.0, "deadline": 20.0, "backoff": 0.001, **options})


def test_what_is_asked_and_what_is_answered(site: Site) -> None:
    site.script = [answer(b"\x00page", headers={"Content-Type": "text/x"})]
    reply = client().get(f"{site.url}/a b?q=ü#part", {"X-One": "1"})
    assert (reply.status, reply.body, reply.headers["content-type"]) == (200, b"\x00page", "text/x")
    assert (site.paths, reply.url) == (["/a%20b?q=%C3%BC"], f"{site.url}/a%20b?q=%C3%BC")
    assert site.headers[0] == {
        "Host": site.url.removeprefix("http://"),
        "User-Agent": "watersmeet",
        "Accept": "*/*",
        "Accept-Encoding": "gzip",
        "Connection": "close",
        "X-One": "1",
    }


def test_nothing_of_the_environment_is_heeded(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert client().get(site.url).body == b"fine"
    assert "Authorization" not in site.headers[0]


# ---------------------------------------------------------------- deadlines


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beginning", "part"),
    [
        (b"", b"H"),
        (HEAD, b"X"),
        (HEAD, b"X-A: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD + b"Content-Length: 99999\r\n\r\n", b"x"),
        (HEAD + b"\r\n", b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n"),
    ],
)
def test_a_drip_does_not_evade_the_deadline(site: Site, beginning: bytes, part: bytes) -> None:
    site.always = stream(beginning, part, every=0.05)
    begin = time.monotonic()
    with pytest.raises(NoReply, match="did not answer within") as caught:
        client(deadline=0.6, timeout=0.4).get(site.url)
    assert time.monotonic() - begin < LATE
    assert caught.value.hint


@pytest.mark.slow
def test_an_error_that_drips_is_known_by_its_status(site: Site) -> None:
    site.always = stream(b"HTTP/1.1 404 Gone\r\nContent-Length: 99999\r\n\r\n", b"x", every=0.05)
    assert client(timeout=0.5).get(site.url).status == 404


@pytest.mark.slow
def test_a_server_that_takes_nothing_or_says_nothing() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(NoReply, match="within"):
            client(deadline=0.3).get(url)
        with pytest.raises(NoReply, match="within"):
            client(deadline=0.3, timeout=LATE).post(url, bytes(50 << 20))  # more than the system keeps for it
        assert time.monotonic() - begin < LATE


@pytest.mark.slow
def test_the_deadline_is_for_all_tries_together(site: Site) -> None:
    site.always = stream(b"", b"x", every=0.05)
    begin = time.monotonic()
    with pytest.raises(NoReply, match="tries"):
        client(deadline=1.0, timeout=0.2, retries=10_000).get(site.url)
    assert time.monotonic() - begin < LATE
    assert len(site.paths) <= 5


@pytest.mark.slow
def test_the_deadline_is_for_all_redirects_together(site: Site) -> None:
    site.always = stream(b"HTTP/1.1 302 On\r\nLocation: /\r\nContent-Length: 0", b"\r\n", every=0.1)
    begin = time.monotonic()
    with pytest.raises(NoReply, match="within"):
        client(deadline=1.0, redirects=10_000).get(site.url)
    assert time.monotonic() - begin < LATE


# ---------------------------------------------------------------- tries


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(site: Site, status: int) -> None:
    site.script = [answer(b"no", status)] * 2
    reply = client().get(site.url)
    assert (reply.status, reply.tries, len(site.paths)) == (200, 3, 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 501])
def test_what_will_not_pass_is_not(site: Site, status: int) -> None:
    site.always = answer(b"no", status)
    reply = client().get(site.url)
    assert (reply.status, reply.body, reply.tries, len(site.paths)) == (status, b"no", 1, 1)


def test_the_last_answer_counts(site: Site) -> None:
    site.always = answer(b"busy", 503)
    reply = client(retries=2).get(site.url)
    assert (reply.status, reply.tries, len(site.paths)) == (503, 3, 3)
    assert reply.error == f"{site.url}/ answered 503 Service Unavailable (3 tries): busy"


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN = {
    "nothing": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a head": HEAD + b"Content-Le",
    "too short": HEAD + b"Content-Length: 10\r\n\r\nhalf",
    "half a chunk": CHUNKED + b"a\r\nhalf",
    "no last chunk": CHUNKED + b"4\r\nhalf\r\n",
    "a chunk of no size": CHUNKED + b"wide\r\nhalf\r\n0\r\n\r\n",
    "a chunk of less than nothing": CHUNKED + b"-5\r\nhalf\r\n0\r\n\r\n",
    "a long line": HEAD + b"X: " + b"x" * 70_000,
    "many headers": HEAD + b"X: x\r\n" * 200 + b"\r\n",
    "half a gzip": HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"page" * 99, mtime=0)[:-9],
    "no gzip": HEAD + b"Content-Encoding: gzip\r\n\r\npage",
    "another encoding": HEAD + b"Content-Encoding: br\r\n\r\npage",
}


@pytest.mark.slow
@pytest.mark.parametrize("answered", BROKEN.values(), ids=BROKEN)
def test_half_an_answer_is_none_and_tried_again(site: Site, answered: bytes) -> None:
    site.script = [raw(answered)]
    assert client().get(site.url).tries == 2
    site.always = raw(answered)
    with pytest.raises(NoReply, match=r"broke off: .+ \(2 tries\)$") as caught:
        client(retries=1).get(site.url)
    assert caught.value.hint


def test_a_length_that_is_too_short_cuts(site: Site) -> None:
    site.always = raw(HEAD + b"Content-Length: 2\r\n\r\npage")
    assert client().get(site.url).body == b"pa"


def test_nobody_there_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NoReply, match="cannot be reached"):
            client(retries=9, backoff=9.0).get(f"http://127.0.0.1:{taken.getsockname()[1]}")
    with pytest.raises(NoReply, match="cannot be reached"):
        client(retries=9, backoff=9.0).get("http://no-such-name.invalid/")


def test_the_next_address_is_tried_if_one_is_dead(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names(monkeypatch, ["127.0.0.3", "127.0.0.1"])
    assert client().get(f"http://docs.test:{site.server_port}").body == b"fine"
    assert names.asked == 1


@pytest.mark.slow
def test_the_server_says_when(site: Site) -> None:
    site.script = [answer(b"", 429, {"Retry-After": "0.3"})]
    begin = time.monotonic()
    assert client().get(site.url).tries == 2
    assert time.monotonic() - begin >= 0.3


@pytest.mark.parametrize("later", ["3600", "inf", "a date"])
def test_a_wait_beyond_the_deadline_is_not_begun(site: Site, later: str) -> None:
    if later == "a date":
        later = email.utils.formatdate(time.time() + 3600, usegmt=True)
    site.always = answer(b"", 429, {"Retry-After": later})
    begin = time.monotonic()
    assert (client().get(site.url).status, len(site.paths)) == (429, 1)
    site.always = answer(b"", 503)
    assert client(backoff=1000.0).get(site.url).tries == 1
    assert time.monotonic() - begin < LATE


def test_when_is_a_number_or_a_date() -> None:
    assert 3500 < _seconds(email.utils.formatdate(time.time() + 3600, usegmt=True)) <= 3600
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    assert [_seconds(text) for text in ("12", "1.5", "-3", "", "soon", "nan", past)] == [12, 1.5, 0, 0, 0, 0, 0]


def test_the_pauses_double_and_are_spread() -> None:
    patient = client(backoff=1.0)
    for tries, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (30, 60.0)):
        pauses = {patient._pause(tries) for _ in range(50)}
        assert longest / 2 <= min(pauses) < max(pauses) <= longest


# ---------------------------------------------------------------- sizes


def test_what_is_packed_is_unpacked(site: Site) -> None:
    page = bytes(range(256)) * 2000
    packed = {"Content-Encoding": "gzip"}
    site.script = [answer(gzip.compress(page, mtime=0), headers=packed)]
    assert client().get(site.url).body == page
    site.script = [answer(gzip.compress(page, mtime=0) + gzip.compress(b"end"), headers=packed)]
    assert client().get(site.url).body == page + b"end"
    site.script = [answer(b"", headers=packed)]
    assert client().get(site.url).body == b""
    site.script = [raw(CHUNKED, *(b"%x\r\n%b\r\n" % (len(part), part) for part in (page[:9], page[9:])), b"0\r\n\r\n")]
    assert client().get(site.url).body == page


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(site: Site) -> None:
    bomb = gzip.compress(bytes(64 << 20))
    site.always = answer(bomb, headers={"Content-Encoding": "gzip"})
    assert len(bomb) < 1 << 20  # it passes by its length
    tracemalloc.start()
    try:
        with pytest.raises(NoReply, match="more than 1,048,576 bytes"):
            client(max_bytes=1 << 20).get(site.url)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert len(site.paths) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beginning", "part"),
    [
        (HEAD + b"\r\n", b"x" * 9999),
        (HEAD + b"Content-Length: 99999999\r\n\r\n", b""),
        (CHUNKED, b"4\r\npage\r\n"),
        (CHUNKED + b"-1\r\n", b"x" * 9999),
        (CHUNKED + b"0\r\n", b"X-A: b\r\n" * 999),
        (HEAD + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"page" * 99, mtime=0)),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
    ],
)
def test_no_more_is_read_than_may_be(site: Site, beginning: bytes, part: bytes) -> None:
    site.always = stream(beginning, part)
    with pytest.raises(NoReply, match=r"more than 10,000 bytes|broke off: a length in it is none"):
        client(max_bytes=10_000, retries=0).get(site.url)


def test_as_much_as_may_be_is_read(site: Site) -> None:
    site.always = answer(b"x" * 10_000)
    assert len(client(max_bytes=10_000).get(site.url).body) == 10_000
    with pytest.raises(NoReply, match="more than"):
        client(max_bytes=9_999).get(site.url)


# ---------------------------------------------------------------- streams


def opened(site: Site, **options: Any) -> Stream:
    found = client(**options).stream(site.url, b"question", {"X-Api-Key": "secret-key"})
    assert isinstance(found, Stream)
    return found


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


def test_a_stream_gives_what_has_arrived(site: Site) -> None:
    go = threading.Event()

    def step(handler: Any) -> None:
        handler.wfile.write(CHUNKED + chunk(b"first"))
        go.wait(LATE)
        handler.wfile.write(chunk(b"second") + b"0\r\n\r\n")

    site.always = step
    blocks = iter(opened(site))
    assert next(blocks) == b"first"  # while the server waits
    go.set()
    assert list(blocks) == [b"second"]
    assert (site.bodies, site.headers[0]["Accept-Encoding"]) == ([b"question"], "identity")


@pytest.mark.parametrize(
    "answered",
    [HEAD + b"Content-Length: 4\r\n\r\npage", HEAD + b"\r\npage", CHUNKED + chunk(b"pa") + chunk(b"ge") + b"0\r\n\r\n"],
    ids=["length", "until the end", "chunks"],
)
def test_streams_of_every_form(site: Site, answered: bytes) -> None:
    site.always = raw(answered)
    assert b"".join(opened(site)) == b"page"


def test_a_stream_that_is_packed_is_unpacked(site: Site) -> None:
    site.always = answer(gzip.compress(b"page" * 999), headers={"Content-Encoding": "gzip"})
    assert b"".join(opened(site)) == b"page" * 999


def test_a_failure_is_a_reply_and_may_pass(site: Site) -> None:
    site.script = [answer(b"", 503), raw(b""), answer(b"no such model", 404)]
    found = client().stream(site.url, b"")
    assert isinstance(found, Reply)
    assert (found.status, found.body, found.tries) == (404, b"no such model", 3)
    site.always = leads_to("/elsewhere", 307)
    assert isinstance(client().stream(site.url, b""), Reply)
    assert len(site.paths) == 4


@pytest.mark.parametrize("name", ["too short", "half a chunk", "no last chunk", "a chunk of no size", "half a gzip"])
def test_a_stream_that_is_cut_is_not_repeated(site: Site, name: str) -> None:
    site.always = raw(BROKEN[name])
    with pytest.raises(NoReply, match="broke off") as caught:
        list(opened(site))
    assert caught.value.hint
    assert len(site.paths) == 1


@pytest.mark.slow
def test_a_stream_waits_for_each_part_and_not_for_ever(site: Site) -> None:
    site.always = stream(HEAD + b"\r\n", b"x", every=0.05)
    begin = time.monotonic()
    with pytest.raises(NoReply, match=r"did not finish within 0\.6 s"):
        list(opened(site, timeout=5.0, deadline=0.6))
    site.always = stream(CHUNKED + chunk(b"x"), b"", every=LATE)
    with pytest.raises(NoReply, match=r"sent nothing for 0\.2 s"):
        list(opened(site, timeout=0.2))
    site.always = stream(b"", b"H", every=LATE)
    with pytest.raises(NoReply, match=r"sent nothing for 0\.2 s"):
        opened(site, timeout=0.2, retries=0)
    assert time.monotonic() - begin < LATE


def test_a_stream_has_a_limit(site: Site) -> None:
    site.always = stream(HEAD + b"\r\n", b"x" * 9999)
    with pytest.raises(NoReply, match="more than 10,000 bytes"):
        list(opened(site, max_bytes=10_000))


def test_closing_a_stream_closes_its_connection(site: Site) -> None:
    gone = threading.Event()

    def step(handler: Any) -> None:
        handler.wfile.write(CHUNKED + chunk(b"first"))
        handler.connection.settimeout(LATE)
        if handler.connection.recv(1) == b"":
            gone.set()

    site.always = step
    for read in (True, False):
        gone.clear()
        with opened(site) as found:
            assert not read or next(iter(found)) == b"first"
        assert gone.wait(LATE)


def test_a_stream_is_judged_and_shows_no_secrets(site: Site) -> None:
    with pytest.raises(AddressRefused):
        Client().stream(site.url, b"")
    site.always = answer(b"you sent secret-key", 400)
    found = client().stream(site.url, b"", {"X-Api-Key": "secret-key"})
    assert isinstance(found, Reply)
    assert found.error.endswith("you sent ***")


# ---------------------------------------------------------------- versions


def test_a_page_that_is_unchanged(site: Site) -> None:
    stated = {"ETag": 'W/"7"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    site.script = [answer(headers=stated), answer(b"", 304, {**stated, "Location": "/elsewhere"})]
    first = client().get(site.url)
    again = client().get(site.url, known_version=first.version)
    assert first.version == again.version == Version(*stated.values())
    assert (first.unchanged, again.unchanged, again.body) == (False, True, b"")
    assert (site.headers[1]["If-None-Match"], site.headers[1]["If-Modified-Since"]) == tuple(stated.values())
    assert not {"If-None-Match", "If-Modified-Since"} & site.headers[0].keys()
    assert len(site.paths) == 2


def test_the_known_version_is_that_of_where_a_redirect_leads(site: Site) -> None:
    with running(Site()) as other:
        site.always, other.always = leads_to(f"{other.url}/new"), answer(b"", 304)
        assert client().get(site.url, known_version=Version("7")).unchanged
        assert other.headers[0]["If-None-Match"] == "7"


# ---------------------------------------------------------------- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, status: int) -> None:
    site.script = [leads_to("b/c?d=é", status), leads_to("//" + site.url.removeprefix("http://") + "/e f#g", status)]
    reply = client().get(f"{site.url}/a/")
    assert (reply.status, reply.url) == (200, f"{site.url}/e%20f")
    assert site.paths == ["/a/", "/a/b/c?d=%E9", "/e%20f"]


def test_but_not_for_ever(site: Site) -> None:
    site.always = leads_to("/again")
    with pytest.raises(NoReply, match="redirects more than 5 times"):
        client().get(site.url)
    assert len(site.paths) == 6


def test_a_question_is_not_sent_elsewhere(site: Site) -> None:
    site.always = leads_to("/elsewhere", 307)
    assert client().post(site.url, b"texts").status == 307
    assert site.paths == ["/"]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://a.test/", "http://[", "javascript:x"])
def test_only_to_the_web(site: Site, location: str) -> None:
    site.always = leads_to(location)
    with pytest.raises(NoReply, match="redirects to something that is not a web address"):
        client().get(site.url)


def test_a_redirect_without_a_place_is_an_answer(site: Site) -> None:
    site.always = answer(b"", 302)
    assert client().get(site.url).status == 302


def test_what_is_meant_for_one_machine_is_not_sent_to_another(site: Site) -> None:
    with running(Site()) as other:
        site.script = [leads_to(f"{site.url}/same"), leads_to(other.url)]
        url = site.url.replace("http://", "http://me:pa%3Ass@")
        client().get(url, {"X-Api-Key": "secret"})
        for headers in site.headers:
            assert (headers["X-Api-Key"], headers["Authorization"]) == ("secret", "Basic bWU6cGE6c3M=")
        assert not {"X-Api-Key", "Authorization"} & other.headers[0].keys()


# ---------------------------------------------------------------- the guard


class Names:
    """A name server: each time the next answer, the last one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host: str, port: int, *, flags: int = 0, **rest: Any) -> list[Any]:
        if not host.endswith(".test") or flags & socket.AI_NUMERICHOST:
            return self.real(host, port, flags=flags, **rest)
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in found]


def test_a_private_machine_is_not_asked(site: Site) -> None:
    for url in (site.url, site.url.replace("127.0.0.1", "localhost"), site.url.replace("127.0.0.1", "2130706433")):
        with pytest.raises(AddressRefused, match="is not a public address") as caught:
            Client().get(url)
        assert caught.value.hint
    assert site.paths == []
    assert Client(guard=Guard(("127.0.0.1",))).get(site.url).body == b"fine"


def test_each_redirect_is_judged(site: Site) -> None:
    with running(Site()) as secret:
        site.always = leads_to(f"{secret.url}/latest/meta-data")
        guarded = client(guard=Guard((site.url.removeprefix("http://"),)))
        with pytest.raises(AddressRefused):
            guarded.get(site.url)
        assert (len(site.paths), secret.paths) == (1, [])
        site.always = leads_to("http://169.254.169.254/latest")
        with pytest.raises(AddressRefused):
            guarded.get(site.url)


def test_a_name_with_a_public_and_a_private_address_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, ["93.184.216.34", "127.0.0.1"])
    with pytest.raises(AddressRefused, match=r"docs\.test \(127\.0\.0\.1\)"):
        Client().get(f"http://docs.test:{site.server_port}")
    assert site.paths == []


def test_a_name_that_changes_its_mind_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(Site("127.0.0.2")) as public, running(Site()) as private:
        names = Names(monkeypatch, ["127.0.0.2"], ["127.0.0.1"])
        judged: list[str] = []
        monkeypatch.setattr("watersmeet.common.addresses.is_public", lambda ip: judged.append(ip) or ip == "127.0.0.2")
        assert Client().get(f"http://docs.test:{public.server_port}/x").status == 200
        assert (judged, names.asked, public.paths, private.paths) == (["127.0.0.2"], 1, ["/x"], [])
        assert public.headers[0]["Host"] == f"docs.test:{public.server_port}"
        with pytest.raises(AddressRefused):  # the next request is judged anew
            Client().get(f"http://docs.test:{private.server_port}/x")
        assert private.paths == []


# ---------------------------------------------------------------- secrets


def test_no_message_holds_a_secret(site: Site) -> None:
    url = site.url.replace("http://", "http://me:hunter22@") + "/x?sig=abcdef123&page=2"
    key = {"Authorization": "Bearer sk-secret"}
    site.script = [answer(b"no \x1b[31m abcdef123 for sk-secret, hunter22" + b"\xff" * 999, 400)]
    reply = client().get(url, key)
    site.always = raw(b"sk-secret abcdef123\r\n\r\n")
    with pytest.raises(NoReply, match="broke off") as caught:
        client().get(url, key)
    for said in (reply.error, repr(reply), str(caught.value), caught.value.hint):
        assert not any(secret in said for secret in ("sk-secret", "hunter22", "abcdef123", "\x1b"))
    assert "/x?sig=***&page=*** answered 400 Bad Request: no [31m *** for ***, ***" in reply.error
    assert len(reply.error) < 500


def test_a_key_with_a_line_break_is_neither_sent_nor_shown(site: Site) -> None:
    for key in ("sk-secret\n", "sk-sécrèt-ключ"):
        with pytest.raises(NoReply, match="header is not valid") as caught:
            client().get(site.url, {"Authorization": f"Bearer {key}"})
        assert "sk-s" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    assert site.paths == []


def test_a_secret_that_a_redirect_repeats(site: Site) -> None:
    with running(Site()) as other:
        site.always, other.always = leads_to(other.url), answer(b"who is sk-secret?", 403)
        assert client().get(site.url, {"X-Token": "sk-secret"}).error.endswith("403 Forbidden: who is ***?")


# ---------------------------------------------------------------- other methods, cancellation


def test_any_method_is_sent_and_only_retried_as_told(site: Site) -> None:
    site.script = [answer(b"one", 503), answer(b"two")]
    assert client().send("POST", site.url, b"{}").body == b"two"
    site.script = [answer(b"one", 503), answer(b"two")]
    assert client(retry_statuses=frozenset()).send("POST", site.url, b"{}").status == 503
    site.script = [leads_to(f"{site.url}/two")]
    assert client().send("GET", site.url).status == 302


def test_no_connection_is_an_error_of_its_own(site: Site) -> None:
    site.shutdown()
    site.server_close()
    with pytest.raises(Unreachable, match="cannot be reached"):
        client().get(site.url)


def test_a_request_is_cancelled_from_another_thread() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(LATE)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        cancellation = Cancellation()

        def cancel() -> None:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1 << 16)
                cancellation.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(Stopped):
            client(timeout=60.0, deadline=60.0).send("GET", url, cancellation=cancellation)
        thread.join(LATE)
        with pytest.raises(Stopped):  # before it has begun
            client().stream(url, b"{}", cancellation=cancellation)
