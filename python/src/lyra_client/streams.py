"""Following a resource."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from lyra_client.connection import LONGEST_ASKED, Connection, may_pass, parsed
from lyra_client.errors import LyraAnswerError, LyraApiError, LyraConnectionError
from lyra_client.event_stream import EventStreamReader, ServerEvent
from lyra_client.requests import Resource, filter_parameters, target

Row = TypeVar("Row")

# The service sends something every 4 seconds; a connection that is silent for longer than this is lost.
_SILENCE = 45.0


class Stream(Iterator[Row], Generic[Row]):
    """The rows of a resource as they arrive: an iterator that ends once it is closed.

    After a lost connection it resumes after the last row that it has given. Raises LyraApiError for a request that the
    service refuses for good, and LyraAnswerError for an answer that is no stream. One thread at a time may iterate;
    any thread may close it.
    """

    def __init__(
        self,
        connection: Connection,
        path: str,
        parameters: Mapping[str, object],
        event: str,
        *,
        after: str | None,
        after_block: int | str | None,
        on_complete: Callable[[], None] | None,
    ) -> None:
        self._connection = connection
        self._path = path
        self._parameters = parameters
        self._event = event
        self._position = after or None
        self._after_block = after_block
        self._on_complete = on_complete
        self._closed = threading.Event()
        self._is_reading = threading.Lock()
        self._response: httpx.Response | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._reader = EventStreamReader(connection.max_bytes)
        self._events: deque[ServerEvent] = deque()
        self._failed = 0

    @property
    def position(self) -> str | None:
        """Where to resume after the last row given: pass it as `after`, also in another process. None at first."""
        return self._position

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        with self._is_reading:
            try:
                return self._next_row()
            finally:
                if self._closed.is_set():
                    self._disconnect()

    def close(self) -> None:
        """Ends the stream, also while another thread waits for the next row.

        A thread that is waiting for the beginning of an answer goes on once that comes, after 45 seconds at most.
        """
        self._closed.set()
        response = self._response
        if response is not None:
            _shut_down(response)
        if self._is_reading.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._is_reading.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next_row(self) -> Row:
        while not self._closed.is_set():
            while self._events:
                event = self._events.popleft()
                if event.name == self._event and event.data:
                    row = parsed(event.data)
                    if not isinstance(row, dict):
                        raise LyraAnswerError(f"the stream has a row that is no object: {event.data[:100]!r}")
                    self._position = event.id or self._position
                    return row  # type: ignore[return-value]
                self._position = event.id or self._position
                if event.name == "complete" and self._on_complete is not None:
                    self._on_complete()
            self._read_on()
        raise StopIteration

    def _read_on(self) -> None:
        """Reads what arrives next, or connects; after a failure waits."""
        error: LyraApiError | LyraConnectionError | None = None
        try:
            if self._response is None:
                self._connect()
                return
            piece = next(self._pieces, None)
            if piece is not None:
                self._events.extend(self._reader.read(piece))
                if self._events:
                    self._failed = 0
                return
        except (LyraApiError, LyraConnectionError) as caught:
            if not may_pass(caught):
                self._disconnect()
                raise
            error = caught
        except BaseException:
            # Whatever was read and not given is asked for again.
            self._disconnect()
            raise
        self._disconnect()
        self._failed += 1
        asked = min(self._reader.retry / 1000, LONGEST_ASKED)
        self._closed.wait(max(asked, self._connection.wait_after(self._failed, error)))

    def _connect(self) -> None:
        start = {
            "after": self._position,
            "afterBlock": self._after_block if self._position is None else None,
        }
        response = self._connection.open(
            target(self._path, {**self._parameters, **start}), is_stream=True, silence=_SILENCE
        )
        kind = response.headers.get("Content-Type", "")
        if not kind.startswith("text/event-stream"):
            response.close()
            raise LyraAnswerError(f"{response.url}: the answer is '{kind}', no stream of events")
        retry = self._reader.retry
        self._reader = EventStreamReader(self._connection.max_bytes)
        self._reader.retry = retry
        self._pieces = self._connection.pieces(response)
        self._response = response

    def _disconnect(self) -> None:
        self._events.clear()
        response, self._response = self._response, None
        self._pieces = iter(())
        if response is not None:
            response.close()


def follow_stream(
    connection: Connection,
    resource: Resource[Any, Row],
    filters: Mapping[str, object],
    *,
    after: str | None,
    after_block: int | str | None,
    on_complete: Callable[[], None] | None,
) -> Stream[Row]:
    """The stream of a resource. Raises TypeError for an unknown filter or option."""
    parameters = filter_parameters(resource.name, resource.stream_filters, filters)
    return Stream(
        connection,
        resource.stream_path,
        parameters,
        resource.event,
        after=after,
        after_block=after_block,
        on_complete=on_complete,
    )


def _shut_down(response: httpx.Response) -> None:
    """Ends a connection at once, so that whoever reads from it goes on."""
    network = response.extensions.get("network_stream")
    connected = network.get_extra_info("socket") if network is not None else None
    if isinstance(connected, socket.socket):
        try:
            # Not the method of a TLS socket, which changes it under the thread that reads.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)
        except OSError:
            pass  # It has ended already.
