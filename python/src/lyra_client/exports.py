"""Exports: all rows of a resource in one answer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx

from lyra_client.connection import Connection, parsed
from lyra_client.errors import LyraAnswerError, LyraConnectionError
from lyra_client.pages import PageRow
from lyra_client.requests import Resource, filter_parameters, target

Node = TypeVar("Node")


def export_target(
    resource: Resource[Any, Any], filters: Mapping[str, object], options: Mapping[str, object]
) -> str:
    """Path and query of an export. Raises TypeError for a resource without exports, or an unknown filter."""
    if resource.export_path is None:
        raise TypeError(f"{resource.name}: there is no export of these")
    return target(
        resource.export_path, {**filter_parameters(resource.name, resource.filters, filters), **options}
    )


def read_export(
    connection: Connection,
    resource: Resource[Node, Any],
    filters: Mapping[str, object],
    *,
    after: str | None,
    newest_first: bool,
) -> Iterator[PageRow[Node]]:
    """The rows of an export, read as they are taken."""
    options = {
        "format": "ndjson",
        "pagination.after": after,
        "pagination.newestFirst": True if newest_first else None,
    }
    asked = export_target(resource, filters, options)

    def rows() -> Iterator[PageRow[Node]]:
        response = connection.retrying(lambda: connection.open(asked))
        cursor = after
        try:
            for line in _lines(connection, response):
                node = parsed(line)
                try:
                    cursor = node.pop("cursor")
                except (AttributeError, LookupError, TypeError) as error:
                    raise LyraAnswerError(f"the export has a line that is no row: {line[:100]!r}") from error
                yield PageRow(node, cursor)
        except LyraConnectionError as error:
            raise LyraConnectionError(f"{error}; to go on, pass after={cursor!r}") from error
        finally:
            response.close()

    return rows()


def download(connection: Connection, asked: str, path: Path) -> str:
    """Writes an export into a file, which appears once it is whole; returns the height of its last block."""
    part = path.with_name(f"{path.name}.part")

    def attempt() -> str:
        response = connection.open(asked)
        try:
            height: str | None = response.headers.get("X-Block-Height")
            if height is None:
                kind = response.headers.get("Content-Type", "")
                raise LyraAnswerError(f"{response.url}: the answer is '{kind}', no export")
            with part.open("wb") as file:
                for piece in connection.pieces(response):
                    file.write(piece)
        finally:
            response.close()
        return height

    try:
        height = connection.retrying(attempt)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return height


def _lines(connection: Connection, response: httpx.Response) -> Iterator[bytes]:
    """The lines of a body. Raises LyraAnswerError if one is too long."""
    parts: list[bytes] = []
    length = 0
    for piece in connection.pieces(response):
        first, *others = piece.split(b"\n")
        parts.append(first)
        length += len(first)
        if length > connection.max_bytes:
            raise LyraAnswerError(f"a line of the export has more than {connection.max_bytes} bytes")
        if others:
            yield b"".join(parts)
            yield from others[:-1]
            parts, length = [others[-1]], len(others[-1])
    if length > 0:
        raise LyraConnectionError(f"{response.url}: the export was cut off")
