"""Keys, tokens and prompts, seeded everywhere a server or its machine may show them, appear nowhere."""

import json
import os
import re

import pytest
from click.testing import CliRunner
from fake_proc import FakeProc
from fakes.sglang_server import FakeSglang, ServedSglang, loads, server_info
from metric_pages import body, load, rank_labels, series
from reading import log
from screen import screen_text

from kvtui import wiring
from kvtui.app import KvtuiApp
from kvtui.cli import main
from kvtui.engine.analyse import estimates
from kvtui.sources.discovery import discover

SEED = re.compile(r"(?i)canary")
"""Every seed holds this word and nothing else does."""
PROMPT = "Dear doctor, my canaryprompt00 hurts"
LINES = f"""\
[2026-03-18 09:40:00] Receive: obj=GenerateReqInput(rid='r1', text='{PROMPT}', input_ids=None, sampling_params={{'max_new_tokens': 8}})
[2026-03-18 09:40:01] Receive: obj=ChatCompletionRequest(messages=[{{'role': 'user', 'content': '{PROMPT}'}}], model='x')
[2026-03-18 09:40:02] Finish: obj=GenerateReqInput(text="{PROMPT}"), out={{'text': 'canaryanswer01', 'meta_info': {{}}}}
[2026-03-18 09:40:03] INFO:     10.0.0.1:5 - "GET /v1/models?api_key=canarykey02 HTTP/1.1" 200 OK
[2026-03-18 09:40:04 TP0] Scheduler hit an exception: Traceback: requests.get('https://bob:canarypass03@hub/x?token=canarytoken04') failed, Authorization: Bearer canarybearer05
[2026-03-18 09:40:05 TP0] WARNING: HF_TOKEN=canaryhf06 is not valid for https://hub.example/m?token=canarytoken07
[2026-03-18 09:40:06 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 3, #new_token_ratio: 0.3 -> 0.9, prompt='{PROMPT}'
[2026-03-18 09:40:07 TP0] torch.OutOfMemoryError: CUDA out of memory. api_key=canarykey08 text='{PROMPT}'
[2026-03-18 09:40:08] command: python -m sglang.launch_server --api-key canarykey09 --admin-api-key=canarykey10
"""
ARGUMENTS = {
    "api_key": "canarykey11", "admin_api_key": "canarykey12", "ssl_keyfile_password": "canarypass13", "hf_token": "canarytoken14",
    "model_path": "https://bob:canarypass15@hub.example/m?token=canarytoken16", "served_model_name": "m?api_key=canarykey17",
    "launch_command": "python -m sglang.launch_server --api-key canarykey18 --model-path https://x:canarypass19@h/m", "tp_size": 1,
    "tokenizer_path": "s3://h/t?signature=canarysig20", "preferred_sampling_params": "{'text': 'canaryprompt21'}",
}  # fmt: skip


