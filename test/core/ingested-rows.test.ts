import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STORED } from '#core/resources/stored'
import type { Table } from '#core/store/schema/tables'
import { walkTable } from '#core/store/walk-table'
import {
  checkpoint,
  eventsOf,
  fileOf,
  frame,
  idOf,
  type MadeBlock,
  marketData,
  partOf,
  payments,
  provision,
} from '../fixtures/events/event-stream.ts'
import { ingest, tryIngest } from '../fixtures/services/service.ts'
import { HEIGHT, NAMED_SAMPLE } from '../fixtures/shared.ts'
import { describeOn, openStore, STORE_KINDS } from '../fixtures/stores/stores.ts'

const COUNTED = STORED.flatMap(({ tables }) => tables).filter(
  (table): table is Table & { counted: string } => table.counted !== undefined,
)

/** The rows of a store, by their names in reports. */
async function rowsIn(store: string): Promise<Record<string, number>> {
  const reader = await openStore(store).openTableReader()
  try {
    const counts: Record<string, number> = {}
    for (const table of COUNTED) {
      counts[table.counted] = 0
      for await (const chunk of walkTable(reader, table)) counts[table.counted]! += chunk.length
    }
    return counts
  } finally {
    await reader.close()
  }
}

const nothing = Object.fromEntries(COUNTED.map(({ counted }) => [counted, 0]))

const sumOf = (all: readonly Record<string, number>[]) =>
  Object.fromEntries(
    Object.keys(nothing).map((name) => [name, all.reduce((sum, counts) => sum + counts[name]!, 0)]),
  )

/** Blocks in which providers come, go and change. */
const changing: MadeBlock[] = [
  { height: 2, events: [checkpoint(), provision(), marketData({ parties: [idOf('b'), idOf('d')] })] },
  { height: 3, events: [marketData({ parties: [idOf('b')] }), payments([[idOf('b'), '5']])] },
  { height: 4, events: [marketData({ parties: [idOf('b')], share: '0.7' })] },
]

describeOn(STORE_KINDS, 'the rows that an ingestion reports', (kind) => {
  test('are those that the store has more than before, whatever commits they come in', async (t) => {
    const whole = kind.create(t)
    const report = await ingest(whole, NAMED_SAMPLE)
    assert.deepEqual(report.rows, await rowsIn(whole))
    assert.notDeepEqual(report.rows, nothing)

    const inPieces = kind.create(t)
    const PIECES = 5
    const reports = []
    for (let piece = 0; piece < PIECES; piece++) {
      const [from, to] = [piece, piece + 1].map((share) => (share * Number(HEIGHT)) / PIECES) as [
        number,
        number,
      ]
      const bytes = partOf(NAMED_SAMPLE, (height) => height > from && height <= to)
      reports.push((await tryIngest(inPieces, bytes)).report.rows)
    }
    assert.deepEqual(sumOf(reports), report.rows)
  })

  test('are none if the events are ingested again', async (t) => {
    const store = kind.create(t)
    await ingest(store, NAMED_SAMPLE)
    const report = await ingest(store, NAMED_SAMPLE)
    assert.deepEqual(report.rows, nothing)
  })

  test('are fewer where rows are removed', async (t) => {
    const store = kind.create(t)
    const reports = []
    for (const block of changing) reports.push((await tryIngest(store, fileOf(block))).report.rows)
    assert.deepEqual(
      reports.map(({ liquidityProviders }) => liquidityProviders),
      [2, -1, 0],
    )
    assert.deepEqual(sumOf(reports), await rowsIn(store))
  })

  test('are counted once if a block comes in part, then whole', async (t) => {
    const store = kind.create(t)
    const paid = payments([
      [idOf('b'), '5'],
      [idOf('c'), '-5'],
    ])
    const block: MadeBlock = { height: 2, events: [checkpoint(), paid, checkpoint({ hash: 'beef' })] }
    await tryIngest(store, fileOf({ height: 1 }))
    const reports = []
    for (const without of [[4], []]) {
      const bytes = frame(eventsOf([{ ...block, without }]))
      reports.push((await tryIngest(store, bytes, { allowGap: true })).report.rows)
    }
    assert.deepEqual(sumOf(reports), await rowsIn(store))
    assert.deepEqual([reports[0]!.fundingPayments, reports[1]!.fundingPayments], [2, 0])
  })
})
