package main

import (
	"context"
	"io"

	"generated/api"
)

func main() {
	client, err := api.NewClient(base)
	must(err)
	ctx := context.Background()
	report(calls{
		periods: func(asked paging) page {
			params := api.ListFundingPeriodsParams{MarketId: marketID}
			if asked.first != nil {
				params.PaginationFirst = api.NewOptInt32(*asked.first)
			}
			if asked.after != nil {
				params.PaginationAfter = api.NewOptString(*asked.after)
			}
			if asked.last != nil {
				params.PaginationLast = api.NewOptInt32(*asked.last)
			}
			if asked.before != nil {
				params.PaginationBefore = api.NewOptString(*asked.before)
			}
			answer, err := client.ListFundingPeriods(ctx, params)
			must(err)
			found := answer.(*api.FundingPeriodsAnswerHeaders).Response.FundingPeriods
			info := found.PageInfo
			result := page{
				hasNext: info.HasNextPage, hasPrevious: info.HasPreviousPage,
				start: info.StartCursor, end: info.EndCursor,
			}
			for _, edge := range found.Edges {
				result.nodes = append(result.nodes, &edge.Node)
			}
			return result
		},
		series: func() any {
			answer, err := client.GetFundingPeriodDataPointSeries(ctx, api.GetFundingPeriodDataPointSeriesParams{
				MarketId: marketID,
				Interval: api.NewOptGetFundingPeriodDataPointSeriesInterval("1d"),
			})
			must(err)
			return &answer.(*api.SeriesAnswerHeaders).Response.Series
		},
		summaries: func() (nodes []any) {
			answer, err := client.ListMarketSummaries(ctx, api.ListMarketSummariesParams{})
			must(err)
			for _, edge := range answer.(*api.MarketSummariesAnswerHeaders).Response.MarketSummaries.Edges {
				nodes = append(nodes, &edge.Node)
			}
			return nodes
		},
		csv: func() string {
			answer, err := client.ExportCheckpoints(ctx, api.ExportCheckpointsParams{
				Format: api.NewOptExportCheckpointsFormat("csv"),
			})
			must(err)
			text, err := io.ReadAll(answer.(*api.ExportCheckpointsOKTextCsvHeaders).Response)
			must(err)
			return string(text)
		},
	})
}
