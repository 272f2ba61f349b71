"""Follows a stream of checkpoints with libraries, Lyra's client and the loops of the documentation, each in a thread.

Prints the client and the block of each row. Arguments: the address of the streams, and as JSON the source of the documented
functions `follow` by client.
"""

import json
import sys
import threading

import requests_sse
from lyra_client import Client

address, documented = sys.argv[1], json.loads(sys.argv[2])


lock = threading.Lock()


def say(client, row):
    with lock:
        print(f"{client}\t{row['atBlock']}", flush=True)


def with_requests_sse(client):
    with requests_sse.EventSource(f"{address}/checkpoints", timeout=30) as source:
        for event in source:
            if event.type == "checkpoints":
                say(client, json.loads(event.data))


def with_documented(client, source):
    names = {}
    exec(source, names)
    for row, _ in names["follow"](f"{address}/checkpoints", "checkpoints"):
        say(client, row)


def with_the_client(client):
    for row in Client(address.removesuffix("/api/v2/stream")).follow("checkpoints"):
        say(client, row)


threads = [threading.Thread(target=with_requests_sse, args=["requests-sse 0.5.3"], daemon=True)]
threads.append(threading.Thread(target=with_the_client, args=["Python client"], daemon=True))
for client, source in documented.items():
    threads.append(threading.Thread(target=with_documented, args=[client, source], daemon=True))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
