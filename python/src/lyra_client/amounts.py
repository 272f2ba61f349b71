"""Amounts: exact conversions between the smallest units of an asset, as rows have them, and whole units."""

from __future__ import annotations

from decimal import Decimal

# Most zeros that are written out.
_LONGEST = 100


def to_whole_units(amount: Decimal | int | str, decimals: int | str) -> Decimal:
    """A number of an asset's smallest units as whole units: `2947093000` with 5 decimals is `29470.93000`.

    It has all digits, whatever the precision of the decimal context is. Calculations with it are rounded to that
    precision, by default 28 digits.
    """
    return _shifted(amount, -int(decimals))


def to_smallest_units(amount: Decimal | int | str, decimals: int | str) -> Decimal:
    """The same the other way round: `29470.93` with 5 decimals is `2947093000`."""
    return _shifted(amount, int(decimals))


def _shifted(amount: Decimal | int | str, places: int) -> Decimal:
    number = Decimal(amount)
    if not number.is_finite():
        raise ValueError(f"{amount!r} is not a number")
    sign, digits, exponent = number.as_tuple()
    shifted = int(exponent) + places
    if 0 < shifted <= _LONGEST:
        # Without an exponent, which would be odd in a count of units.
        return Decimal((sign, digits + (0,) * shifted, 0))
    return Decimal((sign, digits, shifted))
