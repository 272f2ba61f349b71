import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { projectBlock } from '../src/blocks/project-block.ts'
import type { MarketEvent } from '../src/events/event.ts'
import { exportFolder, type FolderOptions, isByMarket } from '../src/export/export-folder.ts'
import { parseDecimal, textOfDecimal } from '../src/funding/decimal.ts'
import { generateRecords } from '../src/generate/generate.ts'
import { createBatch } from '../src/resources/batch.ts'
import { RESOURCES } from '../src/resources/resources.ts'
import { pruneStore } from '../src/store/pruning/prune-store.ts'
import { coverageUpTo } from './fixtures/commit-events.ts'
import { idOf } from './fixtures/event-stream.ts'
import { send } from './fixtures/http.ts'
import { storeOfBytes } from './fixtures/ingest-bytes.ts'
import { createLiveStore, type LiveStore, openLiveStore, timeOf } from './fixtures/live-store.ts'
import { assertFails, runLyra, runWell, startLyra } from './fixtures/program.ts'
import { runSql } from './fixtures/raw-sql.ts'
import { RESOURCE_CASES } from './fixtures/resource-cases.ts'
import { runsOf } from './fixtures/sampling.ts'
import { inScope } from './fixtures/scope.ts'
import { serve, storeOf } from './fixtures/service.ts'
import { NAMED_SAMPLE, skip } from './fixtures/shared.ts'
import { openStore, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

const READ_PARQUET = join(import.meta.dirname, 'clients/read_parquet.py')
const PYTHON = process.env.LYRA_PYTHON ?? 'python3'
const hasDuckDb = () => spawnSync(PYTHON, ['-c', 'import duckdb']).status === 0

const POINTS = 'funding-period-data-points'
const [A, B] = [idOf('a'), idOf('b')]

/** Exports the current rows of a store; files contain a thousand rows. */
async function exportTo(
  store: string,
  folder: string,
  options: Partial<FolderOptions> = {},
): Promise<Awaited<ReturnType<typeof exportFolder>>> {
  const reader = await openStore(store).openReader()
  try {
    const snapshot = await reader.openSnapshot()
    try {
      return await exportFolder({ folder, snapshot, asText: false, partRows: 1_000, ...options })
    } finally {
      await snapshot.close()
    }
  } finally {
    await reader.close()
  }
}

/** The files of an export by path, without the export's own notes. */
function filesOf(folder: string): Map<string, Buffer> {
  const names = globSync('**/*.parquet*', { cwd: folder }).sort()
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}

/** Compares an export with a single new one: the same files, byte by byte. */
async function assertAsAtOnce(
  t: TestContext,
  store: string,
  folder: string,
  options: Partial<FolderOptions> = {},
): Promise<void> {
  const fresh = join(temporaryFolder(t), 'fresh')
  await exportTo(store, fresh, options)
  const [found, expected] = [filesOf(folder), filesOf(fresh)]
  assert.deepEqual([...found.keys()], [...expected.keys()])
  for (const [name, bytes] of expected) assert.ok(bytes.equals(found.get(name)!), name)
}

/** Points of a block, one nanosecond apart; their times are `late` blocks earlier than it. */
function pointsOf(height: number, count: number, marketId = A, late = 0): MarketEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ kind: 'funding-period-data-point' as const, marketId, seq: 1n, source: 2 as const },
    ...{ price: String(height), twap: '1', timestamp: timeOf(height - late) + BigInt(index) + BigInt(late) },
  }))
}

/** Reads rows of a part of an export with DuckDB. */
function rowsIn(pattern: string): { types: Record<string, string>; rows: Record<string, string | null>[] } {
  const read = spawnSync(PYTHON, [READ_PARQUET, pattern], { encoding: 'utf8', maxBuffer: 1 << 28 })
  assert.equal(read.status, 0, read.stderr)
  return JSON.parse(read.stdout)
}

async function filled(t: TestContext, kind: StoreKind, heights: readonly number[]) {
  const { store, live } = await createLiveStore(t, kind)
  for (const height of heights) await live.commit(height, pointsOf(height, 500))
  return { store, live, folder: join(temporaryFolder(t), 'all') }
}

const partsOf = (folder: string, marketId = A) =>
  readdirSync(join(folder, POINTS, `marketId=${marketId}`)).filter((name) => name.endsWith('.parquet'))

