import type { Summary } from '../../domain/series.ts'
import { SOURCES } from '../../resources/funding-period-data-points.ts'
import type { Series } from '../../store/read-series.ts'

/** The body of a series; what it is without any point, where there is none. */
export function seriesBody(marketId: string, series: Series | null): object {
  if (series === null) {
    return { series: { marketId, from: '0', to: '0', interval: '', bucketNanoseconds: '0', sources: [] } }
  }
  const { from, to, interval, sources } = series
  return {
    series: {
      ...{ marketId, from: from.toString(), to: to.toString(), interval: interval.name },
      bucketNanoseconds: interval.nanoseconds.toString(),
      sources: sources.map(({ source, buckets }) => ({
        dataPointType: SOURCES[Number(source)],
        buckets: buckets.map(([start, { seq, count, price, twap }]) => ({
          ...{ start: start.toString(), seq: seq.toString(), count: count.toString() },
          ...{ price: summaryNode(price), twap: summaryNode(twap) },
        })),
      })),
    },
  }
}

/** In the order of the API, whatever that of the object. */
function summaryNode({ first, last, minimum, maximum }: Summary): Summary {
  return { first, last, minimum, maximum }
}
