"""What requests are made of: paths, parameters, and values of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from lyra_client.times import to_nanoseconds

Time: TypeAlias = datetime | int | str
"""A time: a datetime with a time zone, or Unix nanoseconds as a number or as digits."""

Node = TypeVar("Node")
Change = TypeVar("Change")

_MARKET = ":marketId"


@dataclass(frozen=True)
class Resource(Generic[Node, Change]):
    """A resource, whose lists have rows of the type Node, and whose stream sends rows of the type Change.

    name: Its name as an argument, such as `funding_periods`.
    event: The name of its events in streams.
    path: Path of its list; `:marketId` stands for the market.
    filters: Parameters of the list by filter; `stream_filters`: the same of the stream.
    export_path: Path of its export; None if it has none.
    """

    name: str
    event: str
    path: str
    filters: Mapping[str, str]
    stream_path: str
    stream_filters: Mapping[str, str]
    export_path: str | None


def named(resources: Mapping[str, Resource[Node, Change]], name: str) -> Resource[Node, Change]:
    """The resource of a name. Raises TypeError if there is none."""
    if name not in resources:
        raise TypeError(f"unknown resource '{name}'; there are: {', '.join(resources)}")
    return resources[name]


def list_target(
    resource: Resource[Node, Change], filters: Mapping[str, object], options: Mapping[str, object]
) -> str:
    """Path and query of a page. Raises TypeError for a wrong filter, or without the market that the path needs."""
    parameters = filter_parameters(resource.name, resource.filters, filters)
    path = resource.path
    if _MARKET in path:
        market_id = parameters.pop("marketId", None)
        if not isinstance(market_id, str):
            raise TypeError(f"{resource.name}: market_id must be given, as a text")
        path = path.replace(_MARKET, path_part(market_id))
    return target(path, {**parameters, **options})


def filter_parameters(
    name: str, parameters: Mapping[str, str], filters: Mapping[str, object]
) -> dict[str, object]:
    """The values of filters by parameter. Raises TypeError for a filter that the resource does not have."""
    for given in filters:
        if given not in parameters:
            allowed = ", ".join(parameters) or "none"
            raise TypeError(f"{name}: unknown filter or option '{given}'; filters: {allowed}")
    return {parameters[given]: value for given, value in filters.items()}


def path_part(text: str) -> str:
    """A text as a part of a path."""
    return quote(text, safe="")


def target(path: str, parameters: Mapping[str, object]) -> str:
    """A path with a query. A parameter that is None is left out; one with several values is repeated."""
    pairs = [
        (name, _text(one))
        for name, value in parameters.items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one is not None
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _text(value: object) -> str:
    """A value as a parameter: times in nanoseconds."""
    if isinstance(value, datetime):
        return str(to_nanoseconds(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | str):
        raise TypeError(f"{value!r} is not a value of a parameter: a text, a whole number or a datetime")
    return str(value)
