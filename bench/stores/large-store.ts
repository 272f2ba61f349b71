import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { projectBlock } from '#core/blocks/project-block'
import type { MarketEvent } from '#core/events/event'
import { type Batch, createBatch } from '#core/model/batch'
import { findStore } from '#core/store/open-store'
import { removeStore, reusedStore, WORK } from './files.ts'

const SECOND = 1_000_000_000n
const START = 1_700_000_000n

/** Rows of one commit. */
const CHUNK = 20_000

/** One row in so many has an external point's source, one in so many a period's seq. */
const EXTERNAL_EVERY = 300
export const PERIOD_SECONDS = 1_000

/** The one market of a large store. */
export const LARGE_MARKET = '5e'.repeat(32)

/** When the rows of a large store begin and end, in whole seconds. */
export function largeStoreTimes(points: number): { first: bigint; last: bigint } {
  return { first: START, last: START + BigInt(points) - 1n }
}

/**
 * A SQLite store with many points of one market, as real ones have them: a mark price each second, an oracle price
 * every five minutes, funding periods of 1,000 points. Later runs use it again.
 *
 * @param digits digits of prices and TWAPs
 */
export async function largeStore(points: number, digits = 11): Promise<string> {
  mkdirSync(WORK, { recursive: true })
  const path = reusedStore(`large-${points}-${digits}`)
  if (existsSync(path)) return path
  const part = `${path}.part`
  removeStore(part)
  const writer = await (await findStore(part)).openWriter()
  try {
    for (let from = 0; from < points; from += CHUNK) {
      const count = Math.min(CHUNK, points - from)
      const height = BigInt(from + count)
      const timestamp = (START + height) * SECOND
      await writer.commit(batchOf(from, count, digits), {
        chainId: 'lyra-bench',
        first: 1n,
        firstTimestamp: null,
        began: 1n,
        blockOne: null,
        height,
        timestamp,
        gaps: [],
        since: [],
        imported: [],
      })
      await writer.buildSeries('due')
    }
    await writer.buildSeries('all')
  } finally {
    await writer.close()
  }
  renameSync(part, path)
  return path
}

/** Bytes of the file for each point, without those of the series. */
export function bytesPerPoint(path: string, points: number): number {
  return (statSync(path).size - seriesBytes(path)) / points
}

/** Bytes of the file that the series of its points take. */
export function seriesBytes(store: string): number {
  const database = new DatabaseSync(store, { readOnly: true })
  try {
    const found = database
      .prepare("select sum(pgsize) as bytes from dbstat where name = 'funding_period_series'")
      .get()
    return Number(found!.bytes)
  } finally {
    database.close()
  }
}

function batchOf(from: number, count: number, digits: number): Batch {
  const batch = createBatch()
  const lowest = 10n ** BigInt(digits - 1)
  for (let index = from; index < from + count; index++) {
    const timestamp = (START + BigInt(index)) * SECOND
    // Prices that go up and down as prices do, all of the same length.
    const price = lowest + BigInt((index * 7919) % 1_000_003) * (lowest / 1_000_003n)
    const event: MarketEvent = {
      kind: 'funding-period-data-point',
      marketId: LARGE_MARKET,
      source: index % EXTERNAL_EVERY === 0 ? 1 : 2,
      timestamp,
      seq: BigInt(Math.floor(index / PERIOD_SECONDS) + 1),
      price: String(price),
      twap: String(price + 12_345n),
    }
    projectBlock(batch, {
      height: BigInt(index + 1),
      timestamp,
      events: [{ index: 17, event }],
      weight: 0,
      replacesAfter: null,
    })
  }
  return batch
}
