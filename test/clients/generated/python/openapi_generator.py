import api
from walk import base, market_id, report

client = api.ApiClient(api.Configuration(host=base))
market_data = api.MarketDataApi(client)


def periods(first, after, last, before):
    answer = market_data.list_funding_periods(
        market_id,
        pagination_first=first,
        pagination_after=after,
        pagination_last=last,
        pagination_before=before,
    )
    return answer.funding_periods


report(
    periods,
    series=lambda: market_data.get_funding_period_data_point_series(market_id, interval="1d").series,
    summaries=lambda: market_data.list_market_summaries().market_summaries,
    csv=lambda: api.ExportsApi(client).export_checkpoints(format="csv").decode(),
)
