"""The README is true: its key table is the program's, its commands run, its pictures are current."""

import html
import importlib.util
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from reading import LOGS

from kvtui.cli import main
from kvtui.parse.palette import read_palette
from kvtui.parse.palette_names import BASE, MEANING
from kvtui.parse.settings_file import read_settings
from kvtui.present.settings_text import table_rows
from kvtui.views.commands import help_sections
from kvtui.views.keymap import remap

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMES = re.compile(r"(<!-- palette names: .*? -->\n)(.*?)(<!-- /palette names -->)", re.DOTALL)
SETTINGS = re.compile(r"(<!-- settings: .*? -->\n)(.*?)(<!-- /settings -->)", re.DOTALL)
MARK = re.compile(r"(<!-- keys: .*? -->\n)(.*?)(<!-- /keys -->)", re.DOTALL)


def key_table() -> str:
    rows = ["| keys | what | more |", "|---|---|---|"]
    for section, commands in help_sections():
        rows.append(f"| **{section}** | | |")
        rows += [f"| `{keys}` | {title} | {more} |" for keys, title, more in commands]
    return "\n".join(rows) + "\n"


def test_the_key_table_is_the_programs():
    if os.environ.get("KVTUI_GOLDEN") == "write":
        (ROOT / "README.md").write_text(MARK.sub(lambda m: m[1] + key_table() + m[3], README), encoding="utf-8")
        return
    found = MARK.search(README)
    assert found
    assert found[2] == key_table()


def settings_table() -> str:
    rows = ["| setting | default | allowed | what |", "|---|---|---|---|"]
    rows += [f"| `{path}` | {default} | {allowed} | {more} |" for path, default, allowed, more in table_rows()]
    return "\n".join(rows) + "\n"


def test_the_table_of_settings_is_the_programs():
    if os.environ.get("KVTUI_GOLDEN") == "write":
        now = (ROOT / "README.md").read_text(encoding="utf-8")
        (ROOT / "README.md").write_text(SETTINGS.sub(lambda m: m[1] + settings_table() + m[3], now), encoding="utf-8")
        return
    found = SETTINGS.search(README)
    assert found
    assert found[2] == settings_table()


def names_table() -> str:
    rows = ["| name | colours |", "|---|---|"]
    for table, names in (("base", BASE), ("meaning", MEANING)):
        rows.append(f"| **[{table}]** | |")
        rows += [f"| `{name}` | {about} |" for name, about in names.items()]
    return "\n".join(rows) + "\n"


def test_the_table_of_palette_names_is_the_programs():
    if os.environ.get("KVTUI_GOLDEN") == "write":
        now = (ROOT / "README.md").read_text(encoding="utf-8")
        (ROOT / "README.md").write_text(NAMES.sub(lambda m: m[1] + names_table() + m[3], now), encoding="utf-8")
        return
    found = NAMES.search(README)
    assert found
    assert found[2] == names_table()


def test_the_palette_of_the_readme_is_one():
    blocks = [block for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "extends" in block]
    assert blocks
    for block in blocks:
        assert not read_palette(block, ("dark",), lambda _colour: None).problems


def test_the_configuration_of_the_readme_is_one():
    for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL):
        if "extends" in block:  # a palette
            continue
        read = read_settings(block)
        assert not read.problems
        assert not remap(read.settings.keys).problems


COMMANDS = [
    line.split(" #")[0].strip()
    for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if "/kvtui " in line
]


def test_there_are_commands_to_try():
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = (LOGS / "founding_a.log").read_text() + (LOGS / "founding_b.log").read_text().replace("2026-03-18", "2026-03-19")
    (tmp_path / "server.log").write_text(both)
    (tmp_path / "config.json").write_text(
        '{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","num_hidden_layers":64,"num_attention_heads":64,"num_key_value_heads":8,"hidden_size":5120,"head_dim":128,"torch_dtype":"bfloat16","vocab_size":151936,"max_position_embeddings":40960}'
    )
    args = shlex.split(command.split("<")[0])[1:]
    line = '{"model":"Kimi-K2.5","sglang":"0.5.9","tp":8,"pre":94.04,"post":21.71,"fraction":0.88}\n'
    done = CliRunner().invoke(main, args, input=line if "<" in command else None)
    # The console needs a terminal, which this test has not: it says so with status 2.
    assert done.exit_code in ({2} if args == ["server.log"] else {0, 1}), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_files_that_the_readme_names_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).is_file(), target


def told_beside_pictures():
    """(picture, figures in the paragraph before it) of the walkthrough."""
    story = README.split("## One complaint")[1].split("\n## ")[0]
    for text, name in re.findall(r"((?:^(?!\n|!\[).*\n)+)\n!\[[^\]]*\]\(screenshots/([a-z-]+)\.svg\)", story, re.MULTILINE):
        yield name, re.findall(r"(?<![\d.])\d[\d,]*(?:\.\d+)?%?", re.sub(r"\*\*\d\..*?\*\*", "", text))


def test_the_walkthrough_says_what_its_pictures_show():
    told = list(told_beside_pictures())
    assert [name for name, _ in told] == ["why", "what-if", "plan", "simulated", "checked"]
    assert sum(len(figures) for _, figures in told) >= 10
    for name, figures in told:
        words = " ".join(re.findall(r">([^<>]+)<", (ROOT / "screenshots" / f"{name}.svg").read_text(encoding="utf-8")))
        assert not [figure for figure in figures if figure not in words], name


spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "screenshots" / "make.py")
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)


def seen(svg):
    """What a person sees of a picture: its characters in order, and its colours; not how a row is cut into runs."""
    body = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
    words = html.unescape("".join(re.findall(r">([^<>]+)<", body)))
    return "".join(words.split()), set(re.findall(r"#[0-9a-f]{6}", svg))


@pytest.mark.parametrize("name", pictures.PICTURES)
async def test_pictures_are_current(name):
    made = await pictures.take(pictures.PICTURES[name])
    there = (ROOT / "screenshots" / f"{name}.svg").read_text(encoding="utf-8")
    assert seen(made) == seen(there), "run: python screenshots/make.py, and look at the pictures"
