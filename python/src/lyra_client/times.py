"""Unix nanoseconds and datetimes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(nanoseconds: int | str) -> datetime:
    """A time of a row, Unix nanoseconds, as a datetime in UTC, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=int(nanoseconds) // 1000)


def to_nanoseconds(time: datetime) -> int:
    """A datetime as Unix nanoseconds, exact. Raises ValueError if it has no time zone."""
    if time.utcoffset() is None:
        raise ValueError(f"{time!r} has no time zone: pass tzinfo, such as datetime.UTC")
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000
