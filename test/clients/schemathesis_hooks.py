"""The findings of schemathesis on /openapi.json that are no faults. All others are."""

import json
import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

# Rules that OpenAPI cannot express: requests that break them match its schemas, and get 400.
RULES = re.compile(
    "cannot set both an after and a before cursor"
    "|cannot be used with (an export of all rows|format=csv)"
    # A text with the characters of a cursor that is not a valid one.
    r"|(pagination\.)?(after|before) is not a valid cursor"
    "|after is not a valid coverage cursor"
    "|marketId or partyId or both must be provided"
    "|give either marketId or assetId"
    # Exports: forms of times and numbers that only some formats have, and a format that the address names, too.
    "|which only format=.* allow"
    # Series: only one of two parameters, and a limited number of buckets.
    "|give only one of the two"
    "|too short for this range: at most"
    "|the range touches more than 400 buckets"
    "|the range must not be longer than 31 days"
    # Exports: conditions that a request sets itself.
    "|the file has changed since the one that If-Match names"
    "|the range begins after the end of the file"
    # Digits beyond 64 bits.
    r'|parsing field "(start_timestamp|end_timestamp|seq)": \S+ must be [^"]+ "[+-]?[0-9]{19,}'
)


def meets_rule(response):
    error = json.loads(response.content)
    texts = [error["message"], *(detail["inner"] for detail in error["details"])]
    return any(RULES.search(text) for text in texts)


def passes_over(query):
    """Whether a query has parameters that are ignored and must only be well formed (docs/api.md, pages)."""
    if "pagination.first" in query:
        return "pagination.last" in query or "pagination.before" in query
    return "pagination.last" in query and "pagination.after" in query


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if isinstance(failure, RejectedPositiveData):
        return response.status_code not in (400, 412, 416) or not meets_rule(response)
    if isinstance(failure, AcceptedNegativeData):
        return not passes_over(case.query or {})
    return True
