"""The HTTP client: what it may ask, what it refuses, what it says when nothing comes."""

import errno
import gzip
import socket
import ssl

import httpx
import pytest
from fakes.sglang_server import FakeSglang, Raw, ServedSglang

from kvtui.domain.http_reading import Failure
from kvtui.sources import http
from kvtui.sources.http import ALLOWED, Answer, HttpClient, parse_address

SECRET = "sk-topsecret123"  # noqa: S105
CHANGING = ["/flush_cache", "/start_profile", "/slow_down", "/health", "/health_generate", "/release_memory_occupation", "/metrics/", "/"]


async def ask(answer, path="/metrics", **more):
    fake = FakeSglang()
    fake.answers[path] = answer
    client = HttpClient("http://gpu7:30000", transport=fake.transport(), **more)
    try:
        return await client.get(path, 0.2)
    finally:
        await client.close()


@pytest.mark.parametrize("path", CHANGING)
async def test_a_path_that_is_not_allowed_is_never_sent(path):
    fake = FakeSglang()
    client = HttpClient("http://gpu7:30000", transport=fake.transport())
    with pytest.raises(ValueError, match="not on the list"):
        await client.get(path, 1.0)
    await client.close()
    assert fake.requests == []


def test_the_list_holds_reads_without_side_effects_only():
    assert {"/metrics", "/server_info", "/get_server_info", "/v1/loads", "/model_info", "/get_model_info"} == ALLOWED


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (caused(httpx.ConnectError("x"), ConnectionRefusedError(111, "no")), "refused", "still starting"),
        (caused(httpx.ConnectError("x"), socket.gaierror(-2, "no")), "unreachable", "spelling"),
        (caused(httpx.ConnectError("x"), OSError(errno.EHOSTUNREACH, "no")), "unreachable", "network"),
        (caused(httpx.ConnectError("x"), ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong")), "tls", "TLS"),
        (httpx.ConnectTimeout("x"), "timeout", "accepts no connection"),
        (httpx.ReadTimeout("x"), "timeout", "did not answer within"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "broken", "closed the connection"),
        (httpx.ReadError("x"), "broken", "broke off"),
        (httpx.DecodingError("x"), "broken", "broke off"),
    ],
)
async def test_connection_failures_are_told_apart(error, kind, words):
    got = await ask(error)
    assert got.kind == kind
    assert words in got.reason


@pytest.mark.parametrize(
    ("status", "path", "kind", "words"),
    [
        (401, "/server_info", "unauthorized", "asks for the API key (401): give it in SGLANG_API_KEY"),
        (403, "/server_info", "forbidden", "asks for the API key (403)"),
        (401, "/metrics", "unauthorized", "a proxy"),
        (404, "/metrics", "not-found", "does not exist"),
        (302, "/metrics", "redirect", "not followed"),
        (500, "/metrics", "server-error", "its log says why"),
        (503, "/metrics", "server-error", "starting"),
        (418, "/metrics", "status", "another program"),
    ],
)
async def test_statuses_are_told_apart(status, path, kind, words):
    got = await ask(status, path)
    assert got.kind == kind
    assert words in got.reason
    assert path in got.reason


async def test_a_wrong_key_is_not_called_a_missing_one():
    assert "refuses the API key" in (await ask(401, "/server_info", api_key=SECRET)).reason


async def test_a_hanging_answer_ends_in_time(monkeypatch):
    monkeypatch.setattr(http, "CONNECT_S", 0.05)
    got = await ask(FakeSglang.HANG, "/server_info")
    assert got.kind == "timeout"
    assert "waits for the scheduler" in got.reason


async def test_a_body_that_never_ends_is_cut(monkeypatch):
    monkeypatch.setattr(http, "BODY_LIMIT", 1000)

    async def endless():
        while True:
            yield b"x" * 400

    client = HttpClient("http://gpu7", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=endless())))
    got = await client.get("/metrics", 1.0, limit=1000)
    assert got == Answer(b"x" * 1000, True)
    assert (await client.get("/server_info", 1.0, limit=1000)).kind == "too-big"
    await client.close()


async def test_a_small_answer_does_not_inflate_into_a_huge_one():
    bomb = gzip.compress(b"0" * 50_000_000)
    assert len(bomb) < 60_000
    client = HttpClient(
        "http://gpu7", transport=httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Raw(bomb)))
    )
    got = await client.get("/metrics", 5.0, limit=100_000)
    assert got.cut
    assert len(got.body) == 100_000
    await client.close()


