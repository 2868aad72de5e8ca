"""A headless Chromium, driven over its own protocol: what a page is sent, and keys."""

import asyncio
import base64
import contextlib
import json
import shutil
from pathlib import Path

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. Its terminal is a canvas: what stands on it is taken from the page's web socket."""

    def __init__(self, process, http, socket):
        self._process, self._http, self._socket = process, http, socket
        self._count = 0
        self._answers = {}
        self._reading = asyncio.create_task(self._read())
        self.painted = ""
        self.asked = []
        """Addresses that the page fetched."""

    async def _read(self):
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told)
            elif told["method"] == "Network.webSocketFrameReceived":
                frame = told["params"]["response"]
                data = base64.b64decode(frame["payloadData"]) if frame["opcode"] == 2 else frame["payloadData"].encode()
                self.painted += data.decode("utf-8", "replace")
            elif told["method"] == "Network.responseReceived":
                self.asked.append(told["params"]["response"]["url"])

    async def call(self, method, **params):
        self._count += 1
        answer = self._answers[self._count] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._count, "method": method, "params": params})
        told = await asyncio.wait_for(answer, 20)
        assert "error" not in told, told
        return told["result"]

    async def open(self, url):
        await self.call("Network.enable")
        await self.call("Page.enable")
        # As for a window that a person looks at: without it no element can take the keys.
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await self.call("Page.navigate", url=url)

    async def until(self, word, seconds=30):
        """Wait until ``word`` is painted after this call."""
        begun = len(self.painted)
        for _ in range(int(seconds * 20)):
            if word in self.painted[begun:]:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{word!r} was not painted: {self.painted[-2000:]!r}")

    async def press(self, key):
        """A letter key, down and up."""
        code = {"key": key, "code": f"Key{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=key, **code)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    async def clipboard(self, address):
        """What the page of ``address`` has put on the clipboard of the machine before which its reader sits."""
        origin = "/".join(address.split("/")[:3])
        await self.call("Browser.grantPermissions", origin=origin, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        told = await self.call("Runtime.evaluate", expression="navigator.clipboard.readText()", awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in told, told
        return told["result"]["value"]


@contextlib.asynccontextmanager
async def browser(folder, size=(1250, 900)):
    """A page with nothing on it; everything of it is gone afterwards. ``folder``: where its profile may lie."""
    process = await asyncio.create_subprocess_exec(
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0",
        f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    http = aiohttp.ClientSession()
    page = None
    try:
        active = Path(folder) / "DevToolsActivePort"
        for _ in range(400):
            if active.exists() and active.read_text():
                break
            await asyncio.sleep(0.05)
        port = active.read_text().split()[0]
        async with http.get(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = await answer.json(content_type=None)
        socket = await http.ws_connect(next(one for one in pages if one["type"] == "page")["webSocketDebuggerUrl"], max_msg_size=0)
        page = Browser(process, http, socket)
        yield page
    finally:
        if page is not None:
            with contextlib.suppress(Exception):
                await page.call("Browser.close")
            page._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await page._reading
            await page._socket.close()
        await http.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
