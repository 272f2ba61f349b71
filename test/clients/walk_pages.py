#!/usr/bin/env python3
"""Reads all pages of a list, as the sample scripts of the network do: URLs are concatenated, with cursors
unescaped. Uses only the standard library.

    DATA_NODE_URL_REST=http://127.0.0.1:3008/api/v2 walk_pages.py ROUTE PAGE_SIZE forward|backward true|false

ROUTE follows the base URL, with or without a query. Prints all nodes as a JSON list, in the order of the list.
"""

import json
import os
import sys
import urllib.request

data_node_url_rest = os.environ["DATA_NODE_URL_REST"]
route, page_size, direction, newest_first = sys.argv[1:]


def get(url):
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    with urllib.request.urlopen(request) as response:
        assert response.status == 200
        return json.loads(response.read())


separator = "&" if "?" in route else "?"
url = f"{data_node_url_rest}/{route}{separator}pagination.newestFirst={newest_first}"
nodes = []
if direction == "forward":
    url = f"{url}&pagination.first={page_size}"
    page_url = url
    while True:
        ((_, page),) = get(page_url).items()
        nodes = nodes + [edge["node"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        page_url = f"{url}&pagination.after={page['pageInfo']['endCursor']}"
else:
    url = f"{url}&pagination.last={page_size}"
    page_url = url
    while True:
        ((_, page),) = get(page_url).items()
        nodes = [edge["node"] for edge in page["edges"]] + nodes
        if not page["pageInfo"]["hasPreviousPage"]:
            break
        page_url = f"{url}&pagination.before={page['pageInfo']['startCursor']}"

print(json.dumps(nodes))
