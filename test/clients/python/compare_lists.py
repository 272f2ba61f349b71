"""Compares what lyra_client gives of every list with the REST API. Arguments: address, market, party.

Prints the number of rows of each list, as JSON.
"""

import itertools
import json
import sys

import httpx
from lyra_client import Client
from lyra_client.resources import BY_NAME

base, market, party = sys.argv[1:]
# The filters that lists need; others are read whole. Without an epoch, the list of fees has only the last one.
FILTERS = {
    "funding_payments": {"party_id": party},
    "funding_period_data_points": {"market_id": market},
    "funding_periods": {"market_id": market},
    "liquidity_provider_history": {"party_id": party},
    "liquidity_providers": {"market_id": market},
    "paid_liquidity_fees_stats": {"epoch_from": 0},
}

http = httpx.Client(base_url=base)
lyra = Client(f"{base}/")


def edges_of(resource, filters, **paging):
    """All rows and cursors of a list, oldest first, by plain requests."""
    query = {resource.filters[name]: value for name, value in filters.items()}
    path = (
        resource.path.replace(":marketId", query.pop("marketId", ""))
        if ":" in resource.path
        else resource.path
    )
    edges, after = [], {}
    while True:
        paging = {"pagination.first": 5000, "pagination.newestFirst": "false", **after}
        (page,) = http.get(path, params={**query, **paging}).raise_for_status().json().values()
        edges += [(edge["node"], edge["cursor"]) for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            return edges
        after = {"pagination.after": page["pageInfo"]["endCursor"]}


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {len(found)} rows, not the expected {len(expected)}")


counts = {}
for name, resource in BY_NAME.items():
    filters = FILTERS.get(name, {})
    edges = edges_of(resource, filters)
    nodes = [node for node, _ in edges]
    walk, page_of = getattr(lyra, name), getattr(lyra, f"{name}_page")
    for size in (7, 1000):
        check(f"{name} by {size}", list(walk(page_size=size, newest_first=False, **filters)), nodes)
    check(f"{name}, newest first", list(walk(**filters)), nodes[::-1])
    if len(edges) > 2:
        cursor = edges[1][1]
        check(f"{name} after", list(walk(newest_first=False, after=cursor, **filters)), nodes[2:])
        page = page_of(last=2, newest_first=False, **filters)
        check(f"{name}, last page", [tuple(row) for row in page.rows], edges[-2:])
        before = page_of(last=2, before=edges[2][1], newest_first=False, **filters)
        check(f"{name}, page before", [tuple(row) for row in before.rows], edges[:2])
    if resource.export_path is not None:
        # Rows of exports omit what is not final yet.
        rows = list(lyra.export_rows(name, **filters))
        check(f"{name}, export", [node | row.node for row, node in zip(rows, nodes, strict=True)], nodes)
        after = list(lyra.export_rows(name, after=rows[0].cursor, **filters))
        check(f"{name}, export after", after, rows[1:])
        with lyra.follow(name, after_block=0, **filters) as stream:
            followed = list(itertools.islice(stream, min(len(nodes), 50)))
        # The latest version of a row counts.
        missing = [node for node in followed if node not in nodes]
        check(f"{name}, stream", missing, [])
    counts[name] = len(nodes)
print(json.dumps(counts))
