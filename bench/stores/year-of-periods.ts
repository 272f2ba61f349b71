import { projectBlock } from '#core/blocks/project-block'
import type { MarketEvent } from '#core/events/event'
import { createBatch } from '#core/model/batch'
import { findStore } from '#core/store/open-store'

const MARKETS = 40

/** Periods of 8 hours in 365 days. */
const PERIODS = 1_095
const HOURS = 8

/** A SQLite store of 40 markets, each with the funding periods of a year and its last points. */
export async function makeYearOfPeriods(store: string): Promise<void> {
  const file = await findStore(store)
  await file.migrate()
  const writer = await file.openWriter()
  try {
    const height = BigInt(PERIODS * HOURS * 3_600)
    const timestamp = timeOf(PERIODS * HOURS)
    const batch = createBatch()
    const events = Array.from({ length: MARKETS }, (_, number) => eventsOf(number, timestamp)).flat()
    projectBlock(batch, {
      height,
      timestamp,
      weight: 0,
      replacesAfter: null,
      events: events.map((event, index) => ({ index: index + 2, event })),
    })
    await writer.commit(batch, {
      chainId: 'lyra-bench',
      first: height,
      firstTimestamp: timestamp,
      began: height,
      height,
      timestamp,
      blockOne: null,
      gaps: [],
      since: [],
      imported: [],
    })
  } finally {
    await writer.close()
  }
}

function eventsOf(number: number, last: bigint): MarketEvent[] {
  const marketId = (number + 16).toString(16).repeat(32)
  const points = ([1, 2] as const).map(
    (source): MarketEvent => ({
      kind: 'funding-period-data-point',
      marketId,
      seq: BigInt(PERIODS),
      source,
      price: '2947093000',
      timestamp: last - 1_000_000_000n,
      twap: '2947093000',
    }),
  )
  const periods = Array.from({ length: PERIODS + 1 }, (_, index): MarketEvent => {
    const rate = (Math.sin(index / 7 + number) * 1e-4).toFixed(16)
    const twaps = { internalTwap: '2947093000', externalTwap: '2947093000' }
    const paid = { end: timeOf((index + 1) * HOURS), fundingPayment: '29470', fundingRate: rate, ...twaps }
    const running = { end: null, fundingPayment: null, fundingRate: null, ...twaps }
    return {
      kind: 'funding-period',
      marketId,
      seq: BigInt(index + 1),
      start: timeOf(index * HOURS),
      ...(index < PERIODS ? paid : running),
    }
  })
  return [...points, ...periods]
}

/** Unix nanoseconds so many hours after the first period began. */
function timeOf(hours: number): bigint {
  return (1_700_000_000n + BigInt(hours) * 3_600n) * 1_000_000_000n
}
