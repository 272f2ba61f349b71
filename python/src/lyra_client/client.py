"""The client."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Self, TypedDict, Unpack

import httpx

from lyra_client.connection import Connection
from lyra_client.exports import download, export_target
from lyra_client.requests import named
from lyra_client.resources import BY_NAME, ExportFilters, ExportName, ResourceMethods

if TYPE_CHECKING:
    import pandas
    import polars

_MEBIBYTE = 1024 * 1024

Format = Literal["ndjson", "csv", "parquet"]


class Health(TypedDict):
    """The answer of `GET /health`."""

    status: Literal["ok"]


class UnreadyReason(TypedDict):
    """Why a service is not ready."""

    reason: str
    message: str


class Readiness(TypedDict):
    """The answer of `GET /ready`. `live`, `forward` and `cluster` only if the service does these."""

    status: Literal["ready", "not ready"]
    reasons: NotRequired[list[UnreadyReason]]
    live: NotRequired[dict[str, Any]]
    forward: NotRequired[dict[str, Any]]
    cluster: NotRequired[list[str]]


class Client(ResourceMethods):
    """A Lyra service.

    Rows are the API's own JSON: integers are digits, times Unix nanoseconds, prices decimal numbers, all of them texts.
    Every request raises LyraApiError for an answer other than success, LyraConnectionError if there is no answer, and
    LyraAnswerError for an answer that is not the API's; after retries if they may help. An unknown filter is a TypeError.

    Threads may share a client.
    """

    def __init__(
        self,
        url: str,
        *,
        retries: int = 4,
        longest_wait: float = 2.0,
        timeout: float = 30.0,
        max_bytes: int = 64 * _MEBIBYTE,
        http: httpx.Client | None = None,
    ) -> None:
        """Creates a client, without sending a request.

        url: Address of the service, such as `http://127.0.0.1:3008`; may have a path.
        retries: How often a request that failed is sent again.
        longest_wait: The longest wait before another attempt, in seconds, unless the service asks for more.
        timeout: How long the service may send nothing, in seconds.
        max_bytes: The longest answer, line of an export or event of a stream that is read.
        http: Used instead of a new httpx.Client: for proxies, certificates, headers. It remains the caller's to close.
        """
        super().__init__(
            Connection(
                url,
                retries=retries,
                longest_wait=longest_wait,
                timeout=timeout,
                max_bytes=max_bytes,
                http=http,
            )
        )

    def close(self) -> None:
        """Closes all connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def health(self) -> Health:
        """Whether the process runs."""
        health: Health = self._connection.get("/health").json()
        return health

    def ready(self) -> Readiness:
        """Whether the service serves current data, and if not, why."""
        readiness: Readiness = self._connection.get("/ready", also_good=(503,)).json()
        return readiness

    def export(
        self,
        resource: ExportName,
        path: str | PathLike[str],
        *,
        format: Format | None = None,
        times: Literal["iso", "micros", "local"] | None = None,
        numbers: Literal["text"] | None = None,
        after: str | None = None,
        newest_first: bool = False,
        **filters: Unpack[ExportFilters],
    ) -> str:
        """Writes all rows of a resource into a file, which appears once it is whole.

        Returns the height of the last block that it includes, digits. If the connection breaks, it starts again.

        format: By default the ending of the path.
        times: Of JSON and CSV: `iso`, RFC 3339 in UTC. Of Parquet: `micros`, or `local`, nanoseconds without a zone.
        numbers: Of Parquet: `text`, decimals as texts.
        """
        file = Path(path)
        ending = format or file.suffix.removeprefix(".")
        if ending not in ("ndjson", "csv", "parquet"):
            raise ValueError(
                f"'{file.name}' does not end in .ndjson, .csv or .parquet: pass one of these as format"
            )
        options = {
            "format": ending,
            "times": times,
            "numbers": numbers,
            "pagination.after": after,
            "pagination.newestFirst": True if newest_first else None,
        }
        return download(self._connection, export_target(named(BY_NAME, resource), filters, options), file)

    def export_url(
        self,
        resource: ExportName,
        *,
        format: Format = "parquet",
        times: Literal["iso", "micros", "local"] | None = None,
        numbers: Literal["text"] | None = None,
        **filters: Unpack[ExportFilters],
    ) -> str:
        """The address of an export, for programs that read a part of it, such as `polars.scan_parquet`."""
        options = {"format": format, "times": times, "numbers": numbers}
        return self._connection.address(export_target(named(BY_NAME, resource), filters, options))

    def to_pandas(
        self,
        resource: ExportName,
        *,
        numbers: Literal["text"] | None = None,
        **filters: Unpack[ExportFilters],
    ) -> pandas.DataFrame:
        """All rows of a resource as a DataFrame; needs `lyra-client[pandas]`.

        Columns have types of pyarrow, which lose nothing: times are UTC in nanoseconds, amounts and rates decimals,
        missing values stay missing in columns of integers. To plot a column, use `astype(float)`.

        numbers: `text` if a number does not fit into a decimal of 38 digits, which is an error otherwise.
        """
        import pandas

        with self._parquet(resource, numbers, filters) as path:
            return pandas.read_parquet(path, dtype_backend="pyarrow")

    def to_polars(
        self,
        resource: ExportName,
        *,
        numbers: Literal["text"] | None = None,
        **filters: Unpack[ExportFilters],
    ) -> polars.DataFrame:
        """All rows of a resource as a DataFrame of polars; needs `lyra-client[polars]`.

        Times are UTC in nanoseconds, amounts and rates decimals.

        numbers: `text` if a number does not fit into a decimal of 38 digits, which is an error otherwise.
        """
        import polars

        with self._parquet(resource, numbers, filters) as path:
            return polars.read_parquet(path, memory_map=False)

    @contextmanager
    def _parquet(
        self, resource: ExportName, numbers: Literal["text"] | None, filters: ExportFilters
    ) -> Iterator[Path]:
        """A temporary file with an export."""
        with tempfile.TemporaryDirectory(prefix="lyra-") as folder:
            path = Path(folder) / "export.parquet"
            self.export(resource, path, numbers=numbers, **filters)
            yield path
