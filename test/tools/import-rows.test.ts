import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ImportedText } from '#core/domain/coverage'
import { checkStore } from '#tools/check/check-store'
import { describeReport } from '#tools/cli/describe-report'
import { importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables } from '../fixtures/imports/reference-database.ts'
import { blocksUpTo, type ImportedRows, importedRows } from '../fixtures/imports/reference-tables.ts'
import { assertGoldenAnswers } from '../fixtures/requests/golden.ts'
import { LONG } from '../fixtures/sampling.ts'
import { ingest, serve } from '../fixtures/services/service.ts'
import {
  type GoldenCase,
  readGolden,
  recorded,
  recordingPath,
  referencePath,
  skip,
} from '../fixtures/shared.ts'
import { assertSound, checkWithFiles } from '../fixtures/stores/check.ts'
import { assertSameDump, dumpStore, type StoreDump } from '../fixtures/stores/dump-store.ts'
import { serverOfFile } from '../fixtures/stores/postgres-server.ts'
import { describeOn, openStore, STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'

/** Fails if a store's rows are not the expected ones of an import. */
function assertImported(dump: StoreDump, expected: ImportedRows, but: readonly string[] = []): void {
  for (const [table, rows] of Object.entries(expected)) {
    const found = dump[table]!
    const known = new Set(rows)
    const also = new Set(found)
    assert.deepEqual(
      {
        extra: found.filter((row) => !known.has(row)).slice(0, 5),
        missing: rows.filter((row) => !also.has(row)).slice(0, 5),
      },
      but.includes(table) ? { extra: [], missing: rows.slice(0, 5) } : { extra: [], missing: [] },
      table,
    )
  }
}

/**
 * Fails if a store has problems, differs from its events, or if these change an imported block. A data node writes only
 * the numbers of the core as they are in its events.
 */
async function assertFinal(store: string, events: string, isOfCore = true): Promise<void> {
  await assertSound(store)
  const report = await ingest(store, events)
  await assertSound(store)
  const { told } = await checkWithFiles(store, events)
  const differences = told.filter(({ what }) => !what.startsWith('nothing to compare'))
  if (isOfCore) assert.deepEqual(differences, [])
  const dump = await dumpStore(store)
  const [range] = dump.imported!.map((row) => JSON.parse(row).slice(0, 2).map(Number))
  const count = range![1]! - range![0]! + 1
  assert.deepEqual([report.importedBlocks, report.heldBlocks], [count, count])
  assert.match(
    describeReport(report),
    new RegExp(`${count.toLocaleString('en')} of these were imported, and stay so: ingest the`),
  )
  await ingest(store, events)
  assertSameDump(await dumpStore(store), dump, 'the events again')
}

/** Fails if answers are not the reference's, except for data points, which are not all imported. */
async function assertAnswers(base: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const golden = readGolden(name)!
    const timestamp = `${golden.timestamp.slice(0, -3)}000`
    const isAsked = ({ path }: GoldenCase) => !path.includes('/data-points/')
    const count = await assertGoldenAnswers(base, { ...golden, timestamp }, isAsked)
    assert.ok(count > 100, `${count} cases`)
  }
}

/** All on one database, the first on the other. */
const inPart = <T>(kind: StoreKind, all: readonly T[]) =>
  kind === STORE_KINDS[0] || LONG ? all : all.slice(0, 1)

const serverFor = serverOfFile()

describeOn(STORE_KINDS, 'imports of recordings', (kind) => {
  for (const [name, recording, to] of inPart(kind, [
    ['perps-calm-named-300', 'perps-calm-named.evts.gz', 900],
    ['perps-calm-300', 'perps-calm.evts.gz', 900],
    ['perps-long-1000', 'perps-long.evts.gz', 2000],
  ] as const)) {
    test(`the segments ${name} yield the rows that the reference keeps`, async (t) => {
      const folder = referencePath(`segments/${name}`)
      const events = recordingPath(recording)
      if (folder === null || events === null) return skip(t, `no ${name}`)
      const store = kind.create(t)
      const { report } = await importWhole(store, folder)
      assert.equal(report.blocks, to)
      assert.deepEqual(report.leftOut, {})
      assert.deepEqual(report.imported, [{ from: '1', to: String(to) }])
      assertImported(await dumpStore(store), importedRows(blocksUpTo(events, to)))
      await assertFinal(store, events)
    })
  }

  test('a later segment alone yields earlier rows without places', async (t) => {
    const folder = referencePath('segments/perps-calm-300')!
    const last = readdirSync(folder).sort().at(-1)!
    const store = kind.create(t)
    const { report } = await importWhole(store, join(folder, last))
    assert.deepEqual(report.imported, [{ from: '601', to: '900' }])
    const { notes } = await checkStore(openStore(store))
    assert.match(notes.join('\n'), /^\d+ rows come from unknown blocks before the imported ones/m)
    const dump = await dumpStore(store)
    const expected = importedRows(blocksUpTo(recorded('perps-calm'), 900), 601n)
    assertImported(dump, expected)
    assert.equal(dump.liquidity_provisions!.filter((row) => row.includes('"0","0"')).length, 9)
    await assertFinal(store, recorded('perps-calm'))
  })

  const notStored = ['instruments', 'instrument_terms', 'assets']
  for (const [name, tables, answers] of inPart(kind, [
    ['perps-calm', notStored, ['perps-calm', 'funding-periods/perps-calm']],
    ['perps-calm-named', [], []],
    ['synthetic', notStored, []],
    ['smoke', [], ['smoke']],
  ] as const)) {
    test(`the database of ${name} yields the rows that the reference keeps, and its answers`, async (t) => {
      const path = referencePath(`tables/${name}.tables.sql.gz`)
      const events = recordingPath(`${name}.evts.gz`)
      if (path === null || events === null) return skip(t, `no ${name}`)
      const server = serverFor(t)
      if (server === null) return
      const store = kind.create(t)
      const { report } = await importWhole(store, await loadReferenceTables(t, server, path))
      const [{ to, lacks }] = report.imported as [ImportedText]
      assert.deepEqual(lacks, [
        'epochs',
        'fundingPayments',
        ...(tables.length > 0 ? ['instrumentTerms', 'instruments'] : []),
        'liquidityProviderHistory',
        'paidLiquidityFees',
        'paidLiquidityFeesStats',
      ])
      assertImported(await dumpStore(store), importedRows(blocksUpTo(events, Number(to))), tables)
      if (answers.length > 0) await assertAnswers(await serve(t, store), answers)
      await assertFinal(store, events, name !== 'synthetic')
    })
  }
})