async def test_what_is_said_to_be_gzip_and_is_not_is_a_failure():
    for coding, words in (("gzip", "is not"), ("br", "was not asked for")):
        transport = httpx.MockTransport(lambda _, c=coding: httpx.Response(200, headers={"content-encoding": c}, stream=Raw(b"plain")))
        client = HttpClient("http://gpu7", transport=transport)
        got = await client.get("/metrics", 1.0)
        await client.close()
        assert isinstance(got, Failure)
        assert words in got.reason


async def test_half_a_metrics_page_is_kept_and_marked():
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nsglang:num_running_reqs 4\n"
    fake = FakeSglang()
    with ServedSglang(fake, raw=raw) as served:
        client = HttpClient(served.url)
        got = await client.get("/metrics", 1.0)
        half = await client.get("/server_info", 1.0)
        await client.close()
    assert got == Answer(b"sglang:num_running_reqs 4\n", True)
    assert half.kind == "broken"


async def test_over_a_real_port():
    fake = FakeSglang()
    with ServedSglang(fake, zipped=True) as served:
        client = HttpClient(served.url + "/metrics", api_key=SECRET)
        got = await client.get("/metrics", 2.0)
        named = HttpClient(f"localhost:{served.port}")
        other = await named.get("/server_info", 2.0)
        await client.close()
        await named.close()
        https = HttpClient(served.url.replace("http:", "https:"))
        tls = await https.get("/metrics", 2.0)
        await https.close()
    assert got.body.startswith(b"sglang:num_running_reqs")
    assert fake.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert fake.headers[0]["host"] == f"127.0.0.1:{served.port}"
    assert isinstance(other, Answer)
    assert fake.headers[1]["host"] == f"localhost:{served.port}"
    assert "authorization" not in fake.headers[1]
    assert tls.kind == "tls"
    assert "http://" in tls.reason


async def test_a_port_on_which_nothing_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        client = HttpClient(f"http://127.0.0.1:{port}")
        assert (await client.get("/metrics", 1.0)).kind == "refused"
        await client.close()


async def test_a_redirect_gets_neither_a_visit_nor_the_key():
    elsewhere, fake = FakeSglang(), FakeSglang()
    with ServedSglang(elsewhere) as other, ServedSglang(fake) as served:
        fake.location = f"{other.url}/metrics?token=abcdefgh"
        fake.answers["/metrics"] = 302
        client = HttpClient(served.url, api_key=SECRET)
        got = await client.get("/metrics", 1.0)
        await client.close()
    assert got.kind == "redirect"
    assert "abcdefgh" not in got.reason
    assert elsewhere.requests == []


async def test_the_environment_gets_neither_the_key_nor_the_traffic(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fake = FakeSglang()
    with ServedSglang(fake) as served:
        client = HttpClient(served.url)
        assert isinstance(await client.get("/metrics", 1.0), Answer)
        await client.close()
    assert "authorization" not in fake.headers[0]


@pytest.mark.parametrize(
    ("text", "shown", "prefix"),
    [
        ("gpu7:30000", "http://gpu7:30000", ""),
        ("http://gpu7", "http://gpu7:80", ""),
        ("https://gpu7/", "https://gpu7:443", ""),
        ("http://gpu7:30000/metrics", "http://gpu7:30000", ""),
        ("http://gpu7:30000/v1", "http://gpu7:30000", ""),
        ("http://proxy/llm/a/server_info?x=1#y", "http://proxy:80/llm/a", "/llm/a"),
        ("http://[::1]:30000", "http://[::1]:30000", ""),
        ("http://me:pw@gpu7:1/?token=abcdefgh", "http://gpu7:1", ""),
    ],
)
def test_addresses(text, shown, prefix):
    address = parse_address(text)
    assert (address.shown, address.prefix) == (shown, prefix)
    assert "pw" not in repr(address)


@pytest.mark.parametrize("text", ["", "ftp://a", "http://", "http://a:99999", "http://[::1", "http://a b", "http://\x1b[2J", "x" * 3000])
def test_bad_addresses_are_a_sentence(text):
    with pytest.raises(ValueError, match=r"\.$"):
        parse_address(text)


async def test_credentials_of_an_address_are_sent_and_never_shown():
    fake = FakeSglang()
    client = HttpClient("http://me:p%40ss@gpu7:1", transport=fake.transport())
    await client.get("/metrics", 1.0)
    await client.close()
    assert fake.headers[0]["authorization"] == httpx.BasicAuth("me", "p@ss")._auth_header
    assert "p@ss" not in repr(client) + client.target


def test_a_key_that_cannot_be_one_is_refused_without_being_repeated():
    with pytest.raises(ValueError, match="no key has") as caught:
        HttpClient("http://gpu7", transport=FakeSglang().transport(), api_key="sk-a\r\nx: y")
    assert "sk-a" not in str(caught.value)
