from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.parse.commands import parse_command
from kvtui.parse.forced import forced_setting
from kvtui.parse.literals import scalar
from kvtui.parse.settings import parse_server_args

REPR = "server_args=ServerArgs(model_path='/m, (x)', tp_size=8, f=0.88, n=None, on=True, bs=[1, 2], d={'a': {'b': 1}}, api_key='zzz', q='it\\'s')"
DICT = """server_args={'model_path': '/m, (x)', 'tp_size': 8, 'f': 0.88, 'n': None, 'on': True, 'bs': [1, 2], 'd': {'a': {'b': 1}}, 'api_key': 'zzz', 'q': "it's"}"""


@pytest.mark.parametrize(("line", "style"), [(REPR, "repr"), (DICT, "dict")])
def test_both_styles(line, style):
    args = parse_server_args(line)
    assert args is not None
    assert (args.style, args.complete) == (style, True)
    assert args.values == {
        "model_path": "/m, (x)",
        "tp_size": 8,
        "f": 0.88,
        "n": None,
        "on": True,
        "bs": (1, 2),
        "d": "{'a': {'b': 1}}",
        "api_key": "***",
        "q": "it's",
    }


@pytest.mark.parametrize("cut", range(25, len(REPR)))
def test_a_cut_line_gives_only_what_is_whole(cut):
    args = parse_server_args(REPR[:cut])
    whole = parse_server_args(REPR)
    assert whole is not None
    if args is not None:
        assert not args.complete
        assert all(whole.values[name] == value for name, value in args.values.items())


def test_dots_mark_a_shortened_line():
    args = parse_server_args("server_args=ServerArgs(tp_size=8, ..., dp_size=2)")
    assert args is not None
    assert not args.complete
    assert args.values == {"tp_size": 8, "dp_size": 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e999", "1e999"), ("nan", "nan"), ("9" * 60, "9" * 60), ("-3", -3), ("'a\\x1bb'", "a\\x1bb"), ("(1, 'x')", (1, "x"))],
)
def test_literals(text, value):
    assert scalar(text) == value


def test_a_deep_literal_is_bounded():
    assert isinstance(scalar("[" * 500 + "]" * 500), tuple)


COMMANDS = [
    (
        "python3 -m sglang.launch_server --model /m --tp 4 --mem-fraction-static=0.93 --trust-remote-code",
        {"model_path": "/m", "tp_size": 4, "mem_fraction_static": 0.93, "trust_remote_code": True},
    ),
    ("$ HF_TOKEN=hf_aaaaaaaaaa sglang serve --model-path '/a b' --tensor-parallel-size 8", {"model_path": "/a b", "tp_size": 8}),
    (
        "python -m sglang.launch_server --dp 2 --cuda-graph-bs 1 2 4 --api-key=foofoofoo 2>&1 | tee --tp 9",
        {"dp_size": 2, "cuda_graph_bs": (1, 2, 4), "api_key": "***"},
    ),
    ('CMD ["python3", "-m", "sglang.launch_server", "--model-path", "/x", "--tp", "2"]', {"model_path": "/x", "tp_size": 2}),
]


@pytest.mark.parametrize(("line", "values"), COMMANDS)
def test_commands(line, values):
    command = parse_command(line)
    assert command is not None
    assert command.values == values
    assert "foofoofoo" not in command.text
    assert "hf_a" not in command.text


def test_a_client_is_no_server():
    assert parse_command("python -m sglang.bench_serving --num-prompts 10") is None


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        ("Max running requests is reset to 48 for speculative decoding. You can", ("max_running_requests", 48)),
        ("Setting swa_full_tokens_ratio to 0.1 for X.", ("swa_full_tokens_ratio", 0.1)),
        (
            "DP attention is enabled. The chunked prefill size is adjusted to 1024 to avoid MoE kernel issues.",
            ("chunked_prefill_size", 1024),
        ),
        ("Setting page size to 64 for DeepSeek DSA.", ("page_size", 64)),
        ("KTransformers EP is enabled. --disable-shared-experts-fusion is automatically set", ("disable_shared_experts_fusion", True)),
        ("Disabling overlap schedule since mamba no_buffer is not compatible", ("disable_overlap_schedule", True)),
        ("Disable prefill CUDA graph because", None),
    ],
)
def test_forced_settings(line, setting):
    assert forced_setting(line) == setting


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="server_args=S(){}[]'\",:\\ -.0n", max_size=120))
def test_nothing_raises(text):
    parse_server_args("server_args=ServerArgs(" + text)
    parse_command("python -m sglang.launch_server " + text)
    forced_setting(text)
    scalar(text)
