"""``kvtui serve``: who may open the page, what is on it, and that nothing is left behind."""
# ruff: noqa: S104

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from process_state import alive

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")

from browser import CHROMIUM, browser  # noqa: E402

from kvtui.cli import main  # noqa: E402
from kvtui.verbs import serve as verb  # noqa: E402
from kvtui.verbs.web import MOST, is_loopback  # noqa: E402


@pytest.fixture
def port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def of(pid):
    """Pids of all that a process started, and of all that these started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(folder.name), *of(int(folder.name))]
    return found


def listening_on(port):
    """Addresses, as the kernel writes them."""
    rows = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]


@contextlib.asynccontextmanager
async def served(port, *words):
    """The process, and the address it printed; killed afterwards with all it started."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kvtui",
        "serve",
        "--port",
        str(port),
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        address = re.search(r"http://\S+", line)
        assert address, line + (await process.stdout.read()).decode()
        yield process, address[0]
    finally:
        children = of(process.pid)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()
        # Its end of the pipe is closed by reading to the end.
        await process.stdout.read()


async def all_gone(pids, seconds=10):
    for _ in range(int(seconds * 20)):
        if not any(alive(pid) for pid in pids):
            return True
        await asyncio.sleep(0.05)
    return False


async def paints(page, word):
    seen = ""
    while word not in seen:
        message = await asyncio.wait_for(page.receive(), 40)
        assert message.type is aiohttp.WSMsgType.BINARY, (message, seen[-500:])
        seen += message.data.decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def visitor(address):
    """A visitor who has opened the address once, and so has the key."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http, http.get(address) as page:
        assert page.status == 200
        assert "key=" not in str(page.url)
        yield http


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, "close"])
async def test_a_console_lives_as_long_as_its_page_and_its_server(port, how):
    async with served(port, "--demo", "kv-full") as (process, address), visitor(address) as http:
        page = await http.ws_connect(f"http://127.0.0.1:{port}/ws?width=120&height=40")
        await paints(page, "KV capacity limits concurrency")
        await page.send_str(json.dumps(["stdin", "t"]))
        await paints(page, "Timeline")
        children = of(process.pid)
        assert len(children) == 1, "no shell stands between"
        if how == "close":
            await page.close()
            assert await all_gone(children)
            assert process.returncode is None
            return
        process.send_signal(how)
        assert await asyncio.wait_for(process.wait(), 10) == 0
        assert await all_gone(children)
        await page.close()


async def test_a_server_that_is_killed_leaves_no_console(port):
    async with served(port, "--demo", "kv-full") as (process, address), visitor(address) as http:
        page = await http.ws_connect(f"http://127.0.0.1:{port}/ws?width=80&height=24")
        await paints(page, "KV capacity")
        # Held still it paints nothing, and so does not meet the closed pipe.
        await page.send_str(json.dumps(["stdin", "p"]))
        children = of(process.pid)
        process.kill()
        assert await all_gone(children)
        await page.close()


async def test_only_this_machine_listens_and_only_so_many_pages_open(port):
    async with served(port, "--demo", "healthy") as (_process, address), visitor(address) as http:
        assert listening_on(port) == ["0100007F"]
        pages = [await http.ws_connect(f"http://127.0.0.1:{port}/ws") for _ in range(MOST)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(f"http://127.0.0.1:{port}/ws")
        assert refused.value.status == 503
        for page in pages:
            await page.close()


async def test_who_may_open_the_page(port):
    async with served(port, "--demo", "healthy") as (_process, address), visitor(address) as http:
        root, page = f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/ws"

        async def status(http, url, **headers):
            async with http.get(url, headers=headers, allow_redirects=False) as answer:
                return answer.status

        assert await status(http, root) == 200
        assert await status(http, root, Host=f"localhost:{port + 1}") == 200, "a forwarded port has another number"
        assert await status(http, root, Host="console.example") == 403, "DNS rebinding"
        assert await status(http, page, Host=f"console.example:{port}") == 403
        assert await status(http, page, Origin="http://console.example") == 403, "another page"
        assert await status(http, page, Origin=f"http://127.0.0.1:{port + 1}") == 403
        async with aiohttp.ClientSession() as stranger:
            for url in (root, page, f"{root}static/js/textual.js", f"{root}?key=x", f"{root}?key=%C3%A9"):
                assert await status(stranger, url) == 403, url
        async with http.get(f"{root}") as answer:
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == "no-store"
            assert f'data-session-websocket-url="ws://127.0.0.1:{port}/ws"' in await answer.text()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_a_browser_shows_the_console_and_asks_no_other_site(port, tmp_path):
    async with served(port, "--demo", "kv-full") as (process, address), browser(tmp_path) as page:
        await page.open(address)
        await page.until("KV capacity limits concurrency")
        children = of(process.pid)
        await page.press("t")
        await page.until("Timeline")
        assert {url.split("/")[2] for url in page.asked} == {f"127.0.0.1:{port}"}
        # The first closes what lies over the main screen.
        await page.press("q")
        await page.press("q")
        assert await all_gone(children)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_y_copies_to_the_browsers_clipboard(port, tmp_path):
    """Also where the reader's machine is not the one that the console runs on; signs beyond ASCII stay what they are."""
    async with served(port, "--demo", "kv-full") as (_, address), browser(tmp_path) as page:
        await page.open(address)
        await page.until("KV capacity limits concurrency")
        await page.press("y")
        row = await on_clipboard(page, address, "GPU 0, ")
        assert "weights 61.20, KV used" in row
        await page.press("Y")
        pane = await on_clipboard(page, address, "GPU memory\n")
        assert "█" in pane
        assert "weights" in pane


