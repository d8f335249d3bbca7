"""Nobody gets past the guard: every route and socket of the router, whoever adds it, refuses strangers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("starlette")

from asgi_kit import HOST, PORT, TOKEN, Answer, InProcess, addresses, in_process
from starlette.routing import Mount, Route, WebSocketRoute

from keyfluid.studio.guard import HEADER, POLICY, Guard
from keyfluid.studio.server import host_names

COOKIE = f"keyfluid_{PORT}"
HOST_LINE, TOKEN_LINE, ORIGIN_LINE = ("host", HOST), (HEADER, TOKEN), ("origin", f"http://{HOST}")

TOKENS = {
    "none": [],
    "empty": [(HEADER, "")],
    "wrong": [(HEADER, "x" * len(TOKEN))],
    "short": [(HEADER, TOKEN[:-1])],
    "long": [(HEADER, TOKEN + "x")],
    "other case": [(HEADER, TOKEN.upper())],
    "twice": [TOKEN_LINE, TOKEN_LINE],
    "right and wrong": [TOKEN_LINE, (HEADER, "wrong")],
    "wrong before a right cookie": [(HEADER, "wrong"), ("cookie", f"{COOKIE}={TOKEN}")],
    "no ASCII": [(HEADER, "\xfc\xdf")],
    "wrong cookie": [("cookie", f"{COOKIE}=wrong")],
    "another port's cookie": [("cookie", f"keyfluid_{PORT + 1}={TOKEN}")],
    "cookie inside a cookie": [("cookie", f"a={COOKIE}={TOKEN}")],
    "two cookies": [("cookie", f"{COOKIE}=wrong; {COOKIE}={TOKEN}")],
    "other header": [("authorization", f"Bearer {TOKEN}")],
}
HOSTS = {
    "none": [],
    "twice": [HOST_LINE, HOST_LINE],
    "right and foreign": [HOST_LINE, ("host", "evil.example")],
    **{
        text: [("host", text)]
        for text in (
            "", "evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1:{PORT}0",
            f"127.0.0.1.evil.example:{PORT}", f"127.0.0.1:{PORT}.evil.example", f"{HOST}@evil.example",
            f"evil.example@{HOST}", f"localhost.:{PORT}", f"LOCALHOST:{PORT}", f"xlocalhost:{PORT}", f" {HOST} ",
            f"{HOST}, evil.example", f"2130706433:{PORT}", f"127.1:{PORT}", f"0x7f.0.0.1:{PORT}", f"0.0.0.0:{PORT}",
            f"[::]:{PORT}", f"::1:{PORT}", f"[::ffff:127.0.0.1]:{PORT}", f"{HOST}/", f"http://{HOST}", f"{HOST}\x00",
        )
    },
    "forwarded": [("host", "evil.example"), ("x-forwarded-host", HOST), ("forwarded", f"host={HOST}")],
}  # fmt: skip
ORIGINS = {
    "twice": [ORIGIN_LINE, ORIGIN_LINE],
    "right and foreign": [ORIGIN_LINE, ("origin", "http://evil.example")],
    **{
        text: [("origin", text)]
        for text in (
            "", "null", "http://evil.example", f"http://evil.example:{PORT}", f"https://{HOST}", "http://127.0.0.1",
            f"http://127.0.0.1:{PORT + 1}", f"http://{HOST}.evil.example", f"http://{HOST}@evil.example",
            f"http://{HOST}/", f"HTTP://{HOST}", f"ws://{HOST}", HOST, f"http://evil.example/http://{HOST}",
            f"http://{HOST} http://evil.example", "file://", f"http://LOCALHOST:{PORT}",
        )
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(tmp_path_factory.mktemp("guard")) as studio:
        yield studio


def call(studio: InProcess, method: str, path: str, headers: list[tuple[str, str]]) -> Answer:
    place = re.sub(r"\{[^}]*\}", "x", path)
    return studio.socket(place, ["{}"], headers) if method == "WS" else studio.ask(method, place, None, b"{}", headers)


def is_refused(answer: Answer) -> bool:
    """By the guard, before any route was asked."""
    if answer.closed is not None:
        return answer.closed == 4403 and not answer.accepted and answer.sent == []
    return answer.status == 403 and (answer.content.startswith(b"keyfluid studio: ") or not answer.content)


def test_the_router_is_enumerated() -> None:
    found = set(addresses())
    assert {
        ("GET", "/"),
        ("HEAD", "/"),
        ("GET", "/api/hello"),
        ("WS", "/api/events"),
        ("GET", "/static/main.js"),
    } <= found
    inner = Mount("/in", routes=[Route("/a/{b}", lambda _: None), WebSocketRoute("/s", lambda _: None)])
    assert list(addresses([inner])) == [("GET", "/in/a/{b}"), ("HEAD", "/in/a/{b}"), ("WS", "/in/s")]


@pytest.mark.parametrize(("method", "path"), sorted(set(addresses())))
def test_strangers_are_refused_everywhere(studio: InProcess, method: str, path: str) -> None:
    origin = [ORIGIN_LINE] if method == "WS" else []
    let_in = [f"token {name}" for name, lines in TOKENS.items()
              if not is_refused(call(studio, method, path, [HOST_LINE, *origin, *lines]))]  # fmt: skip
    let_in += [f"host {name}" for name, lines in HOSTS.items()
               if not is_refused(call(studio, method, path, [TOKEN_LINE, *origin, *lines]))]  # fmt: skip
    let_in += [f"origin {name}" for name, lines in ORIGINS.items()
               if not is_refused(call(studio, method, path, [HOST_LINE, TOKEN_LINE, *lines]))]  # fmt: skip
    if method == "WS":
        let_in += ["no origin"] * (not is_refused(call(studio, method, path, [HOST_LINE, TOKEN_LINE])))
    else:
        sites = [[HOST_LINE, TOKEN_LINE, ("sec-fetch-site", site)] for site in ("cross-site", "same-site", "x", "")]
        let_in += [f"site {lines[-1][1]}" for lines in sites if not is_refused(call(studio, method, path, lines))]
    assert let_in == []


def test_who_has_the_token_is_served(studio: InProcess) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = ("host", f"{name}:{PORT}")
        for proof in (TOKEN_LINE, ("cookie", f'odd={{"a":[1]}}; b; {COOKIE}={TOKEN}; c=d')):
            origin = ("origin", f"http://{name}:{PORT}")
            assert studio.ask("GET", "/api/hello", headers=[host, proof]).status == 200
            assert studio.ask("GET", "/api/hello", headers=[host, proof, origin]).status == 200
            assert studio.socket("/api/events", headers=[host, proof, origin]).accepted


def test_unknown_places_and_methods_are_behind_the_guard_too(studio: InProcess) -> None:
    for method, path in (
        ("GET", "/nothing"),
        ("OPTIONS", "/api/hello"),
        ("TRACE", "/"),
        ("GET", "/api/hello/"),
        ("WS", "/x"),
    ):
        assert is_refused(call(studio, method, path, [HOST_LINE]))
    assert studio.ask("GET", "/nothing").status == studio.ask("GET", "/api/hello/").status == 404
    for method in ("OPTIONS", "TRACE", "POST", "PUT", "DELETE", "PATCH", "get", "X"):
        assert studio.ask(method, "/api/hello").status == 405
    assert not studio.socket("/nothing").accepted
    assert not studio.socket("/static/main.js").accepted


def test_only_the_first_page_takes_the_token_in_its_address(studio: InProcess) -> None:
    entered = studio.ask("GET", f"/?token={TOKEN}", headers=[HOST_LINE])
    assert (entered.status, entered.headers["location"], entered.content) == (303, "/", b"")
    cookie = entered.headers["set-cookie"]
    assert all(part in cookie for part in (f"{COOKIE}={TOKEN}", "HttpOnly", "SameSite=strict", "Path=/"))
    for target in (f"/api/hello?token={TOKEN}", f"/static/main.js?token={TOKEN}", f"//?token={TOKEN}", "/?token=",
                   f"/?token={TOKEN}&token={TOKEN}", f"/?token=x&token={TOKEN}", f"/?TOKEN={TOKEN}"):  # fmt: skip
        assert is_refused(studio.ask("GET", target, headers=[HOST_LINE])), target
    assert is_refused(studio.ask("POST", f"/?token={TOKEN}", headers=[HOST_LINE]))
    assert is_refused(studio.socket(f"/api/events?token={TOKEN}", headers=[HOST_LINE, ORIGIN_LINE]))


def test_a_link_on_another_page_opens_the_studio(studio: InProcess) -> None:
    """A browser sends a strict cookie after a page of ours, but not to where a foreign link is redirected."""
    linked = [HOST_LINE, ("sec-fetch-site", "cross-site")]
    entered = studio.ask("GET", f"/?token={TOKEN}", headers=linked)
    assert (entered.status, entered.headers["refresh"]) == (200, "0; url=/")
    assert "SameSite=strict" in entered.headers["set-cookie"]
    assert is_refused(studio.ask("GET", "/?token=wrong", headers=linked))


def test_every_answer_has_the_policy(studio: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(studio.studio.workspace), "root", property(lambda self: 1 / 0), raising=False)
    answers = {
        "page": studio.ask("GET", "/"),
        "file": studio.ask("GET", "/static/main.js"),
        "missing": studio.ask("GET", "/static/nothing.js"),
        "method": studio.ask("POST", "/"),
        "stranger": studio.ask("GET", "/", headers=[HOST_LINE]),
        "fault of ours": studio.ask("GET", "/api/hello"),
    }
    assert [answer.status for answer in answers.values()] == [200, 200, 404, 405, 403, 500]
    for answer in answers.values():
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert b"ZeroDivision" not in answers["fault of ours"].content
    for source in ("script-src 'self'", "style-src 'self'", "default-src 'none'", "require-trusted-types-for 'script'"):
        assert f"{source};" in POLICY + ";"
    assert [word for word in ("unsafe", "*", "http") if word in POLICY] == []


def test_hosts_are_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert host_names("127.0.0.1") == host_names("localhost") == ("127.0.0.1", "localhost", "[::1]")
    assert host_names("::1")[0] == "[::1]"
    assert set(host_names("::1")) == set(host_names("127.0.0.1"))
    assert host_names("Desk.Example")[0] == "desk.example"
    assert host_names("fe80::1")[0] == "[fe80::1]"
    monkeypatch.setattr("socket.gethostname", lambda: "Desk")
    monkeypatch.setattr("keyfluid.studio.server._own_addresses", lambda name: {"192.0.2.7", "2001:db8::7"})
    assert host_names("0.0.0.0") == ("desk", "192.0.2.7", "[2001:db8::7]", "127.0.0.1", "localhost", "[::1]")


def test_port_80_is_not_written_by_browsers() -> None:
    guard = Guard(None, TOKEN, 80)  # type: ignore[arg-type]
    scope = {"type": "http", "path": "/", "method": "GET", "query_string": b"", "headers": [
        (b"host", b"127.0.0.1"), (HEADER.encode(), TOKEN.encode())]}  # fmt: skip
    assert guard._fault(scope) is None
