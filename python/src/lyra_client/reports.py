"""Reports: answers that are one object, not a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lyra_client.connection import Connection
from lyra_client.errors import LyraAnswerError
from lyra_client.requests import target


def read_report(connection: Connection, path: str, parameters: Mapping[str, object], *, is_body: bool) -> Any:
    """The answer to a question: the whole body, or its one field."""
    answer = connection.get(target(path, parameters))
    body = answer.json()
    if not isinstance(body, dict) or not body:
        raise LyraAnswerError(f"the answer is no report: {answer.body[:100]!r}")
    return body if is_body else next(iter(body.values()))
