"""The command line as a user types it: exit statuses, formats, and every kind of bad input."""

import gzip
import json
import subprocess
import sys

import pytest
import zstandard
from click.testing import CliRunner
from reading import LOGS, log

from kvtui import __version__
from kvtui.cli import main
from kvtui.domain.process import Discovery, FoundServer
from kvtui.domain.reading import Known
from kvtui.sources.errors import NeverALog
from kvtui.wiring import Request, open_source

CANARY = "sk-canary-4f1d0c9ab7e2"


def run(*args, text=None):
    return CliRunner().invoke(main, [str(a) for a in args], input=text)


def report(*args, text=None):
    done = run("report", *args, "--format", "json", text=text)
    return done, json.loads(done.stdout)


def test_version_and_help():
    assert __version__ in run("--version").stdout
    seen = run("--help").stdout
    assert "report" in seen
    assert "plan" in seen


def test_without_a_target_a_report_says_what_was_looked_for(monkeypatch):
    monkeypatch.setattr("kvtui.sources.discovery.discover", lambda: Discovery((), ("Looked for processes named sglang::scheduler.",)))
    done = run("report")
    assert done.exit_code == 3
    assert "Looked for processes" in done.stderr
    assert "kvtui server.log" in done.stderr


def test_several_servers_and_nobody_to_ask_are_listed(monkeypatch):
    two = (FoundServer(Known(1), (), Known("a"), port=Known(30000)), FoundServer(Known(2), (), Known("b"), port=Known(30001)))
    monkeypatch.setattr("kvtui.sources.discovery.discover", lambda: Discovery(two, ()))
    done = run("report")
    assert done.exit_code == 3
    assert ":30000" in done.stderr
    assert ":30001" in done.stderr


def test_an_address_where_nothing_listens_is_one_sentence():
    done = run("report", "http://127.0.0.1:9")
    assert done.exit_code == 3
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", ["", "two\nlines\n"])
def test_a_bad_key_file_is_one_sentence_without_the_key(tmp_path, content):
    path = tmp_path / "key"
    path.write_text(content)
    done = run("report", "http://127.0.0.1:9", "--api-key-file", path)
    assert done.exit_code == 3
    assert "lines" not in done.stderr


def test_a_console_that_has_no_terminal_points_to_the_report():
    done = run(LOGS / "founding_a.log")
    assert done.exit_code == 2
    assert "kvtui report" in done.stderr


def test_the_json_report_keeps_its_contract():
    done, seen = report(LOGS / "founding_a.log")
    assert done.exit_code == 1
    assert seen["schema"] == 1
    assert {"version", "model", "attention", "tp", "dp", "pp", "kv_dtype"} <= seen["server"].keys()
    assert seen["server"]["attention"] == "mla"
    memory = seen["memory"]
    assert {
        "fraction",
        "pre_gib",
        "post_gib",
        "rest_gib",
        "cell_bytes",
        "kv_gib",
        "tokens_predicted",
        "tokens_reported",
        "error_pct",
    } <= memory.keys()
    assert (memory["pre_gib"], memory["post_gib"], memory["cell_bytes"], memory["tokens_reported"]) == (94.04, 21.71, 70_272, 116_171)
    first = seen["verdicts"][0]
    assert {"id", "title", "axis", "confidence", "since", "evidence", "fixes", "advice"} <= first.keys()
    assert (first["id"], first["axis"]) == ("kv-capacity", "concurrency")
    raised = next(o for o in seen["options"] if o["id"] == "raise-fraction")
    assert {"id", "applies", "why_not", "flags", "tokens", "fits", "tok_s", "headroom_gib", "risk", "restart"} <= raised.keys()
    assert raised["tokens"] == pytest.approx(188_017, abs=25)
    assert {"low", "mid", "high", "basis"} <= raised["tok_s"].keys()
    assert raised["tok_s"]["low"] <= raised["tok_s"]["mid"] <= raised["tok_s"]["high"]


def test_a_start_without_load_is_no_limit():
    done, seen = report(LOGS / "founding_b.log")
    assert done.exit_code == 0
    assert seen["verdicts"][0]["id"] in {"not-enough-data", "healthy"}


@pytest.mark.parametrize("form", ["text", "json", "md"])
def test_no_secret_leaves_in_any_format(form):
    done = run("report", LOGS / "founding_a.log", "--format", form)
    assert CANARY in log("founding_a.log")
    assert CANARY not in done.output


@pytest.mark.parametrize("form", ["text", "md"])
def test_text_and_markdown_write_the_arithmetic_out(form):
    seen = run("report", LOGS / "founding_a.log", "--format", form).stdout
    assert "rest = 21.71 − 94.04 × (1 − 0.85) = 7.60 GiB" in seen
    assert "116,171 tokens reported" in seen


