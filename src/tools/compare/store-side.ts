import { byFrom } from '#core/domain/height-ranges'
import { MARKET_ID } from '#core/domain/ids'
import { least } from '#core/domain/integers'
import { type Key, keyOf, type Resource, type Selection } from '#core/model/resource'
import { BLOCKS_OF_SPAN } from '#core/resources/funding-period-data-points/table'
import { readStoreContents } from '#core/store/queries/contents/store-contents'
import { readPosition } from '#core/store/queries/unseen/unseen-rows'
import type { Query } from '#core/store/queries-protocol'
import { FIND_MARKET } from '#core/store/statements'
import type { Store } from '#core/store/store'
import { exportRows } from '#service/formats/export-rows'
import { type CoverageBody, coverageBody } from '#service/questions/coverage-body'
import { CompareError } from './compare-error.ts'
import { type ComparedRow, hasHiddenKey, keyOfNode, type Side, type SideCoverage } from './side.ts'

/** The times between which the points of 64 blocks lie. */
const READ_BLOCK_SPAN = `
  select cast(first_timestamp as text), cast(last_timestamp as text)
  from funding_period_block_spans where market = $1 and blocks = $2`

const COUNT_BESIDE = `
  select cast(count(*) as text) from funding_period_data_points
  where market = $1 and source = $2 and timestamp between $3 and $4 and seq = $5 and height = $6`

/** The coverage of a side, from the body of a coverage answer. */
export function coverageOfBody({ coverage }: CoverageBody): SideCoverage {
  const { chainId, blocks, prunedBefore } = coverage
  const heights = (ranges: readonly { from: string; to: string }[]) =>
    ranges.map(({ from, to }) => ({ from: BigInt(from), to: BigInt(to) }))
  const imported = heights(blocks.imported)
  return {
    chainId,
    heights: [...heights(blocks.ranges), ...imported].sort(byFrom),
    imported,
    timestamp: BigInt(blocks.lastTimestamp),
    isPruned: prunedBefore !== null,
    markets: ({ name }) => {
      const rows = (coverage as Record<string, unknown>)[name]
      const ids = Array.isArray(rows)
        ? rows.map(({ marketId }: { marketId: unknown }) => String(marketId))
        : []
      // They become parts of addresses.
      return ids.filter((id) => MARKET_ID.test(id))
    },
  }
}

/**
 * Opens a snapshot of a store as a side.
 *
 * @throws {StoreError} if it cannot be read.
 * @throws {CompareError} if it has no block.
 */
export async function openStoreSide(store: Store, signal: AbortSignal): Promise<Side> {
  const reader = await store.openReader()
  const snapshot = await reader.openSnapshot()
  const close = async () => {
    await snapshot.close()
    await reader.close()
  }
  const { storeHead } = snapshot
  const contents = await reader.read(readStoreContents)
  if (storeHead === null || contents === null) {
    await close()
    throw new CompareError(`${store.name}: the store is empty; there is nothing to compare`)
  }
  const height = BigInt(storeHead.height)
  const coverage = coverageOfBody(coverageBody(contents))
  // Rows of commits after the snapshot are not in it.
  const heights = coverage.heights.flatMap(({ from, to }) =>
    from > height ? [] : [{ from, to: least([to, height]) }],
  )
  const selectionOf = (marketId: string | null): Selection => (marketId === null ? {} : { marketId })
  return {
    name: store.name,
    coverage: { ...coverage, heights, timestamp: BigInt(storeHead.timestamp) },
    isLive: false,
    isReference: false,
    height: async () => height,
    async *rows(resource: Resource, marketId: string | null) {
      const query = { resource, selection: selectionOf(marketId), descending: false, cursor: null }
      for await (const chunk of exportRows(query, snapshot, signal)) {
        yield chunk.map(({ row, selection }): ComparedRow => {
          const node = JSON.parse(resource.node(row, selection)) as ComparedRow['node']
          const key = hasHiddenKey(resource) ? keyOf(resource, row) : keyOfNode(resource, node, store.name)
          return { key, node }
        })
      }
    },
    blockOf: async (resource, marketId, key) =>
      (await reader.read(() => readPosition(resource, selectionOf(marketId), key)))?.height ?? null,
    pointsBeside: (marketId, key, height) => reader.read(() => countBeside(marketId, key, height)),
    close,
  }
}

/** The number of points in a block that have the market, seq and source of a point. */
function* countBeside(marketId: string, key: Key, height: bigint): Query<bigint> {
  const [number] = yield { text: FIND_MARKET, values: [marketId] }
  const market = BigInt(number![0]!)
  const [span] = yield { text: READ_BLOCK_SPAN, values: [market, height / BLOCKS_OF_SPAN] }
  const [timestamp, seq, source] = key as readonly [bigint, bigint, bigint]
  const [first, last] = span?.[0] == null ? [timestamp, timestamp] : span.map((time) => BigInt(time!))
  const [row] = yield { text: COUNT_BESIDE, values: [market, source, first!, last!, seq, height] }
  return BigInt(row![0]!)
}
