package main

import (
	"context"
	"io"

	"generated/api"
)

func main() {
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: base}}
	client := api.NewAPIClient(configuration)
	ctx := context.Background()
	report(calls{
		periods: func(asked paging) page {
			request := client.MarketDataAPI.ListFundingPeriods(ctx, marketID)
			if asked.first != nil {
				request = request.PaginationFirst(*asked.first)
			}
			if asked.after != nil {
				request = request.PaginationAfter(*asked.after)
			}
			if asked.last != nil {
				request = request.PaginationLast(*asked.last)
			}
			if asked.before != nil {
				request = request.PaginationBefore(*asked.before)
			}
			answer, _, err := request.Execute()
			must(err)
			info := answer.FundingPeriods.PageInfo
			result := page{
				hasNext: info.HasNextPage, hasPrevious: info.HasPreviousPage,
				start: info.StartCursor, end: info.EndCursor,
			}
			for _, edge := range answer.FundingPeriods.Edges {
				result.nodes = append(result.nodes, edge.Node)
			}
			return result
		},
		series: func() any {
			request := client.MarketDataAPI.GetFundingPeriodDataPointSeries(ctx, marketID)
			answer, _, err := request.Interval("1d").Execute()
			must(err)
			return answer.Series
		},
		summaries: func() (nodes []any) {
			answer, _, err := client.MarketDataAPI.ListMarketSummaries(ctx).Execute()
			must(err)
			for _, edge := range answer.MarketSummaries.Edges {
				nodes = append(nodes, edge.Node)
			}
			return nodes
		},
		csv: func() string {
			file, _, err := client.ExportsAPI.ExportCheckpoints(ctx).Format("csv").Execute()
			must(err)
			text, err := io.ReadAll(file)
			must(err)
			return string(text)
		},
	})
}