for (const kind of STORE_KINDS) {
  describe(`an export into a folder (${kind.name})`, () => {
    test('contains every row of every resource, by market, in DuckDB too', async (t) => {
      if (!hasDuckDb())
        return skip(t, 'DuckDB for Python is not installed; LYRA_PYTHON may name a Python that has it')
      const bytes = Buffer.concat([...generateRecords({ blocks: 700, events: 0 })])
      const store = await storeOfBytes(t, kind, bytes)
      const folder = join(temporaryFolder(t), 'all')
      await runWell(t, ['export', 'all', '--store', store, '--out', folder])
      const base = await serve(t, store)
      for (const resource of RESOURCES) {
        const { text } = await send(base, `/api/v2/export/${resource.kebabName}?format=ndjson`)
        const lines = text.split('\n').slice(0, -1)
        assert.ok(lines.length > 0)
        const byMarket = isByMarket(resource)
        const { types, rows } = rowsIn(
          join(folder, resource.kebabName, byMarket ? '*/*.parquet' : '*.parquet'),
        )
        assert.equal(rows.length, lines.length)
        // The column in the folder's name is not repeated in its files.
        const files = globSync('**/*.parquet', { cwd: join(folder, resource.kebabName) })
        if (byMarket) {
          const file = readFileSync(join(folder, resource.kebabName, files[0]!))
          assert.ok('marketId' in types && !file.includes('marketId'))
        }
        const { columns, sum } = {
          columns: resource.key.length,
          sum: new Set(rows.map((row) => JSON.stringify(row))),
        }
        assert.ok(columns > 0)
        assert.equal(sum.size, lines.length)
        for (const field of resource.fields.filter(({ form }) => typeof form === 'string')) {
          const isNumber = field.form === 'number' || field.form === 'rate'
          const exact = (value: string | null | undefined) =>
            value != null && isNumber ? textOfDecimal(parseDecimal(value)!) : (value ?? null)
          const seen = rows.map((row) => exact(row[field.name])).sort()
          const sent = lines.map((line) => exact(JSON.parse(line)[field.name])).sort()
          assert.deepEqual(seen, sent, field.name)
        }
      }
    })

    test('adds new rows when it is repeated, and leaves full files unchanged', async (t) => {
      const { store, live, folder } = await filled(t, kind, [100, 101, 102, 103, 104])
      const first = await exportTo(store, folder)
      assert.deepEqual(partsOf(folder), ['part-00000.parquet', 'part-00001.parquet', 'part-00002.parquet'])
      assert.deepEqual([first.rows, first.written, first.unchanged], [2_500, 3, 0])
      const stamp = () => statSync(join(folder, POINTS, `marketId=${A}`, 'part-00000.parquet')).ino
      const before = stamp()
      const again = await exportTo(store, folder)
      assert.deepEqual([again.rows, again.written, again.unchanged], [0, 0, 3])
      // Blocks far above the first ones: new rows are found by spans of 64 blocks.
      for (const height of [301, 302])
        await live.commit(height, [...pointsOf(height, 500), ...pointsOf(height, 3, B)])
      const added = await exportTo(store, folder)
      assert.deepEqual([added.unchanged, partsOf(folder).length, partsOf(folder, B).length], [2, 4, 1])
      assert.equal(stamp(), before)
      await assertAsAtOnce(t, store, folder)
      // A late point, whose time falls into the second file.
      await live.commit(500, pointsOf(500, 1, A, 397))
      await exportTo(store, folder)
      assert.equal(stamp(), before)
      await assertAsAtOnce(t, store, folder)
    })

    test('contains the rows of a gap that is filled later', async (t) => {
      const { store, live, folder } = await filled(t, kind, [10, 11, 14, 15, 16])
      await exportTo(store, folder)
      await live.commit(12, pointsOf(12, 500))
      await exportTo(store, folder)
      await assertAsAtOnce(t, store, folder)
      await live.commit(9, pointsOf(9, 500))
      await live.commit(13, [])
      await exportTo(store, folder)
      await assertAsAtOnce(t, store, folder)
    })

    test('contains rows added to a block that stays incomplete', async (t) => {
      const store = kind.create(t)
      const writer = await openStore(store).openWriter()
      t.after(() => writer.close())
      const commit = async (height: number, events: MarketEvent[], last: number) => {
        const batch = createBatch()
        const numbered = events.map((event, position) => ({ index: position + 2, event }))
        const block = { height: BigInt(height), timestamp: timeOf(height), events: numbered }
        projectBlock(batch, { ...block, weight: 0, replacesAfter: null })
        await writer.commit(batch, {
          ...coverageUpTo(BigInt(last)),
          gaps: [{ from: 101n, to: 101n, kind: 'incomplete' }],
        })
      }
      const checkpoint = { kind: 'checkpoint' as const, hash: 'aa', blockHash: 'bb', atBlock: 101n }
      for (const height of [100, 101, 102]) await commit(height, pointsOf(height, 700), height)
      await commit(300, pointsOf(300, 700), 300)
      const folder = join(temporaryFolder(t), 'all')
      await exportTo(store, folder)
      await commit(101, [...pointsOf(101, 800), checkpoint], 300)
      await exportTo(store, folder)
      await assertAsAtOnce(t, store, folder)
    })

    test('has no folder of a market whose rows are all gone', async (t) => {
      const { store, live } = await createLiveStore(t, kind)
      const folder = join(temporaryFolder(t), 'all')
      const partyId = idOf('1')
      const provision = { provisionId: 'p', marketId: A, partyId, status: 1 as const }
      const listed = (parties: readonly string[]): MarketEvent => ({
        ...{ kind: 'market-data', marketId: A, figures: null, slas: [] },
        feeShares: parties.map((party) => ({
          ...{
            party,
            equityLikeShare: '1',
            averageEntryValuation: '1',
            averageScore: '1',
            virtualStake: '1',
          },
        })),
      })
      await live.commit(1, [{ kind: 'liquidity-provision', ...provision }, listed([partyId])])
      await exportTo(store, folder)
      assert.deepEqual(readdirSync(join(folder, 'liquidity-providers')), [`marketId=${A}`])
      await live.commit(2, [listed([])])
      await exportTo(store, folder)
      assert.ok(!existsSync(join(folder, 'liquidity-providers')))
      await assertAsAtOnce(t, store, folder)
      await live.commit(3, [listed([partyId])])
      await exportTo(store, folder)
      await assertAsAtOnce(t, store, folder)
    })

    test('equals a single export, whatever arrives between runs, and however runs end', async () => {
      const events = fc.oneof(...RESOURCE_CASES.map((one) => one.events))
      // Random numbers do not all fit the decimal types.
      const asText = { asText: true }
      const step = fc.record({
        events: fc.array(events, { maxLength: 12 }),
        points: fc.constantFrom(0, 0, 700, 1_300),
        late: fc.constantFrom(0, 0, 1, 5),
        skips: fc.constantFrom(0, 0, 1, 70),
        fills: fc.boolean(),
        abortAfter: fc.option(fc.constantFrom(1, 1_000, 2_000)),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 5 }), (steps) =>
          inScope(async (scope) => {
            const store = kind.create(scope)
            const live: LiveStore = await openLiveStore(scope, store)
            const folder = join(temporaryFolder(scope), 'all')
            await live.commit(100, [])
            const missing: number[] = [99, 98]
            for (const { events, points, late, skips, fills, abortAfter } of steps) {
              const next = live.height + 1
              for (let height = next; height < next + skips; height++) missing.push(height)
              const own = (fills ? missing.pop() : undefined) ?? next + skips
              await live.commit(own, [...events, ...pointsOf(own, points, A, late)])
              const stop = new AbortController()
              let rows = 0
              const onRows = (count: number) => {
                rows += count
                if (abortAfter !== null && rows >= abortAfter) stop.abort()
              }
              const run = exportTo(store, folder, { ...asText, signal: stop.signal, onRows })
              if (abortAfter === null) await run
              else await run.catch((error: unknown) => assert.ok(stop.signal.aborted, String(error)))
            }
            await exportTo(store, folder, asText)
            await assertAsAtOnce(scope, store, folder, asText)
            assert.ok(!existsSync(join(folder, '_lyra.lock')))
          }),
        ),
        { seed: 1, numRuns: runsOf('service') },
      )
    })

    test('continues after it was killed', async (t) => {
      const { store, live } = await createLiveStore(t, kind)
      for (let height = 1; height <= 40; height++) {
        await live.commit(height, pointsOf(height, 200, idOf((height % 16).toString(16))))
      }
      const folder = join(temporaryFolder(t), 'all')
      const args = ['export', 'all', '--store', store, '--out', folder]
      let killed = 0
      for (const markets of [1, 4, 9]) {
        const run = startLyra(t, args)
        let hasEnded = false
        void run.outcome.then(() => {
          hasEnded = true
        })
        // Killed once it has written the folders of that many markets.
        const begun = () => (existsSync(join(folder, POINTS)) ? readdirSync(join(folder, POINTS)).length : 0)
        while (!hasEnded && begun() < markets) await new Promise((resolve) => setTimeout(resolve, 2))
        run.child.kill('SIGKILL')
        if ((await run.outcome).signal === 'SIGKILL') killed++
      }
      assert.ok(killed > 0)
      const { stdout } = await runWell(t, args)
      assert.match(stdout, /as of block 40; /)
      await assertAsAtOnce(t, store, folder)
    })

    test('keeps rows that are pruned later, and continues after them', async (t) => {
      const { store, live, folder } = await filled(t, kind, [100, 101, 102, 103, 104])
      await exportTo(store, folder)
      const before = filesOf(folder)
      await pruneStore(openStore(store), { by: 'time', before: timeOf(104) + 100n })
      await live.commit(105, pointsOf(105, 700))
      const notices: string[] = []
      await exportTo(store, folder, { onNotice: (message) => notices.push(message) })
      const after = filesOf(folder)
      for (const [name, bytes] of before) assert.ok(bytes.equals(after.get(name)!), name)
      assert.deepEqual(partsOf(folder).length, 4)
      assert.match(notices.join('\n'), /part-00002\.parquet: part of it was pruned/)
      if (!hasDuckDb()) return
      const { rows } = rowsIn(join(folder, POINTS, '*/*.parquet'))
      assert.equal(new Set(rows.map((row) => row.timestamp)).size, 3_200)
      assert.equal(rows.length, 3_200)
    })

    test('has numbers as decimals; the error for one that does not fit names its row and --text', async (t) => {
      const { store, live } = await createLiveStore(t, kind)
      const [point] = pointsOf(1, 1) as [Extract<MarketEvent, { kind: 'funding-period-data-point' }>]
      const most = '9'.repeat(38)
      const prices = ['1', '-50', '1e2', most, '7.000']
      const commit = (height: number, all: readonly string[]) =>
        live.commit(
          height,
          all.map((price, index) => ({ ...point, price, timestamp: BigInt(10 * height + index) })),
        )
      await commit(1, prices)
      const folder = temporaryFolder(t)
      const args = ['export', POINTS, '--store', store, '--oldest-first', '--format', 'parquet']
      const out = join(folder, 'points.parquet')
      await runWell(t, [...args, '--out', out])
      if (hasDuckDb()) {
        const { types, rows } = rowsIn(out)
        assert.deepEqual([types.price, types.twap], ['DECIMAL(38,0)', 'DECIMAL(38,0)'])
        assert.deepEqual(
          rows.map(({ price }) => price),
          ['1', '-50', '100', most, '7'],
        )
      }
      const all = join(folder, 'all')
      await runWell(t, ['export', 'all', '--store', store, '--out', all])
      for (const [index, unfit] of [`1${most}`, '0.5', '1e-10'].entries()) {
        await commit(2 + index, [unfit])
        for (const { target, remedy } of [
          { target: [...args, '--out', join(folder, 'unfit.parquet')], remedy: 'export with --text' },
          {
            target: ['export', 'all', '--store', store, '--out', all],
            remedy: 'export into a new directory with --text',
          },
        ]) {
          const refused = await runLyra(t, target)
          assert.equal(refused.code, 1, refused.stdout)
          const row = `market ${A}, timestamp ${20 + 10 * index}, seq 1, source 2`
          assert.equal(
            refused.stderr,
            `lyra: funding period data points: price is "${unfit}" in the row ${row}, which is not a decimal(38, 0); ${remedy}, which writes these columns as text\n`,
          )
        }
        assert.ok(!existsSync(join(folder, 'unfit.parquet')))
        await live.commit(2 + index, [])
        await runSql(store, `delete from funding_period_data_points where height = ${2 + index}`)
      }
      await commit(9, ['0.5'])
      await runWell(t, [...args, '--text', '--out', out, '--force'])
      if (hasDuckDb()) {
        const { types, rows } = rowsIn(out)
        assert.deepEqual([types.price, types.timestamp, types.seq], ['VARCHAR', 'TIMESTAMP_NS', 'BIGINT'])
        assert.deepEqual(
          rows.map(({ price }) => price),
          [...prices, '0.5'],
        )
      }
    })

    test('keeps the types of its first run', async (t) => {
      const { store, live, folder } = await filled(t, kind, [10])
      await runWell(t, ['export', 'all', '--store', store, '--text', '--out', folder])
      await live.commit(11, [{ ...pointsOf(11, 1)[0]!, price: '0.5' } as MarketEvent])
      await runWell(t, ['export', 'all', '--store', store, '--out', folder])
      if (!hasDuckDb()) return
      const { types, rows } = rowsIn(join(folder, POINTS, '*/*.parquet'))
      assert.deepEqual([types.price, rows.at(-1)!.price], ['VARCHAR', '0.5'])
    })
  })
}

