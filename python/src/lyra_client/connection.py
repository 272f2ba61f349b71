"""Requests to the service: attempts, waits between them, bounded answers."""

from __future__ import annotations

import json
import random
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from lyra_client.errors import LyraAnswerError, LyraApiError, LyraConnectionError

Result = TypeVar("Result")

# Statuses of a service that is busy or not ready, and of a proxy (502, 504) while the service restarts.
_TEMPORARY = (429, 502, 503, 504)

_FIRST_WAIT = 0.2
# The longest wait that a service may ask for.
LONGEST_ASKED = 60.0

_LONGEST_ERROR = 64 * 1024
# Most bytes that are decompressed at a time.
_PIECE = 256 * 1024


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: httpx.Headers
    body: bytes

    def json(self) -> Any:
        """The body. Raises LyraAnswerError if it is not JSON."""
        return parsed(self.body)


class Connection:
    """Sends requests to one service. Times are in seconds."""

    def __init__(
        self,
        url: str,
        *,
        retries: int,
        longest_wait: float,
        timeout: float,
        max_bytes: int,
        http: httpx.Client | None,
    ) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"'{url}' is not an http or https URL, such as http://127.0.0.1:3008")
        self.max_bytes = max_bytes
        self._url = url.rstrip("/")
        self._retries = retries
        self._longest_wait = longest_wait
        self._timeout = timeout
        self._is_own = http is None
        # Each stream and export has a connection of its own: httpx allows 100 by default.
        self._http = httpx.Client(limits=httpx.Limits(max_connections=None)) if http is None else http

    def close(self) -> None:
        """Closes the connections, if they are not those of the caller's httpx.Client."""
        if self._is_own:
            self._http.close()

    def address(self, target: str) -> str:
        """The URL of a path and query."""
        return f"{self._url}{target}"

    def get(self, target: str, also_good: tuple[int, ...] = ()) -> Answer:
        """Sends a request until it is answered, refused for good, or the attempts are used up.

        also_good: Statuses that are answers too, beside 2xx.
        """

        def attempt() -> Answer:
            response = self.open(target, also_good=also_good)
            try:
                body = bytearray()
                for piece in self.pieces(response):
                    body += piece
                    if len(body) > self.max_bytes:
                        raise LyraAnswerError(
                            f"{response.url}: the answer has more than {self.max_bytes} bytes"
                        )
                return Answer(response.status_code, response.headers, bytes(body))
            finally:
                response.close()

        return self.retrying(attempt)

    def retrying(self, attempt: Callable[[], Result]) -> Result:
        """Calls a function again after failures that may pass, as often as is allowed."""
        failed = 0
        while True:
            try:
                return attempt()
            except (LyraApiError, LyraConnectionError) as error:
                failed += 1
                if failed > self._retries or not may_pass(error):
                    raise
                time.sleep(self.wait_after(failed, error))

    def open(
        self,
        target: str,
        *,
        also_good: tuple[int, ...] = (),
        is_stream: bool = False,
        silence: float | None = None,
    ) -> httpx.Response:
        """Sends a request once; returns the response, whose body the caller reads and which it closes.

        silence: How long the service may send nothing; by default the time limit of requests.
        """
        headers = {
            "Accept": "text/event-stream" if is_stream else "*/*",
            "Accept-Encoding": "identity" if is_stream else "gzip",
        }
        request = self._http.build_request(
            "GET",
            self.address(target),
            headers=headers,
            timeout=httpx.Timeout(self._timeout, read=silence or self._timeout),
        )
        try:
            response = self._http.send(request, stream=True, follow_redirects=False)
        except httpx.TransportError as error:
            raise _connection_error(request.url, error) from error
        if response.is_success or response.status_code in also_good:
            return response
        try:
            raise LyraApiError(response.status_code, response.headers, self._beginning(response))
        finally:
            response.close()

    def pieces(self, response: httpx.Response) -> Iterator[bytes]:
        """The body of a response, decompressed, in pieces of bounded length whatever was sent."""
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise LyraAnswerError(f"{response.url}: the answer is compressed as '{encoding}'")
        gzip = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        try:
            for sent in response.iter_raw():
                if gzip is None:
                    yield sent
                    continue
                while sent:
                    if gzip.eof:  # Another member follows.
                        gzip = zlib.decompressobj(wbits=31)
                    yield gzip.decompress(sent, _PIECE)
                    sent = gzip.unused_data if gzip.eof else gzip.unconsumed_tail
            if gzip is not None:
                yield gzip.flush()
                if not gzip.eof:
                    raise LyraConnectionError(f"{response.url}: the answer was cut off")
        except (httpx.TransportError, zlib.error) as error:
            raise _connection_error(response.url, error) from error

    def wait_after(self, failed: int, error: Exception | None = None) -> float:
        """Seconds to wait after so many failed attempts.

        Doubled each time up to the longest wait, half of that random, so that clients that were cut off together do
        not return together; at least the service's Retry-After, but that for no more than a minute.
        """
        wait = min(self._longest_wait, _FIRST_WAIT * 2.0 ** min(failed - 1, 30))
        asked = (error.retry_after or 0) if isinstance(error, LyraApiError) else 0
        return max(min(LONGEST_ASKED, float(asked)), wait / 2) + random.random() * wait / 2

    def _beginning(self, response: httpx.Response) -> bytes:
        """As much of an error's body as matters and arrives."""
        body = bytearray()
        try:
            for piece in self.pieces(response):
                body += piece
                if len(body) > _LONGEST_ERROR:
                    break
        except (LyraConnectionError, LyraAnswerError):
            pass  # The status says enough.
        return bytes(body)


def parsed(text: bytes | str) -> Any:
    """JSON as Python's objects. Raises LyraAnswerError if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LyraAnswerError(f"the answer is not JSON ({error}): {text[:100]!r}") from error


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, LyraApiError):
        return error.status in _TEMPORARY
    return isinstance(error, LyraConnectionError)


def _connection_error(url: httpx.URL, error: Exception) -> LyraConnectionError:
    return LyraConnectionError(f"{url}: {str(error) or type(error).__name__}")
