import { INTERVALS } from '#core/domain/intervals'
import { type Figure, figure, median } from '../figures.ts'
import type { ServerProcess } from '../processes.ts'
import { LARGE_MARKET, largeStoreTimes, seriesBytes } from '../stores/large-store.ts'

const SECOND = 1_000_000_000n
const BUCKETS = 500

/** Requests of each figure. */
const REQUESTS = 20

/** Points that are read row by row for comparison with a series. */
const ROWS = 100_000

/** A chart in one request: processor time by the length of its buckets, bytes, and the same points read as rows. */
export async function measureSeries(
  service: ServerProcess,
  store: string,
  points: number,
): Promise<Figure[]> {
  const { first, last } = largeStoreTimes(points)
  const costs: { name: string; ms: number }[] = []
  for (const { name, nanoseconds } of INTERVALS) {
    const seconds = nanoseconds / SECOND
    const length = seconds * BigInt(BUCKETS)
    if (length > 2n * (last - first)) break
    costs.push({ name, ms: await cost(service, seriesTargets(first, length, REQUESTS)) })
  }
  const worst = costs.reduce((a, b) => (b.ms > a.ms ? b : a))
  const rows = await timeOf(() => walk(service, rangeOf(first, BigInt(ROWS))))
  // From the request to the last byte of the answer: the median of requests one after another, none of them cached.
  const series: number[] = []
  for (const target of seriesTargets(first, BigInt(ROWS), REQUESTS)) {
    series.push(await timeOf(() => get(service, target)))
  }
  return [
    figure(
      `series of ${BUCKETS} buckets, the dearest interval (${worst.name})`,
      worst.ms,
      'ms of processor',
      {
        target: { most: 30 },
        note: costs.map(({ name, ms }) => `${name} ${ms.toFixed(1)}`).join(', '),
      },
    ),
    figure(`series of ${ROWS.toLocaleString('en')} points`, median(series), 's', {
      limit: { name: 'reading the rows', value: rows },
      target: { most: 0.1 },
    }),
    figure('bytes of series per data point', seriesBytes(store) / points, 'bytes', { target: { most: 4 } }),
  ]
}

/** A range of times: its start and length in seconds. */
const rangeOf = (start: bigint, length: bigint) =>
  `dateRange.startTimestamp=${start * SECOND}&dateRange.endTimestamp=${(start + length) * SECOND}`

/**
 * Requests for series of one length, each a bucket further on, so that none is answered from the cache.
 *
 * @param first when the first range starts, in seconds; `length` is in seconds, too
 */
export function seriesTargets(first: bigint, length: bigint, requests: number): string[] {
  const { nanoseconds } = INTERVALS.find(
    (interval) => interval.nanoseconds * BigInt(BUCKETS) >= length * SECOND,
  )!
  const path = `/api/v2/series/funding-period-data-points/${LARGE_MARKET}`
  return Array.from({ length: requests }, (_, turn) => {
    const start = first + (BigInt(turn) * nanoseconds) / SECOND
    return `${path}?${rangeOf(start, length)}&buckets=${BUCKETS}`
  })
}

/** Milliseconds of processor time of a series, in all threads of the service. */
async function cost(service: ServerProcess, targets: readonly string[]): Promise<number> {
  const before = service.processorSeconds()
  for (const target of targets) await get(service, target)
  return ((service.processorSeconds() - before) * 1_000) / targets.length
}

async function get({ base }: ServerProcess, target: string): Promise<string> {
  const answer = await fetch(`${base}${target}`, { headers: { 'accept-encoding': 'identity' } })
  if (!answer.ok) throw new Error(`${target}: ${answer.status}`)
  return answer.text()
}

/** Reads all rows of a range, in the longest pages there are. */
async function walk(service: ServerProcess, range: string): Promise<void> {
  const path = `/api/v2/funding-periods/data-points/${LARGE_MARKET}?${range}&pagination.first=5000`
  for (let after = ''; ; ) {
    const text = await get(service, `${path}${after}`)
    const { fundingPeriodDataPoints } = JSON.parse(text) as {
      fundingPeriodDataPoints: { pageInfo: { hasNextPage: boolean; endCursor: string } }
    }
    if (!fundingPeriodDataPoints.pageInfo.hasNextPage) return
    after = `&pagination.after=${fundingPeriodDataPoints.pageInfo.endCursor}`
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1_000
}