describe('an export into a folder', () => {
  const kind = STORE_KINDS[0]!

  test('is refused if the folder contains anything else, and says what to do', async (t) => {
    const { store, folder } = await filled(t, kind, [10, 11])
    await exportTo(store, folder)
    await assert.rejects(exportTo(store, folder, { asText: true }), {
      name: 'ExportError',
      message: /was begun without --text and keeps its types; omit --text, or name a new directory/,
    })
    const behind = kind.create(t)
    await (await openLiveStore(t, behind)).commit(9, [])
    await assert.rejects(exportTo(behind, folder), {
      message: /was exported at block 11, but the store is at block 9/,
    })
    const other = await storeOf(t, kind, NAMED_SAMPLE)
    await assert.rejects(exportTo(other, folder), {
      message: /contains an export of chain test-chain, but the store is of core-scenarios/,
    })
    const full = temporaryFolder(t)
    writeFileSync(join(full, 'letter.txt'), 'x')
    await assert.rejects(exportTo(store, full), {
      message: /is not empty \(letter\.txt\) and contains no export to continue/,
    })
    // An empty store on a cluster already has its tables.
    const name = kind.name === 'citus' ? 'ExportError' : /Store(Unavailable)?Error/
    await assert.rejects(exportTo(kind.create(t), folder), { name })
    const notes = join(folder, POINTS, `marketId=${A}`, '_lyra.json')
    const written = readFileSync(notes, 'utf8')
    writeFileSync(notes, written.replace('"price"', '"cost"'))
    await assert.rejects(exportTo(store, folder), { message: /its files were written by another version/ })
    writeFileSync(notes, written.slice(0, -20))
    await assert.rejects(exportTo(store, folder), { message: /_lyra\.json, .* is missing or damaged/ })
    rmSync(notes)
    await assert.rejects(exportTo(store, folder), { message: /_lyra\.json, .* is missing or damaged/ })
    writeFileSync(notes, written)
    // A running process locks the folder, one that has ended does not.
    writeFileSync(join(folder, '_lyra.lock'), String(process.ppid))
    await assert.rejects(exportTo(store, folder), { message: /process \d+ is exporting to it/ })
    writeFileSync(join(folder, '_lyra.lock'), '999999999')
    await exportTo(store, folder)
  })

  test('accepts only the options that apply to all resources', async (t) => {
    const { store } = await filled(t, kind, [10])
    for (const [args, message] of [
      [[], /all: --out DIR is required/],
      [['--out', 'x', '--market', A], /--market applies to one resource only/],
      [['--out', 'x', '--format', 'csv'], /--format csv/],
      [['--out', 'x', '--times', 'iso'], /--times applies to one resource only/],
    ] as [string[], RegExp][]) {
      await assertFails(t, ['export', 'all', '--store', store, ...args], message, 2)
    }
    for (const [args, message] of [
      [['--text', '--format', 'csv'], /--text requires Parquet; the format is csv/],
      [['--times', 'iso'], /--times iso requires csv; the format is ndjson: add --format csv/],
    ] as const) {
      const refused = await runLyra(t, ['export', POINTS, '--store', store, ...args])
      assert.deepEqual([refused.code, refused.stdout], [2, ''])
      assert.match(refused.stderr, message)
    }
  })
})