async def on_clipboard(page, address, begin):
    """The clipboard's text once it begins so: the page writes it when it pleases."""
    for _ in range(200):
        told = await page.clipboard(address)
        if told.startswith(begin):
            return told
        await asyncio.sleep(0.05)
    raise AssertionError(f"{told!r} is on the clipboard, and {begin!r} was copied")


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1:8000", True), ("localhost", True), ("LOCALHOST:1", True), ("[::1]:8000", True), ("[::1]", True), ("127.8.8.8", True),
        ("localhost.example", False), ("127.0.0.1.example", False), ("10.0.0.1:8000", False), ("", False), ("[::]:1", False), ("0.0.0.0", False),
    ],
)  # fmt: skip
def test_names_of_this_machine(host, is_own):
    assert is_loopback(host) is is_own


def run(*words):
    return CliRunner().invoke(main, ["serve", *words])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "box.example", ""])
def test_no_other_address_is_taken_and_the_way_that_is_open_is_named(host):
    told = run("--host", host, "--port", "8123", "--demo")
    assert told.exit_code == 2
    assert "ssh -L 8123:127.0.0.1:8123" in told.output


def test_without_the_optional_part_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(verb.importlib.util, "find_spec", lambda _name: None)
    told = run("--demo")
    assert (told.exit_code, told.output) == (2, "kvtui serve needs textual-serve, an optional part: pip install 'kvtui[serve]'\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-"], 3, "A pipe can be read once"),
        (["http://user:geheim@box:30000"], 3, "The address holds a secret"),
        (["nowhere.log"], 3, "nowhere.log"),
        (["--demo", "nothing"], 2, "nothing"),
        (["x", "--demo"], 2, "leave TARGET out"),
        (["--theme", "drak"], 2, "did you mean dark?"),
    ],
)
def test_what_is_mistyped_is_said_before_a_page_is_served(words, status, said):
    told = run(*words)
    assert told.exit_code == status
    assert said in told.output
    assert "geheim" not in told.output


def test_a_port_that_is_taken_is_said(port):
    with socket.socket() as one:
        one.bind(("127.0.0.1", port))
        one.listen()
        done = subprocess.run(
            [sys.executable, "-m", "kvtui", "serve", "--port", str(port), "--demo"], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on" in done.stderr
    assert done.stdout == "", "no address of a page that is not there"


def test_the_consoles_command_line_takes_what_was_given():
    words = verb.console_words("a b'; rm -rf /", None, {"theme": "light", "boot": 2, "log": None, "api_key_file": Path("/k y")})
    assert words[-6:] == ["console", "--theme=light", "--boot=2", "--api-key-file=/k y", "--", "a b'; rm -rf /"]
    assert verb.console_words(None, "", {"speed": None})[-2:] == ["console", "--demo"]
    assert verb.console_words(None, "kv-full", {})[-1] == "--demo=kv-full"
