from api import Client
from api.api.exports import export_checkpoints
from api.api.market_data import (
    get_funding_period_data_point_series,
    list_funding_periods,
    list_market_summaries,
)
from api.models import ExportCheckpointsFormat, GetFundingPeriodDataPointSeriesInterval
from api.types import UNSET
from walk import base, market_id, report

client = Client(base_url=base)


def periods(first, after, last, before):
    answer = list_funding_periods.sync(
        market_id,
        client=client,
        pagination_first=first or UNSET,
        pagination_after=after or UNSET,
        pagination_last=last or UNSET,
        pagination_before=before or UNSET,
    )
    return answer.funding_periods


def series():
    day = GetFundingPeriodDataPointSeriesInterval("1d")
    return get_funding_period_data_point_series.sync(market_id, client=client, interval=day).series


report(
    periods,
    series,
    summaries=lambda: list_market_summaries.sync(client=client).market_summaries,
    csv=lambda: export_checkpoints.sync(client=client, format_=ExportCheckpointsFormat("csv")),
)
