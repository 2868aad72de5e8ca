"""A server as a scenario describes it: card, model, flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.geometry import Geometry
from kvtui.domain.models import find_model
from kvtui.domain.release import Release, parse_release
from kvtui.domain.sizing import SizingConfig
from kvtui.domain.sizing.deployment import Deployment, config_for
from kvtui.scenarios.cards import Card

DRAFT_BEFORE_SIZING: Final = (0, 5, 15)
"""From here on the draft's weights are loaded before the pool is sized (facts/memory.md 2.6)."""
_LARGE_CARD_GIB: Final = 60
_DEFAULTS: Final[Mapping[str, Scalar]] = MappingProxyType(
    {
        "trust_remote_code": False, "context_length": None, "host": "127.0.0.1", "port": 30000, "dtype": "auto", "quantization": None,
        "kv_cache_dtype": "auto", "mem_fraction_static": 0.88, "max_running_requests": None, "max_total_tokens": None,
        "chunked_prefill_size": 8192, "max_prefill_tokens": 16384, "schedule_policy": "fcfs", "schedule_conservativeness": 1.0,
        "page_size": 1, "swa_full_tokens_ratio": 0.8, "device": "cuda", "tp_size": 1, "pp_size": 1, "stream_interval": 1,
        "watchdog_timeout": 300, "log_level": "info", "log_requests": False, "enable_metrics": True, "decode_log_interval": 40,
        "api_key": None, "load_format": "auto", "dp_size": 1, "load_balance_method": "round_robin", "nnodes": 1, "node_rank": 0,
        "attention_backend": "flashinfer", "speculative_algorithm": None, "speculative_draft_model_path": None,
        "speculative_num_steps": None, "speculative_eagle_topk": None, "speculative_num_draft_tokens": None, "ep_size": 1,
        "enable_hierarchical_cache": False,
        "hicache_ratio": 2.0, "hicache_size": 0, "cpu_offload_gb": 0, "disable_radix_cache": False, "cuda_graph_max_bs": None,
        "disable_cuda_graph": False, "disable_overlap_schedule": False, "enable_dp_attention": False, "disaggregation_mode": "null",
        "disable_custom_all_reduce": False,
    }
)  # fmt: skip
"""The arguments that anything here reads, with SGLang's defaults."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft model beside the target."""

    algorithm: str = "EAGLE3"
    path: str = "/models/draft-eagle3"
    architecture: str = "LlamaForCausalLMEagle3"
    weights_gib: float = 1.4
    """A GPU."""
    cell_bytes: int = 2048
    """KV bytes a token and GPU."""
    steps: int = 3
    topk: int = 1
    tokens: int = 4
    accept_len: float = 2.4
    """Tokens a request gains a step, the bonus token included."""
    cost: float = 1.25
    """A step with drafting and verifying, over a plain one."""