def test_markdown_cannot_be_broken_by_a_name(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(log("founding_a.log").replace("/models/Kimi-K2.5", "/models/x|y](http://evil)`<img>@all"))
    seen = run("report", path, "--format", "md").stdout
    assert "](http" not in seen.replace("\\](http", "")
    assert "<img" not in seen.replace("\\<img", "")


def test_a_pipe_and_packed_files_read_as_the_plain_file_does(tmp_path):
    plain = report(LOGS / "founding_a.log")[1]
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress(log("founding_a.log").encode()))
    zst = tmp_path / "server.log"
    zst.write_bytes(zstandard.compress(log("founding_a.log").encode()))
    piped = subprocess.run(
        [sys.executable, "-m", "kvtui", "report", "-", "--format", "json"], input=log("founding_a.log"), capture_output=True, text=True
    )
    for other in (report(packed)[1], report(zst)[1], json.loads(piped.stdout)):
        assert other == plain


def test_two_starts_can_be_compared(tmp_path):
    both = tmp_path / "both.log"
    both.write_text(log("founding_a.log") + log("founding_b.log").replace("2026-03-18", "2026-03-19"))
    done = run("report", both, "--compare", "1,2")
    assert done.exit_code == 0
    assert "mem_fraction_static" in done.stdout
    assert "116,171" in done.stdout
    assert "159,277" in done.stdout
    assert "+37%" in done.stdout
    assert run("report", both, "--compare", "1,9").exit_code == 2
    assert run("report", both, "--compare", "one").exit_code == 2


def test_an_older_start_can_be_chosen(tmp_path):
    both = tmp_path / "both.log"
    both.write_text(log("founding_a.log") + log("founding_b.log").replace("2026-03-18", "2026-03-19"))
    assert report(both)[1]["memory"]["tokens_reported"] == 159_277
    assert report(both, "--boot", 1)[1]["memory"]["tokens_reported"] == 116_171
    assert len(report(both)[1]["boots"]) == 2


def hostile(tmp_path, kind):
    path = tmp_path / "server.log"
    match kind:
        case "missing":
            pass
        case "directory":
            path.mkdir()
        case "empty":
            path.write_bytes(b"")
        case "binary":
            path.write_bytes(bytes(range(256)) * 4000)
        case "another program":
            path.write_text("2026-01-01 nginx: worker started\n" * 50)
        case "one long line":
            path.write_bytes(b"x" * 20_000_000)
        case "cut gzip":
            path.write_bytes(gzip.compress(b"nothing of ours\n" * 100)[:-20])
    return path


@pytest.mark.parametrize("kind", ["missing", "directory", "empty", "binary", "another program", "one long line", "cut gzip"])
def test_what_cannot_be_read_is_one_sentence_and_status_3(tmp_path, kind):
    done = run("report", hostile(tmp_path, kind))
    assert done.exit_code == 3
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "server.log" in done.stderr


def test_json_comes_even_where_nothing_could_be_read(tmp_path):
    done, seen = report(hostile(tmp_path, "empty"))
    assert done.exit_code == 3
    assert seen["verdicts"] == []
    assert "empty" in seen["notes"][0]


def test_a_log_cut_in_a_line_gives_what_could_be_read(tmp_path):
    whole = log("founding_a.log")
    path = tmp_path / "server.log"
    path.write_text(whole[: whole.index("max_total_num_tokens=") + 26])
    done, seen = report(path)
    assert done.exit_code in {0, 1}
    assert seen["memory"]["pre_gib"] == 94.04


def test_plan_reproduces_the_founding_pool():
    done = run("plan", "Kimi-K2.5", "--sglang", "0.5.9", "--tp", 8, "--pre", 94.04, "--post", 21.71, "--fraction", 0.88)
    assert done.exit_code == 0
    assert "159,294" in done.stdout
    assert "70,272 B" in done.stdout


def test_plan_takes_a_config_file_and_weights(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({
        "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "hidden_size": 5120,
        "head_dim": 128, "max_position_embeddings": 40960, "torch_dtype": "bfloat16", "vocab_size": 151936, "model_type": "qwen3",
    }))  # fmt: skip
    done = run(
        "plan", config, "--sglang", "0.5.10.post1", "--tp", 4, "--pre", 176.28, "--weights", 15.5, "--fraction", 0.85, "--format", "json"
    )
    seen = json.loads(done.stdout)
    assert seen["cell_bytes"] == 65_536
    assert seen["tokens"] == int((176.28 - 15.5 - 176.28 * 0.15) * (1 << 30)) // 65_536


def test_plan_chooses_the_fraction_that_sglang_would():
    done = run(
        "plan", "Kimi-K2.5", "--sglang", "0.5.9", "--tp", 8, "--pre", 94.04, "--post", 21.71, "--gpu-memory", 97_887, "--format", "json"
    )
    assert json.loads(done.stdout)["fraction"] == pytest.approx(0.77146, abs=1e-5)


