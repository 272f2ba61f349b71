"""Streams of the type `text/event-stream`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lyra_client.errors import LyraAnswerError

_LINE_END = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """An event. The data are empty if it only had an id; the id is the last one given, with it or before."""

    name: str
    data: str
    id: str


class EventStreamReader:
    """Reads such a stream (WHATWG HTML, 9.2.6) from bytes that are cut anywhere.

    retry: Milliseconds that the service asks to wait before another connection; 0 if it has not.
    """

    def __init__(self, max_bytes: int) -> None:
        """max_bytes: The longest event that is read."""
        self.retry = 0
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._searched = 0
        self._is_first_line = True
        self._name = ""
        self._data: list[str] = []
        self._data_length = 0
        self._id = ""
        self._given_id = ""

    def read(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that end in the next bytes. Raises LyraAnswerError if one is too long."""
        self._rest += piece
        start, at = 0, self._searched
        while match := _LINE_END.search(self._rest, at):
            if match.group() == b"\r" and match.end() == len(self._rest):
                break  # An LF may follow.
            line = self._rest[start : match.start()].decode(errors="replace")
            start = at = match.end()
            event = self._read_line(line)
            if event is not None:
                yield event
        del self._rest[:start]
        # A CR at the end is looked at again.
        self._searched = max(0, len(self._rest) - 1)
        if len(self._rest) + self._data_length > self._max_bytes:
            raise LyraAnswerError(f"an event of the stream has more than {self._max_bytes} bytes")

    def _read_line(self, line: str) -> ServerEvent | None:
        if self._is_first_line:
            line = line.removeprefix("\ufeff")
            self._is_first_line = False
        if line == "":
            return self._end_event()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self._data_length += len(value) + 1
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and re.fullmatch("[0-9]{1,9}", value):
            self.retry = int(value)
        return None

    def _end_event(self) -> ServerEvent | None:
        event = ServerEvent(self._name or "message", "\n".join(self._data), self._id)
        is_given = bool(self._data) or self._id != self._given_id
        self._given_id = self._id
        self._name, self._data, self._data_length = "", [], 0
        return event if is_given else None
