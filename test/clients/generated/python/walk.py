"""What each generated client is asked, and what it must get: the program prints it as JSON."""

import json
import sys

base, market_id = sys.argv[1:]
SIZE = 40


def report(periods, series, summaries, csv):
    """periods(first, after, last, before) gives a page; the others give objects, pages and a text."""
    forward, after = [], None
    while True:
        page = periods(first=SIZE, after=after, last=None, before=None)
        forward += [edge.node.to_dict() for edge in page.edges]
        if not page.page_info.has_next_page:
            break
        after = page.page_info.end_cursor
    backward, before = [], None
    while True:
        page = periods(first=None, after=None, last=SIZE, before=before)
        backward = [edge.node.to_dict() for edge in page.edges] + backward
        if not page.page_info.has_previous_page:
            break
        before = page.page_info.start_cursor
    answers = {
        "forward": forward,
        "backward": backward,
        "series": series().to_dict(),
        "summaries": [edge.node.to_dict() for edge in summaries().edges],
        "csv": csv(),
    }
    print(json.dumps(answers))
