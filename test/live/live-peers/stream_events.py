#!/usr/bin/env python3
"""Sends the events of a gzipped event file over PAIR, as the core does: stream_events.py PORT FILE"""

import gzip
import struct
import sys
import time

import pynng

port, path = sys.argv[1:]
with pynng.Pair0(dial=f"tcp://127.0.0.1:{port}", block_on_dial=True) as socket:
    with gzip.open(path) as stream:
        while header := stream.read(12):
            (size, _sequence) = struct.unpack(">IQ", header)
            socket.send(stream.read(size - 8))
    # Sent bytes are handed to the system in the background.
    time.sleep(1)