@dataclass(frozen=True, slots=True)
class Box:
    """One server and the cards under it. GiB a GPU."""

    model: str
    """Path of the model, as ``--model-path`` has it; its last part is looked up in the table of models."""
    card: Card
    release: str
    free_gib: float
    """Free before the weights on a card that nobody else uses."""
    weights_gib: float
    tp: int = 1
    dp: int = 1
    """Replicas of their own (plain data parallelism)."""
    flags: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))
    """What somebody typed, under ServerArgs names."""
    draft: Draft | None = None
    context_gib: float = 1.2
    """CUDA context and NCCL, which were taken before ``free_gib`` was measured."""
    foreign: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    """GiB that other processes hold, by GPU."""
    host_gib: float = 1024.0

    @property
    def version(self) -> Release:
        """The release. Raises ValueError where its text is none."""
        found = parse_release(self.release)
        if found is None:
            raise ValueError(f"{self.release} is no release")
        return found

    @property
    def geometry(self) -> Geometry:
        """The model's shape. Raises ValueError where the table does not have it."""
        match = find_model(self.model.rsplit("/", 1)[-1], None)
        if match is None:
            raise ValueError(f"{self.model} is not in the table of models")
        return match.geometry

    def value(self, name: str) -> Scalar:
        """One server argument as resolved."""
        return self.settings()[name]

    def number(self, name: str, default: float) -> float:
        """One server argument as a number; ``default`` where it is unset."""
        found = self.settings().get(name)
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else default

    def switch(self, name: str) -> bool:
        """One server argument as a switch."""
        return self.settings().get(name) is True

    def settings(self) -> dict[str, Scalar]:
        """All arguments as ``server_args=`` prints them: defaults, what was typed, what the server forces."""
        found: dict[str, Scalar] = {"model_path": self.model, "tokenizer_path": self.model, "served_model_name": self.model, **_DEFAULTS}
        found.update(tp_size=self.tp * (self.dp if self.flags.get("enable_dp_attention") else 1), dp_size=self.dp)
        if self.draft is not None:
            found.update(
                speculative_algorithm=self.draft.algorithm, speculative_draft_model_path=self.draft.path,
                speculative_num_steps=self.draft.steps, speculative_eagle_topk=self.draft.topk,
                speculative_num_draft_tokens=self.draft.tokens, max_running_requests=48,
            )  # fmt: skip
        found.update(self.flags)
        return found

    def with_flags(self, **flags: Scalar) -> Box:
        """The same server with other flags; None takes a flag back."""
        merged = {**self.flags, **flags}
        return replace(self, flags=MappingProxyType({name: value for name, value in merged.items() if value is not None}))

    @property
    def pre_gib(self) -> float:
        """Free before the weights; the minimum over ranks."""
        return self.free_gib - max(self.foreign.values(), default=0.0)

    def spare_gib(self, gpu: int) -> float:
        """How much more one GPU has free than the fullest."""
        return self.free_gib - self.foreign.get(gpu, 0.0) - self.pre_gib

    @property
    def resident_gib(self) -> float:
        """Weights that stay on the GPU: ``--cpu-offload-gb`` keeps some on the host."""
        return max(0.1, self.weights_gib - self.number("cpu_offload_gb", 0))

    @property
    def post_gib(self) -> float:
        """Free after the target's weights."""
        return self.pre_gib - self.resident_gib

    def sizing_config(self) -> SizingConfig:
        """What sizing takes (facts/memory.md 1); the draft's weights lower ``post`` where the release loads them first."""
        post = self.post_gib
        if self.draft is not None and self.version.base >= DRAFT_BEFORE_SIZING:
            post -= self.draft.weights_gib
        settings = self.settings()
        deployment = Deployment(
            release=self.version, tp=self.tp, dp=self.dp, pre=self.pre_gib, post=post, fraction=self.number("mem_fraction_static", 0.88),
            kv_dtype=str(settings["kv_cache_dtype"]), page_size=int(self.number("page_size", 1)),
            max_total_tokens=_whole(settings["max_total_tokens"]), max_running_requests=_whole(settings["max_running_requests"]),
            context_len=_whole(settings["context_length"]), spec=self.draft.algorithm if self.draft is not None else None,
            steps=self.draft.steps if self.draft is not None else None, topk=self.draft.topk if self.draft is not None else None,
            draft_tokens=self.draft.tokens if self.draft is not None else None, draft_layers=1 if self.draft is not None else None,
            swa_ratio=self.number("swa_full_tokens_ratio", 0.8), disable_radix=self.switch("disable_radix_cache"),
            hicache=self.switch("enable_hierarchical_cache"), chunk=_whole(settings["chunked_prefill_size"]),
        )  # fmt: skip
        return config_for(self.geometry, deployment)

    @property
    def graph_max(self) -> int:
        """Largest captured batch (facts/diagnoses.md V11); 0 where graphs are off."""
        if self.switch("disable_cuda_graph"):
            return 0
        default = (512 if self.tp >= 4 else 256) if self.card.total_gib > _LARGE_CARD_GIB else 160
        cap = _whole(self.settings()["max_running_requests"])
        return int(self.number("cuda_graph_max_bs", min(default, cap) if cap else default))

    @property
    def chunk(self) -> int | None:
        """``chunked_prefill_size``; None where it is off."""
        chunk = int(self.number("chunked_prefill_size", 8192))
        return chunk if chunk > 0 else None


def _whole(value: Scalar) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
