import { type CoverageBody, coverageBody } from '../api/pages/coverage-body.ts'
import { MARKET_ID } from '../domain/ids.ts'
import { exportRows } from '../export/export-rows.ts'
import type { Resource, Selection } from '../resources/resource.ts'
import { ALL_HOLDINGS, type Store } from '../store/store.ts'
import { CompareError } from './compare-error.ts'
import { type ComparedRow, type Held, keyOfNode, type Side } from './side.ts'

/** What a coverage says of a side. */
export function heldOf({ coverage }: CoverageBody): Held {
  const { chainId, blocks, prunedBefore } = coverage
  const heights = (ranges: readonly { from: string; to: string }[]) =>
    ranges.map(({ from, to }) => ({ from: BigInt(from), to: BigInt(to) }))
  // A service of version 0.1.0 says nothing of imports.
  const imported = heights(blocks.imported ?? [])
  return {
    chainId,
    heights: [...heights(blocks.ranges), ...imported].sort((a, b) => (a.from < b.from ? -1 : 1)),
    imported,
    timestamp: BigInt(blocks.lastTimestamp),
    isPruned: prunedBefore !== null && prunedBefore !== undefined,
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
 * Opens one snapshot of a store.
 *
 * @throws {StoreError} where it cannot be read.
 * @throws {CompareError} where it holds no block.
 */
export async function openStoreSide(store: Store, signal: AbortSignal): Promise<Side> {
  const reader = await store.openReader()
  const snapshot = await reader.openSnapshot()
  const close = async () => {
    await snapshot.close()
    await reader.close()
  }
  const { position } = snapshot
  const holdings = await reader.holdings(ALL_HOLDINGS)
  if (position === null || holdings === null) {
    await close()
    throw new CompareError(`${store.name}: holds no block; there is nothing to compare`)
  }
  const height = BigInt(position.height)
  const held = heldOf(coverageBody(holdings))
  // What has been committed since the snapshot was taken is not in its rows.
  const heights = held.heights.flatMap(({ from, to }) =>
    from > height ? [] : [{ from, to: to < height ? to : height }],
  )
  const selectionOf = (marketId: string | null): Selection => (marketId === null ? {} : { marketId })
  return {
    name: store.name,
    held: { ...held, heights, timestamp: BigInt(position.timestamp) },
    isLive: false,
    isReference: false,
    height: async () => height,
    async *rows(resource: Resource, marketId: string | null) {
      const query = { resource, selection: selectionOf(marketId), descending: false, cursor: null }
      for await (const chunk of exportRows(query, snapshot, signal)) {
        yield chunk.map(({ row, selection }): ComparedRow => {
          const node = JSON.parse(resource.node(row, selection)) as ComparedRow['node']
          return { key: keyOfNode(resource, node, store.name), node }
        })
      }
    },
    blockOf: async (resource, marketId, key) =>
      (await reader.placeOf(resource, selectionOf(marketId), key))?.height ?? null,
    close,
  }
}
