from dataclasses import replace

import builders
import pytest

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.applied import changes_of

ANALYSIS = builders.founding()


def lever(option, *flags, **change):
    return Estimate(option, "t", applies=True, flags=flags, change=Change(**change))


@pytest.mark.parametrize(
    ("estimate", "changes"),
    [
        (lever("raise-fraction", "--mem-fraction-static 0.91"), {"mem_fraction_static": 0.91}),
        (
            lever("max-running-requests", "--max-running-requests 87", "--cuda-graph-max-bs 87"),
            {"max_running_requests": 87, "cuda_graph_max_bs": 87},
        ),
        (lever("fp8-kv", "--kv-cache-dtype fp8_e4m3"), {"kv_cache_dtype": "fp8_e4m3"}),
        (lever("hicache", "--enable-hierarchical-cache", "--hicache-ratio 2"), {"enable_hierarchical_cache": True, "hicache_ratio": 2}),
        (lever("remove-leftover-flags", "remove --disable-radix-cache"), {"disable_radix_cache": None}),
        (lever("drop-draft", "remove --speculative-algorithm and the other --speculative-* flags"), {"speculative_algorithm": None}),
        (lever("cap-max-new-tokens", '"max_tokens": 1024', max_new_tokens=1024), {"max_new_tokens": 1024}),
        (lever("free-other-processes"), {"free_other_processes": True}),
    ],
)
def test_a_lever_as_settings(estimate, changes):
    assert changes_of(ANALYSIS, (estimate,), {estimate.id}, None) == changes


def test_nothing_marked_changes_nothing_and_the_what_if_wins():
    raised = lever("raise-fraction", "--mem-fraction-static 0.91")
    assert changes_of(ANALYSIS, (raised,), set(), None) == {}
    assert changes_of(ANALYSIS, (replace(raised, applies=False),), {"raise-fraction"}, None) == {}
    assert changes_of(ANALYSIS, (raised,), {"raise-fraction"}, 0.93) == {"mem_fraction_static": 0.93}
