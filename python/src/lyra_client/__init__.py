"""Client of Lyra, which serves funding, liquidity and checkpoint data of a Vega network."""

from lyra_client.amounts import to_smallest_units, to_whole_units
from lyra_client.client import Client, Health, Readiness
from lyra_client.errors import LyraAnswerError, LyraApiError, LyraConnectionError, LyraError
from lyra_client.missing import Missing, missing_in
from lyra_client.pages import Page, PageRow
from lyra_client.requests import Time
from lyra_client.streams import Stream
from lyra_client.times import to_datetime, to_nanoseconds

__all__ = [
    "Client",
    "Health",
    "LyraAnswerError",
    "LyraApiError",
    "LyraConnectionError",
    "LyraError",
    "Missing",
    "Page",
    "PageRow",
    "Readiness",
    "Stream",
    "Time",
    "missing_in",
    "to_datetime",
    "to_nanoseconds",
    "to_smallest_units",
    "to_whole_units",
]
