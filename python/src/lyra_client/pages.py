"""Pages of lists, and walks over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lyra_client.connection import Answer, Connection
from lyra_client.errors import LyraAnswerError
from lyra_client.requests import Change, Resource, list_target

if TYPE_CHECKING:
    from lyra_client.resources import PageInfo

Node = TypeVar("Node")

PAGE_SIZE = 1000
"""Rows of each request of a walk, by default; at most 5,000."""


class PageRow(NamedTuple, Generic[Node]):
    """A row with the cursor of its place in the order."""

    node: Node
    cursor: str


@dataclass(frozen=True)
class Page(Generic[Node]):
    """A page, from one snapshot.

    block_height: Height of the last block of the snapshot, digits.
    block_timestamp: Its time, Unix nanoseconds, digits.
    """

    rows: list[PageRow[Node]]
    page_info: PageInfo
    block_height: str
    block_timestamp: str


def read_page(
    connection: Connection,
    resource: Resource[Node, Change],
    filters: Mapping[str, object],
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
    newest_first: bool = True,
) -> Page[Node]:
    """Reads one page: `first` with `after`, or `last` with `before`; 1 to 5,000 rows."""
    options = {
        "pagination.first": first,
        "pagination.after": after,
        "pagination.last": last,
        "pagination.before": before,
        "pagination.newestFirst": None if newest_first else False,
    }
    return _page(connection.get(list_target(resource, filters, options)))


def walk_pages(
    connection: Connection,
    resource: Resource[Node, Change],
    filters: Mapping[str, object],
    *,
    page_size: int,
    newest_first: bool,
    after: str | None,
) -> Iterator[Node]:
    """All rows, page by page: the next page is requested once the rows of the last have been taken.

    page_size: Rows of each request, at most 5,000. after: The cursor of a row to start after.
    """
    # Arguments are checked by the call, not by the first row.
    list_target(resource, filters, {})

    def rows(cursor: str | None) -> Iterator[Node]:
        while True:
            page = read_page(
                connection, resource, filters, first=page_size, after=cursor, newest_first=newest_first
            )
            for row in page.rows:
                yield row.node
            if not page.page_info["hasNextPage"]:
                return
            if page.page_info["endCursor"] == cursor:
                raise LyraAnswerError(f"{resource.name}: the page after the cursor {cursor} ends there again")
            cursor = page.page_info["endCursor"]

    return rows(after)


def _page(answer: Answer) -> Page[Any]:
    """The page in an answer, whose body has one field."""
    try:
        (page,) = answer.json().values()
        return Page(
            rows=[PageRow(edge["node"], edge["cursor"]) for edge in page["edges"]],
            page_info=page["pageInfo"],
            block_height=answer.headers.get("X-Block-Height", ""),
            block_timestamp=answer.headers.get("X-Block-Timestamp", ""),
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise LyraAnswerError(f"the answer is no page of a list: {answer.body[:100]!r}") from error
