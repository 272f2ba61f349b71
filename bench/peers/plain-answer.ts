/** A point as a plain server's database returns it: 64-bit integers as texts. */
export type PlainPoint = { time: string; seq: number | string; source: number; price: string; twap: string }

/** The answer of a plain server (plain-server.ts, plain-postgres-server.ts): a page of the rows that were read, one of them too many. */
export function plainAnswer(
  marketId: string,
  rows: readonly PlainPoint[],
  limit: number,
  hasPreviousPage: boolean,
): object {
  const edges = rows.slice(0, limit).map(({ time, seq, source, price, twap }) => ({
    node: {
      marketId,
      seq: String(seq),
      dataPointType: source === 1 ? 'SOURCE_EXTERNAL' : 'SOURCE_INTERNAL',
      price,
      timestamp: time,
      twap,
    },
    cursor: `${time}.${seq}.${source}`,
  }))
  const pageInfo = {
    hasNextPage: rows.length > limit,
    hasPreviousPage,
    startCursor: edges[0]?.cursor ?? '',
    endCursor: edges.at(-1)?.cursor ?? '',
  }
  return { fundingPeriodDataPoints: { edges, pageInfo } }
}
