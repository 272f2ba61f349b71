import { singleFlight } from '#core/concurrency/single-flight'
import { readLastTimes } from '#core/store/queries/contents/last-times'
import { readMissingBlocks, readStoreHead } from '#core/store/queries/coverage'
import type { Reader } from '#core/store/store'
import type { Metrics } from '../metrics.ts'

/** Most markets whose last data points are reported: each has two figures. */
const MOST_MARKETS = 500

/** Labels of the two sources of data points, by number. */
const SOURCE_LABELS = { 1: 'external', 2: 'internal' } as const

/** Adds the metrics of a store's content. */
export function addStoreMetrics({ gauge }: Metrics, reader: Reader): void {
  const storeHead = () => reader.read(readStoreHead).catch(() => null)
  gauge('lyra_block_height', 'Height of the last block committed; 0 in an empty store.', [], async (height) =>
    height.set(Number((await storeHead())?.height ?? 0)),
  )
  gauge(
    'lyra_block_timestamp_seconds',
    'Time of the last block committed; 0 if the store is empty.',
    [],
    async (time) => time.set(Number((await storeHead())?.timestamp ?? 0) / 1e9),
  )
  gauge(
    'lyra_missing_blocks',
    'Blocks that are missing or incomplete, above the first one ever stored.',
    [],
    async (blocks) => {
      const missing = await reader.read(readMissingBlocks).catch(() => null)
      if (missing !== null) blocks.set(missing)
    },
  )
  const { wal } = reader
  if (wal !== undefined) {
    // The second name is that of version 0.2.
    for (const name of ['lyra_store_wal_bytes', 'lyra_store_log_bytes'])
      gauge(name, 'Size of the write-ahead log of the SQLite file.', [], (bytes) => bytes.set(wal.bytes()))
  }
  // A service may be current, and yet receive no points of a market.
  const lastTimes = singleFlight(() => reader.read(() => readLastTimes(MOST_MARKETS)).catch(() => null))
  gauge(
    'lyra_market_point_timestamp_seconds',
    'Time of the last data point of a market that is not closed, by market and source.',
    ['market', 'source'],
    async (time) => {
      const points = (await lastTimes.current())?.points ?? []
      time.reset()
      for (const { marketId, source, timestamp } of points) {
        time.set({ market: marketId, source: SOURCE_LABELS[source] }, Number(timestamp) / 1e9)
      }
    },
  )
  gauge(
    'lyra_checkpoint_timestamp_seconds',
    'Time of the block of the last checkpoint; 0 if there is none.',
    [],
    async (time) => time.set(Number((await lastTimes.current())?.checkpoint ?? 0) / 1e9),
  )
}
