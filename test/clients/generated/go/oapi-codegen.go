package main

import (
	"context"

	"generated/api"
)

func main() {
	client, err := api.NewClientWithResponses(base)
	must(err)
	ctx := context.Background()
	report(calls{
		periods: func(asked paging) page {
			answer, err := client.ListFundingPeriodsWithResponse(ctx, marketID, &api.ListFundingPeriodsParams{
				PaginationFirst:  asked.first,
				PaginationAfter:  asked.after,
				PaginationLast:   asked.last,
				PaginationBefore: asked.before,
			})
			must(err)
			return pageOf(answer.JSON200.FundingPeriods)
		},
		series: func() any {
			day := api.GetFundingPeriodDataPointSeriesParamsInterval("1d")
			params := &api.GetFundingPeriodDataPointSeriesParams{Interval: &day}
			answer, err := client.GetFundingPeriodDataPointSeriesWithResponse(ctx, marketID, params)
			must(err)
			return answer.JSON200.Series
		},
		summaries: func() (nodes []any) {
			answer, err := client.ListMarketSummariesWithResponse(ctx, nil)
			must(err)
			for _, edge := range answer.JSON200.MarketSummaries.Edges {
				nodes = append(nodes, edge.Node)
			}
			return nodes
		},
		csv: func() string {
			format := api.ExportCheckpointsParamsFormat("csv")
			params := &api.ExportCheckpointsParams{Format: &format}
			answer, err := client.ExportCheckpointsWithResponse(ctx, params)
			must(err)
			return string(answer.Body)
		},
	})
}

// A page has a name, by which functions take it.
func pageOf(found api.FundingPeriodPage) page {
	info := found.PageInfo
	result := page{
		hasNext: info.HasNextPage, hasPrevious: info.HasPreviousPage,
		start: info.StartCursor, end: info.EndCursor,
	}
	for _, edge := range found.Edges {
		result.nodes = append(result.nodes, edge.Node)
	}
	return result
}
