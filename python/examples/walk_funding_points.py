"""Walks the data points of a market and sums up each source: how many, and the first and the last TWAP.

python python/examples/walk_funding_points.py [URL] [MARKET]
"""

import sys
from typing import Literal

from lyra_client import Client

SOURCES: tuple[Literal["SOURCE_EXTERNAL", "SOURCE_INTERNAL"], ...] = ("SOURCE_EXTERNAL", "SOURCE_INTERNAL")

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3008"
market = sys.argv[2] if len(sys.argv) > 2 else None

with Client(url) as lyra:
    market_id = market or lyra.coverage()["fundingPeriodDataPoints"][0]["marketId"]
    for source in SOURCES:
        points = lyra.funding_period_data_points(market_id=market_id, source=source, newest_first=False)
        twaps = [point["twap"] for point in points]
        if twaps:
            print(f"{source}: {len(twaps)} points, TWAP {twaps[0]} at first, {twaps[-1]} at last")
