"""Which rows of a range of times a service does not have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lyra_client.requests import Time
from lyra_client.resources import Coverage, MissingBlocks, StoredSince
from lyra_client.times import to_nanoseconds


@dataclass(frozen=True)
class Missing:
    """What a service does not have of a range of times.

    missing: Blocks that are missing or incomplete, and imported ones without the resource, by height.
    since: From which block on the resource is complete, if the range begins before it.
    """

    missing: list[MissingBlocks]
    since: StoredSince | None


def missing_in(coverage: Coverage, resource: str, start: Time | None, end: Time | None) -> Missing:
    """What is missing of a resource's rows in a range: ask before you add them up, or say that there are none.

    Where a time is not known, the blocks count as missing in every range on that side.

    coverage: The whole coverage: if its `next` is not None, join its parts first.
    resource: The resource as the coverage names it: `fundingPayments`.
    start: The beginning of the range, inclusive; None: the first block.
    end: Its end, exclusive; None: the last block.
    """
    blocks = coverage["blocks"]
    lacking = [blocks_of for blocks_of in blocks["imported"] if resource in blocks_of.get("lacks", [])]
    ranges = [_missing_blocks(one) for one in [*blocks["gaps"], *lacking]]
    missing = [one for one in ranges if _is_before(one["start"], end) and _is_before(start, one["end"])]
    missing.sort(key=lambda one: int(one["from"]))
    for entry in coverage["since"]:
        if entry["resource"] == resource and _is_before(start, entry["start"]):
            return Missing(missing, {"height": entry["height"], "start": entry["start"]})
    return Missing(missing, None)


def _missing_blocks(blocks: Any) -> MissingBlocks:
    """A range of blocks; imported ones have no times."""
    return {
        "from": blocks["from"],
        "to": blocks["to"],
        "start": blocks.get("start"),
        "end": blocks.get("end"),
    }


def _is_before(time: Time | None, other: Time | None) -> bool:
    """Whether a time is before another one; None is open, and before and after every other."""
    return time is None or other is None or _nanoseconds(time) < _nanoseconds(other)


def _nanoseconds(time: Time) -> int:
    return to_nanoseconds(time) if isinstance(time, datetime) else int(time)
