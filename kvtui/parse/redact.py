"""Secrets out, control characters visible, length bounded: the last step before a text leaves ``parse``."""

from __future__ import annotations

import re
from typing import Final

REMOVED: Final = "***"
"""What stands in place of a secret."""
_REDACT_LIMIT: Final = 65_536

_WORDS: Final = r"(?:api[_-]?key|apikey|secret|passwd|password|passphrase|access[_-]?key|private[_-]?key|credentials?|authorization)"
_ASIDE: Final = r"[\"'\\]*"

_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # user:password@ in an address
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://)[^\s/@'\"]{1,300}@"), rf"\1{REMOVED}@"),
    # Authorization: Bearer x, Basic x
    (re.compile(r"(?i)\b(bearer|basic)(\s+|%20)[\w.~+/=-]{8,}"), rf"\1 {REMOVED}"),
    # api_key='x', "password": "x", --api-key x, MY_SECRET=x; a quoted value may hold blanks
    (
        re.compile(
            rf"(?i)((?<![\w-])[\w-]{{0,64}}?{_WORDS}[\w-]{{0,64}}{_ASIDE}(?:\s*[=:]\s*|\s+))"
            r"(?:b?\\?\"(?!None\b)[^\"]+\"?|b?\\?'(?!None\b)[^']+'?|(?!['\"]|None\b|null\b|true\b|false\b|is\b|not\b|\*)[^\s,'\"})\]]+)",
        ),
        rf"\1{REMOVED}",
    ),
    # HF_TOKEN=x, access_token: x; counts such as "#new-token: 7" are no secrets
    (
        re.compile(
            rf"(?i)((?<![#\w-])[\w-]{{0,64}}?(?<![a-z])token{_ASIDE}(?:\s*=\s*|:\s*(?={_ASIDE}[^\s\d])|\s+(?=hf_)))"
            rf"(?!{_ASIDE}(?:None|null|true|false|\d+(?:\.\d+)?)(?![\w.-])){_ASIDE}[^\s,'\"}})\]&]{{4,}}"
        ),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"(?i)([?&;](?:[\w-]{0,40}?(?:token|key|sig|signature|secret|password|auth))=)[^\s&'\"#]+"), rf"\1{REMOVED}"),
    (re.compile(r"(?i)(--[\w-]{0,40}?(?:token|secret|password|api-key)(?:=|\s+))(?!\*|-)[^\s]{4,}"), rf"\1{REMOVED}"),
    (re.compile(r"(?i)\b((?:set-)?cookie\b[\"']?\s*[:=]\s*)[^\r\n]+"), rf"\1{REMOVED}"),
    (re.compile(r"-----BEGIN [A-Z ]{0,40}KEY-----.*?(?:-----END [A-Z ]{0,40}KEY-----|$)", re.DOTALL), REMOVED),
    # what a user asked: prompts in errors and in request objects
    (
        re.compile(
            r"(?i)\b((?:input_)?text|prompt|messages|content|input_ids|output_text)([\"']?\s*[=:]\s*)"
            r"(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\[[^\]]*\]?|\{[^}]*\}?)"
        ),
        rf"\1\2{REMOVED}",
    ),
    # keys that are recognised by their own shape, wherever they stand
    (re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}"), REMOVED),
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), REMOVED),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}"), REMOVED),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|nvapi-|xox[abprs]-|ya29\.|AIza)[\w.-]{8,}"), REMOVED),
    (re.compile(r"\beyJ[\w-]{8,2000}\.[\w-]{4,}(?:\.[\w-]*)?"), REMOVED),
)
_SECRET_NAME: Final = re.compile(
    r"(?i)(?:api_?key|apikey|secret|passw|passphrase|credential|authorization|private_key|(?:^|_)(?:auth|access|hf|hub)_?token$)"
)

_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)


def redact(text: str) -> str:
    """``text`` without keys, tokens, passwords and credentials in addresses.

    Only the first 64 Ki characters are looked at and given back: nothing longer is ever shown.
    """
    text = text[:_REDACT_LIMIT]
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def is_secret_name(name: str) -> bool:
    """True for settings whose value must not be shown: ``api_key``, ``admin_api_key``, ``ssl_keyfile_password`` ..."""
    return _SECRET_NAME.search(name) is not None


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in {0x09, 0x0A, 0x0D}:
        return " "
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    """``text`` with control, direction and zero-width characters written out as escapes."""
    return _CONTROL.sub(_visible, text)


def safe(text: str, limit: int = 300) -> str:
    """``text`` fit to be shown: secrets removed, control characters visible, at most ``limit`` characters."""
    shown = visible(redact(text)).strip()
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
