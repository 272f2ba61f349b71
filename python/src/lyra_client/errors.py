"""The errors of the client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


class LyraError(Exception):
    """What all errors of this package are. Wrong arguments are Python's own TypeError or ValueError."""


class LyraApiError(LyraError):
    """An answer of the service other than success.

    status: The HTTP status.
    code: The gRPC status code of the body; None if the body is not the API's, but a proxy's, say.
    message: What the body says.
    details: The details of the body, each with `code`, `message` and `inner`.
    request_id: The id by which the service knows the request; None if the answer has none.
    retry_after: Seconds after which the service may be asked again; None if the answer does not say.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.code, self.message, self.details = _parsed(body)
        self.request_id = headers.get("X-Request-Id")
        self.retry_after = _seconds_until(headers.get("Retry-After", ""))
        inner = self.details[0].get("inner") if self.details else None
        super().__init__(f"{status}: {self.message}" + (f" ({inner})" if inner else ""))


class LyraConnectionError(LyraError):
    """No answer, or one that was cut off. `__cause__` is the error of httpx, if there was one."""


class LyraAnswerError(LyraError):
    """An answer that is not the API's: longer than `max_bytes`, not JSON, or of another form."""


def _seconds_until(retry_after: str) -> float | None:
    """A Retry-After, which is a number of seconds or a date (RFC 9110, 10.2.3), as seconds from now."""
    if re.fullmatch("[0-9]{1,9}", retry_after):
        return int(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _parsed(body: bytes) -> tuple[int | None, str, list[dict[str, Any]]]:
    """Code, message and details of an error's body."""
    try:
        answer = json.loads(body)
        code, message, details = answer["code"], answer["message"], answer.get("details", [])
        if isinstance(code, int) and isinstance(message, str) and isinstance(details, list):
            return code, message, [detail for detail in details if isinstance(detail, dict)]
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
        pass  # not a body of the API
    return None, body[:200].decode(errors="replace") or "no body", []
