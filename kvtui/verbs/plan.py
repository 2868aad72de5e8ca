"""``kvtui plan``: the calculator without a server."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from kvtui.verbs.plan_lines import SCHEMA, answer_lines
from kvtui.verbs.shared import unreadable


@click.command(short_help="Compute a server's pool without a server.", epilog=SCHEMA)
@click.argument("model", required=False)
@click.option("--json-lines", is_flag=True, help="Read one JSON configuration a line from standard input, write one result a line; below.")
@click.option("--sglang", default="", help="SGLang release, such as 0.5.9. Default: the newest known.")
@click.option("--pre", type=float, help="Free before weights, GiB: 'Load weight begin. avail mem'.")
@click.option("--post", type=float, help="Free after weights, GiB: 'Load weight end. avail mem'.")
@click.option("--weights", type=float, help="Weights on one GPU, GiB, in place of --pre or --post.")
@click.option("--fraction", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="mem_fraction_static.")
@click.option("--gpu-memory", type=float, help="The card's memory as nvidia-smi prints it, MiB, for the automatic fraction.")
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Tensor-parallel size.")
@click.option("--pp", type=click.IntRange(1), default=1, show_default=True, help="Pipeline-parallel size.")
@click.option("--dp", type=click.IntRange(1), default=1, show_default=True, help="Data-parallel size.")
@click.option("--dp-attention", is_flag=True, help="Data-parallel attention.")
@click.option("--kv-cache-dtype", default="auto", show_default=True, help="auto, bf16, fp8_e4m3, fp8_e5m2, fp4_e2m1.")
@click.option("--page-size", type=click.IntRange(1), default=1, show_default=True, help="Tokens a page.")
@click.option("--context-length", type=click.IntRange(1), help="Default: the model's own.")
@click.option("--max-running-requests", type=click.IntRange(1))
@click.option("--max-total-tokens", type=click.IntRange(1))
@click.option(
    "--speculative-algorithm", type=click.Choice(["EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH"], case_sensitive=False)
)
@click.option("--swa-full-tokens-ratio", type=float, help="Sliding-window models.")
@click.option("--mamba-full-memory-ratio", type=float, help="Hybrid state models.")
@click.option("--disable-radix-cache", is_flag=True)
@click.option("--load", help="What it is to serve, such as '64 users, 4k in, 500 out, 900 tok/s': the options answer for it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def plan(model: str | None, form: str, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Compute the KV pool of MODEL, and price what can be changed: a config.json, its folder, or a known name such as Kimi-K2.5.

    \b
    kvtui plan Kimi-K2.5 --sglang 0.5.9 --tp 8 --pre 94.04 --post 21.71 --fraction 0.88
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    if options["json_lines"] and model is not None:
        raise click.UsageError("--json-lines takes its models from standard input: leave MODEL out.")
    if options["json_lines"]:
        sys.exit(answer_lines(sys.stdin, plan, options))
    if model is None:
        raise click.UsageError("Name a model, or use --json-lines.")
    from kvtui.present.plan_options import plan_told
    from kvtui.sources.errors import Unreadable
    from kvtui.wiring import planned

    width = min(140, shutil.get_terminal_size((120, 40)).columns)
    try:
        found = planned(model, options)
        click.echo(plan_told(found.config, found.notes, found.geometry, found.deployment, load=options["load"], form=form, width=width))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except Unreadable as error:
        unreadable(error)