def seeded():
    fake = FakeSglang("0.5.9")
    name = "m?token=canarytoken22"

    def page():
        fake.tokens += 100
        lines = [line.replace('model_name="m"', f'model_name="{name}"') for line in load(running=4, tput=100.0 + fake.tokens)]
        lines.append(series("realtime_tokens_total", fake.tokens, mode="decode", **{**rank_labels(), "model_name": name}))
        return body(lines)

    fake.answers["/metrics"] = page
    fake.answers["/server_info"] = server_info("0.5.9", **ARGUMENTS)
    fake.answers["/v1/loads"] = {**loads("0.5.9"), "api_key": "canarykey23"}
    fake.answers["/model_info"] = {
        "model_path": ARGUMENTS["model_path"],
        "architectures": ["LlamaForCausalLM"],
        "served_model_name": "Bearer canarybearer24",
    }
    return fake


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A server with secrets everywhere: address with credentials, key file, log; ``wiring`` finds its process."""
    text = (
        log("founding_a.log").replace("api_key=None", "api_key='canarykey25'").replace("admin_api_key=None", "admin_api_key='canarykey26'")
    )
    text += LINES + log("founding_b.log").replace("2026-03-18", "2026-03-19")
    (tmp_path / "server.log").write_text(text)
    (tmp_path / "key").write_text("canarykey27\n")
    with ServedSglang(seeded()) as served:
        proc = FakeProc(tmp_path)
        words = ["python", "-m", "sglang.launch_server", "--model-path", "https://u:canarypass28@h/m", "--api-key", "canarykey29"]
        words += ["--port", str(served.port), "--hf-token=canarytoken30"]
        environment = {"HF_TOKEN": "canaryhf31", "SGLANG_API_KEY": "canarykey32", "NCCL_DEBUG": "token=canarytoken33"}
        pid = proc.add(4000, words, env=environment, out=str(tmp_path / "server.log"))
        proc.add(4001, ["sglang::scheduler --api-key canarykey34"], pid)
        monkeypatch.setattr(wiring, "discover", lambda: discover(proc.root, tmp_path))
        monkeypatch.setenv("SGLANG_API_KEY", "canarykey35")
        yield f"http://bob:canarypass36@127.0.0.1:{served.port}/?token=canarytoken37", tmp_path


def clean_of_seeds(text, what):
    found = SEED.search(text)
    assert found is None, f"{what}: …{text[max(0, found.start() - 120) : found.end() + 40]}…"


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_reports_on_a_server_and_on_a_log(place, form):
    address, folder = place
    for target in (address, str(folder / "server.log")):
        more = ["--log", str(folder / "server.log"), "--api-key-file", str(folder / "key")] if target is address else []
        done = CliRunner().invoke(main, ["report", target, "--format", form, *more])
        assert done.exit_code in {0, 1}, done.output
        assert "0.5.9" in done.output
        clean_of_seeds(done.output + done.stderr, f"report {form}")


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_a_comparison(place, form):
    done = CliRunner().invoke(main, ["report", str(place[1] / "server.log"), "--compare", "1,2", "--format", form])
    assert done.exit_code == 0, done.output
    clean_of_seeds(done.output + done.stderr, "compare")


def test_failures(place):
    address, folder = place
    missing = folder / "canarykey38=x"
    for words in (
        ["report", address.replace("http", "ftp")],
        ["report", address.replace("127.0.0.1", "127.0.0.1:x")],
        ["report", f"--log={missing}", address],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code != 0
        clean_of_seeds(re.sub(r"canarykey38", "", done.output + done.stderr), str(words[0]))


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_every_screen(place, size):
    address, folder = place
    request = wiring.Request(address, api_key="canarykey39", log=str(folder / "server.log"))
    app = KvtuiApp(wiring.open_feed(request), estimates, target=request.shown)
    seen = []
    async with app.run_test(size=size) as pilot:
        for _ in range(60):
            await pilot.pause(0.1)
            if app.view_state is not None and "0.5.9" in screen_text(app) and len(app.view_state.analysis.frame.boots) >= 2:
                break
        seen.append(screen_text(app))
        assert "0.5.9" in seen[0]
        for key in ("v", "w", "m", "l", "b", "t", "f1", "4,enter", "ctrl+p"):
            await pilot.press(*key.split(","))
            for scroll in ("", "pagedown", "pagedown", "end"):
                if scroll:
                    await pilot.press(scroll)
                await pilot.pause(0.05)
                seen.append(screen_text(app))
            await pilot.press("escape")
            await pilot.pause(0.05)
        await pilot.press("b", "up", "enter")
        for _ in range(10):
            await pilot.pause(0.1)
            seen.append(screen_text(app))
        state = app.view_state
    assert any("Retract" in text or "retract" in text for text in seen)
    for text in seen:
        clean_of_seeds(text, "screen")
    clean_of_seeds(repr(state.analysis), "analysis")


def test_a_crash_of_our_own_shows_no_secret(place, capfd):
    address, _ = place

    class Broken:
        async def next(self):
            raise RuntimeError(f"canarykey40 {PROMPT} {address}")

        def choose(self, boot):
            pass

        async def close(self):
            pass

    app = KvtuiApp(Broken(), estimates)
    app.plain_failure = True
    app.run(headless=True)
    assert app.failure
    shown = capfd.readouterr()
    clean_of_seeds(app.failure + shown.out + shown.err, "crash")


def test_the_seeds_are_really_there(place):
    """The search would find what leaks: the sources do hold the words."""
    address, folder = place
    assert SEED.search(address)
    assert len(SEED.findall((folder / "server.log").read_text())) > 10
    assert len(SEED.findall(json.dumps(ARGUMENTS))) > 8
    assert SEED.search(os.environ["SGLANG_API_KEY"])