@pytest.mark.parametrize(
    "args",
    [
        ["Kimi-K2.5"],
        ["no-such-model", "--pre", "1", "--post", "1"],
        ["Kimi-K2.5", "--pre", "94", "--post", "21"],
        ["Kimi-K2.5", "--sglang", "x", "--pre", "9", "--post", "8"],
        [],
    ],
)
def test_plan_names_what_is_missing_or_wrong(args):
    done = run("plan", *args)
    assert done.exit_code == 2
    assert "Error:" in done.stderr


def test_plan_reads_json_lines_and_answers_each_with_one():
    lines = '{"type":"mla","pre":94.04,"post":21.71,"mem_fraction":0.85,"kv_dtype":"bf16","page_size":1,"attn_tp":8,"kv_heads":1,"num_hidden_layers":61,"head_dim":192,"context_len":262144,"kv_lora_rank":512,"qk_rope_head_dim":64,"sglang_version":"0.5.9"}\nnot json\n'
    done = run("plan", "--json-lines", text=lines)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["tokens"] == 116_187
    assert "not JSON" in second["error"]


def lines(*bodies, args=()):
    done = run("plan", "--json-lines", *args, text="".join(json.dumps(body) + "\n" for body in bodies))
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


SERVER = {"model": "Kimi-K2.5", "tp": 8, "pre": 94.04, "post": 21.71, "fraction": 0.88}
SIZES = {
    "type": "mha",
    "num_hidden_layers": 2,
    "head_dim": 64,
    "kv_heads": 8,
    "attn_tp": 4,
    "pre": 80,
    "post": 60,
    "mem_fraction": 0.8,
    "context_len": 4096,
}


def test_a_line_may_name_a_model_and_ask_for_options_and_a_load():
    code, (bare, priced, loaded) = lines(
        SERVER, {**SERVER, "options": True}, {**SERVER, "sglang": "0.5.9", "load": "64 users, 4k in, 500 out"}, args=("--sglang", "0.5.9")
    )
    assert code == 0
    assert (bare["tokens"], "options" in bare, "load" in bare) == (159_294, False, False)
    assert any(option["id"] == "raise-fraction" for option in priced["options"])
    assert loaded["load"]["stated"] == "64 users, 4000 in, 500 out"
    assert any(option["tok_s"] or option["fits"] for option in loaded["options"])


def test_a_load_on_the_command_line_holds_for_every_line_that_states_none():
    _, (first, second) = lines(SERVER, {**SERVER, "load": "9 users, 1k in, 100 out"}, args=("--load", "64 users, 4k in, 500 out"))
    assert first["load"]["stated"].startswith("64 users")
    assert second["load"]["stated"].startswith("9 users")


def test_the_status_says_whether_some_or_all_lines_failed():
    assert lines(SIZES)[0] == 0
    code, (_, wrong) = lines(SIZES, {**SERVER, "tp": 7})
    assert code == 1
    assert "64 attention heads cannot be spread over 7 GPUs: SGLang refuses to start" in wrong["error"]
    assert lines({}, [], {**SERVER, "tp": 7})[0] == 3
    assert "SGLang refuses to start" in lines({**SIZES, "attn_tp": 3})[1][0]["notes"][0]


@pytest.mark.parametrize(
    "changed",
    [{"tp": 8.5}, {"tp": [8]}, {"tp": True}, {"tp": 0}, {"dp_attention": 1}, {"options": "yes"}, {"x": 1}, {"model": 7}, {"load": "much"},
     {"json_lines": True}, {"fraction": "nan"}, {"pre": float("inf")}, {"kv_cache_dtype": {}}],
)  # fmt: skip
def test_a_line_with_a_wrong_value_is_an_error_in_one_sentence(changed):
    code, (found,) = lines({**SERVER, **changed})
    assert code == 3
    assert "\n" not in found["error"]
    assert found["kind"] in {"invalid", "fraction", "pool"}


@pytest.mark.parametrize(("model", "tp"), [("Kimi-K2.5", 7), ("Qwen2.5-7B", 8), ("Qwen3-32B", 7)])
def test_a_plan_that_sglang_would_refuse_is_refused(model, tp):
    done = run("plan", model, "--tp", tp, "--pre", 94, "--post", 60, "--fraction", 0.88)
    assert done.exit_code == 2
    assert f"cannot be spread over {tp} GPUs: SGLang refuses to start" in done.stderr


def test_the_lines_are_described_in_the_help():
    told = run("plan", "--help").stdout
    assert '"options": true' in told
    assert "1 some have an error" in told


def test_a_console_on_what_can_never_be_a_log_ends_with_a_sentence(tmp_path):
    with pytest.raises(NeverALog, match="is a directory"):
        open_source(Request(str(tmp_path)))


@pytest.mark.parametrize("address", [":99999", "http://[::1", "http://localhost:abc"])
def test_an_address_that_cannot_be_read_is_said_in_one_sentence(address):
    told = run("report", address, "--format", "json")
    assert told.exit_code == 3
    assert "cannot be read as an address" in json.loads(told.stdout)["notes"][0]
