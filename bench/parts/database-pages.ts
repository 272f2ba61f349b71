import { existsSync, readFileSync } from 'node:fs'
import type { Key } from '#core/model/resource'
import { decodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { findStore } from '#core/store/open-store'
import { readStoreHead } from '#core/store/queries/coverage'
import { type Figure, figure } from '../figures.ts'
import { LARGE_MARKET } from '../stores/large-store.ts'
import type { PageTargets } from './page-targets.ts'

/** Bytes read by this process from all files (Linux). */
const IO = '/proc/self/io'

/** Bytes of a page of a SQLite file. */
const PAGE_BYTES = 4_096

const TIMES = 50

/** Pages of the database that are read for pages of rows at both ends of a long list, with none in memory before. */
export async function measureDatabasePages(store: string, targets: PageTargets): Promise<Figure[]> {
  if (!existsSync(IO)) return []
  const figures: Figure[] = []
  for (const first of [100, 1000]) {
    const newest = await databasePages(store, targets.near('newest', first))
    const oldest = await databasePages(store, targets.near('oldest', first))
    figures.push(
      figure(`database pages of the last pages, first=${first}`, oldest, 'pages', {
        limit: { name: 'the first pages', value: newest },
        target: { most: 1.2 },
      }),
    )
  }
  return figures
}

async function databasePages(store: string, nextTarget: () => string): Promise<number> {
  let bytes = 0
  for (let time = 0; time < TIMES; time++) {
    const reader = await (await findStore(store)).openReader()
    // Pages that every connection reads once.
    await reader.read(readStoreHead)
    const before = bytesRead()
    await reader.page(queryOf(nextTarget()))
    bytes += bytesRead() - before
    await reader.close()
  }
  return bytes / PAGE_BYTES / TIMES
}

function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync(IO, 'latin1'))![1])
}

function queryOf(target: string) {
  const { searchParams } = new URL(target, 'http://localhost')
  const resource = fundingPeriodDataPoints
  return {
    resource,
    selection: { marketId: LARGE_MARKET },
    descending: true,
    cursor: decodeCursor(resource, { marketId: LARGE_MARKET }, searchParams.get('pagination.after')!) as Key,
    limit: Number(searchParams.get('pagination.first')),
    edges: 'as read',
  } as const
}
