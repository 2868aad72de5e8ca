from __future__ import annotations

import time

import pytest

from kvtui.parse.redact import is_secret_name, redact, safe


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("--api-key sk-canary-d86b14b91257", "canary"),
        ("--api-key=abc123456 --tp 8", "abc123456"),
        ("api_key='two words here', tp_size=8", "words"),
        ("'admin_api_key': 'qwertyuiop'", "qwerty"),
        ('{\\"api_key\\": \\"abcdefgh\\"}', "abcdefgh"),
        ("ssl_keyfile_password='p w'", "p w"),
        ("HF_TOKEN=hf_abcdefghijk python", "abcdefghijk"),
        ("HUGGING_FACE_HUB_TOKEN=xyzxyz", "xyzxyz"),
        ("AWS_SECRET_ACCESS_KEY=abcd/efg+h=", "abcd/efg"),
        ("Authorization: Bearer abc.def-ghi123", "abc.def"),
        ("http://user:hunter2@host/x", "hunter2"),
        ("https://host/x?token=abc&k=1", "=abc"),
        ("key AKIAIOSFODNN7EXAMPLE here", "IOSFODNN"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.abc", "hbGci"),
    ],
)
def test_secrets_go(text, secret):
    assert secret not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 4, #token: 3999, token usage: 0.98",
        "Prefill batch, #new-token: 7, #cached-token: 3",
        "max_total_num_tokens=457784, context_len=8192",
        "api_key=None, tokenizer_path='/m', tp_size=8",
        "'api_key': None",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


def test_control_characters_are_shown_and_length_is_bounded():
    assert safe("a\x1b[31mb\u202ec\ud800\td") == "a\\x1b[31mb\\u202ec\ufffd d"
    assert len(safe("x" * 10_000)) == 300


@pytest.mark.parametrize("bad", ["a" * 70_000, "-" * 70_000, "api_key" * 9_000, "token " * 9_000, "eyJaaaaaaaa-" * 5_000, "a:" * 30_000])
def test_hostile_text_takes_no_long_time(bad):
    begun = time.process_time()
    redact(bad)
    assert time.process_time() - begun < 3


def test_names():
    assert is_secret_name("admin_api_key")
    assert is_secret_name("ssl_keyfile_password")
    assert not is_secret_name("max_total_tokens")
    assert not is_secret_name("tokenizer_path")
