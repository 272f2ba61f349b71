// What each generated client is asked, and what it must get: the program prints it as JSON.
type Page<Node> = {
  edges: { node: Node; cursor: string }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string }
}

export type Paging = { first?: number; after?: string; last?: number; before?: string }

type Calls<Period, Series, Summary> = {
  periods(paging: Paging): Promise<Page<Period>>
  /** By days. */
  series(): Promise<Series>
  summaries(): Promise<Page<Summary>>
  /** The export of checkpoints. */
  csv(): Promise<string>
}

/** Fields that the compiler must find in the types of every client. */
type Required = {
  period: { seq: string; end?: string }
  series: { interval: string; sources: { buckets: { start: string; price: { first: string } }[] }[] }
  summary: { marketId: string; lastPaidPeriod: { fundingRate?: string } | null }
}

/** The address of the service, and the market. */
export const [base, marketId] = process.argv.slice(2) as [string, string]

const SIZE = 40

export async function report<
  Period extends Required['period'],
  Series extends Required['series'],
  Summary extends Required['summary'],
>({ periods, series, summaries, csv }: Calls<Period, Series, Summary>): Promise<void> {
  const forward: Period[] = []
  for (let after: string | undefined; ; ) {
    const { edges, pageInfo } = await periods({ first: SIZE, after })
    forward.push(...edges.map(({ node }) => node))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  const backward: Period[] = []
  for (let before: string | undefined; ; ) {
    const { edges, pageInfo } = await periods({ last: SIZE, before })
    backward.unshift(...edges.map(({ node }) => node))
    if (!pageInfo.hasPreviousPage) break
    before = pageInfo.startCursor
  }
  const { edges } = await summaries()
  const answers = {
    forward,
    backward,
    series: await series(),
    summaries: edges.map(({ node }) => node),
    csv: await csv(),
  }
  console.log(JSON.stringify(answers))
}
