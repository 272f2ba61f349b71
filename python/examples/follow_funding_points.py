"""Prints the data points of a market as they arrive, and resumes after the last one when it is started again.

The position in the stream is saved in a file. Ends after a number of points, or with Ctrl-C.

python python/examples/follow_funding_points.py URL MARKET POSITION_FILE COUNT
"""

import sys
from pathlib import Path

from lyra_client import Client, to_datetime

url, market_id, file, count = sys.argv[1:]
saved = Path(file)
# The first time from the beginning: block 0 is before every block.
after = saved.read_text() if saved.exists() else None
left = int(count)

with Client(url) as lyra:
    stream = lyra.follow("funding_period_data_points", market_id=market_id, after=after, after_block=0)
    with stream:
        for point in stream:
            time = to_datetime(point["timestamp"]).isoformat()
            print(f"{time} {point['dataPointType']} price {point['price']}, TWAP {point['twap']}")
            # Only once the row has been processed: a program that is killed in between gets it again.
            saved.write_text(stream.position or "")
            left -= 1
            if left == 0:
                break
