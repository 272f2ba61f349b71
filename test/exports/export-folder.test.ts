import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { withOpen } from '#core/concurrency/with-open'
import { parseDecimal, textOfDecimal } from '#core/domain/decimal'
import type { MarketEvent } from '#core/events/event'
import { RESOURCES } from '#core/resources/resources'
import { exportFolder, type FolderOptions, isWrittenByMarket } from '#service/exports/folder/export-folder'
import { lockFolder } from '#service/exports/folder/folder-lock'
import { exportTableOf } from '#service/formats/columns'
import { idOf } from '../fixtures/events/event-stream.ts'
import { storeOfGenerated } from '../fixtures/events/large-stream.ts'
import { send } from '../fixtures/requests/http.ts'
import { assertFails, runWell, startLyra } from '../fixtures/services/program.ts'
import { hasPython, PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { pruneBefore, serve, storeOf } from '../fixtures/services/service.ts'
import { NAMED_SAMPLE } from '../fixtures/shared.ts'
import { createLiveStore, openLiveStore, timeOf } from '../fixtures/stores/live-store.ts'
import {
  describeOn,
  openStore,
  runSql,
  STORE_KINDS,
  type StoreKind,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

const READ_PARQUET = join(import.meta.dirname, '../clients/read_parquet.py')
const READ_FOLDER = join(import.meta.dirname, '../clients/read_folder.py')
const hasDuckDb = () => hasPython('duckdb')

const POINTS = 'funding-period-data-points'
const [A, B] = [idOf('a'), idOf('b')]

/** Exports the current rows of a store; files contain a thousand rows. */
async function exportTo(
  store: string,
  folder: string,
  options: Partial<FolderOptions> = {},
): Promise<Awaited<ReturnType<typeof exportFolder>>> {
  return withOpen(openStore(store).openReader(), (reader) =>
    withOpen(reader.openSnapshot(), (snapshot) =>
      exportFolder({ folder, snapshot, partRows: 1_000, ...options }),
    ),
  )
}

/** The files of an export by path, without the export's own notes. */
function filesOf(folder: string): Map<string, Buffer> {
  const names = globSync('**/*.parquet*', { cwd: folder }).sort()
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}

/** Points of a block, one nanosecond apart; their times are `late` blocks earlier than it. */
function pointsOf(height: number, count: number, marketId = A, late = 0): MarketEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'funding-period-data-point' as const,
    marketId,
    seq: 1n,
    source: 2 as const,
    price: String(height),
    twap: '1',
    timestamp: timeOf(height - late) + BigInt(index) + BigInt(late),
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
  readdirSync(join(folder, POINTS, marketId)).filter((name) => name.endsWith('.parquet'))

/** A lock's content; nothing if it is gone. */
function holderOf(lock: string): string {
  try {
    return readFileSync(lock, 'utf8')
  } catch {
    return ''
  }
}

describeOn(STORE_KINDS, 'an export into a folder', (kind) => {
  test('contains every row of every resource, by market, in DuckDB too', async (t) => {
    if (skipsWithoutPython(t, 'duckdb')) return
    const store = await storeOfGenerated(t, kind, { blocks: 700, events: 0 })
    const folder = join(temporaryFolder(t), 'all')
    await runWell(t, `export all --store ${store} --out ${folder}`)
    const base = await serve(t, store)
    for (const resource of RESOURCES) {
      const { text } = await send(base, `/api/v2/export/${resource.kebabName}?format=ndjson`)
      const lines = text.split('\n').slice(0, -1)
      assert.ok(lines.length > 0)
      const byMarket = isWrittenByMarket(resource)
      const { types, rows } = rowsIn(join(folder, resource.kebabName, byMarket ? '*/*.parquet' : '*.parquet'))
      assert.equal(rows.length, lines.length)
      assert.equal(
        'marketId' in types,
        resource.fields.some(({ name }) => name === 'marketId'),
      )
      assert.equal(new Set(rows.map((row) => JSON.stringify(row))).size, lines.length)
      for (const field of resource.fields.filter(({ form }) => typeof form === 'string')) {
        const isNumber = exportTableOf(resource).columns.some(
          ({ name, decimal }) => name === field.name && decimal !== undefined,
        )
        const exact = (value: string | null | undefined) =>
          value != null && isNumber ? textOfDecimal(parseDecimal(value)!) : (value ?? null)
        const seen = rows.map((row) => exact(row[field.name])).sort()
        // DuckDB's rows are texts.
        const sent = lines.map((line) => exact(JSON.parse(line)[field.name]?.toString())).sort()
        assert.deepEqual(seen, sent, field.name)
      }
    }
  })

  test('is read whole or file by file by every library, which sees the market once', async (t) => {
    if (skipsWithoutPython(t, 'duckdb', 'pandas', 'polars', 'pyarrow')) return
    const { store, live, folder } = await filled(t, kind, [100])
    await live.commit(101, pointsOf(101, 500, B))
    await exportTo(store, folder)
    const read = spawnSync(PYTHON, [READ_FOLDER, join(folder, POINTS)], { encoding: 'utf8' })
    assert.equal(read.status, 0, read.stderr)
    const found = JSON.parse(read.stdout) as Record<string, object>
    assert.equal(Object.keys(found).length, 8)
    const columns = 'marketId seq dataPointType price timestamp twap'.split(' ')
    for (const [reader, seen] of Object.entries(found)) {
      const expected = reader.endsWith('folder')
        ? { rows: 1_000, markets: [A, B] }
        : { rows: 500, markets: [A] }
      assert.deepEqual(seen, { ...expected, columns }, reader)
    }
  })

  test('is replaced by the next one: new, late and filled rows are in it, pruned ones are not', async (t) => {
    const { store, live, folder } = await filled(t, kind, [100, 101, 102, 104])
    const first = await exportTo(store, folder)
    assert.deepEqual(partsOf(folder), ['part-00000.parquet', 'part-00001.parquet'])
    assert.deepEqual([first.rows, first.files, first.height], [2_000, 2, 104n])
    await live.commit(103, pointsOf(103, 500))
    await live.commit(301, [...pointsOf(301, 500), ...pointsOf(301, 3, B), ...pointsOf(301, 1, A, 200)])
    await pruneBefore(store, timeOf(102), 'time')
    const { rows, files } = await exportTo(store, folder)
    assert.deepEqual([rows, files], [2_003, 3])
    assert.deepEqual([partsOf(folder).length, partsOf(folder, B).length], [2, 1])
    assert.deepEqual(readdirSync(dirname(folder)), ['all'])
    if (!hasDuckDb()) return
    const found = rowsIn(join(folder, POINTS, '*/*.parquet')).rows
    assert.equal(new Set(found.map((row) => `${row.marketId} ${row.timestamp}`)).size, 2_003)
  })

  test('that is killed or interrupted leaves the one before, and the next run puts it right', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    for (let height = 1; height <= 40; height++) {
      await live.commit(height, pointsOf(height, 1_000, idOf((height % 16).toString(16))))
    }
    const folder = join(temporaryFolder(t), 'all')
    const command = `export all --store ${store} --out ${folder}`
    await runWell(t, command)
    const before = filesOf(folder)
    await live.commit(41, pointsOf(41, 200))
    const [fresh, lock] = [join(`${folder}.new`, POINTS), `${folder}.lock`]
    for (const signal of ['SIGKILL', 'SIGKILL', 'SIGINT'] as const) {
      const run = startLyra(t, command)
      let hasEnded = false
      void run.outcome.then(() => {
        hasEnded = true
      })
      const hasBegun = () => holderOf(lock) === String(run.child.pid) && existsSync(fresh)
      while (!hasEnded && !hasBegun()) await new Promise((resolve) => setTimeout(resolve, 2))
      run.child.kill(signal)
      const { code, stderr } = await run.outcome
      if (signal === 'SIGINT') {
        assert.equal(code, 130, stderr)
        assert.deepEqual(readdirSync(dirname(folder)), ['all'])
      }
      assert.deepEqual(filesOf(folder), before)
    }
    const { stdout } = await runWell(t, command)
    assert.match(stdout, /as of block 41; 16 files, 40,200 rows\.$/m)
  })

  test('ended between its two renamings is put right by the next run', async (t) => {
    const { store, live, folder } = await filled(t, kind, [10])
    await exportTo(store, folder)
    renameSync(folder, `${folder}.old`)
    mkdirSync(`${folder}.new`)
    const other = await createLiveStore(t, kind)
    await other.live.commit(9, [])
    // The earlier export counts, even if it is not in its place.
    await assert.rejects(exportTo(other.store, folder), { message: /was exported at block 10/ })
    await live.commit(11, pointsOf(11, 5))
    assert.equal((await exportTo(store, folder)).rows, 505)
    assert.deepEqual(readdirSync(dirname(folder)), ['all'])
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
    const command = `export ${POINTS} --store ${store} --oldest-first --format parquet --out ${folder}`
    const out = join(folder, 'points.parquet')
    await runWell(t, `${command}/points.parquet`)
    if (hasDuckDb()) {
      const { types, rows } = rowsIn(out)
      assert.deepEqual([types.price, types.twap], ['DECIMAL(38,0)', 'DECIMAL(38,0)'])
      assert.deepEqual(
        rows.map(({ price }) => price),
        ['1', '-50', '100', most, '7'],
      )
    }
    const all = `export all --store ${store} --out ${join(folder, 'all')}`
    await runWell(t, all)
    for (const [index, unfit] of [`1${most}`, '0.5', '1e-10'].entries()) {
      await commit(2 + index, [unfit])
      const row = `market ${A}, timestamp ${20 + 10 * index}, seq 1, source 2`
      const refusal = `lyra: funding period data points: price is "${unfit}" in the row ${row}, which is not a decimal(38, 0); export with --text, which writes these columns as text\n`
      for (const refused of [`${command}/unfit.parquet`, all]) await assertFails(t, refused, refusal, 1)
      assert.ok(!existsSync(join(folder, 'unfit.parquet')))
      await live.commit(2 + index, [])
      await runSql(store, `delete from funding_period_data_points where height = ${2 + index}`)
    }
    await commit(9, ['0.5'])
    await runWell(t, `${command}/points.parquet --text --force`)
    if (hasDuckDb()) {
      const { types, rows } = rowsIn(out)
      assert.deepEqual([types.price, types.timestamp, types.seq], ['VARCHAR', 'TIMESTAMPTZ_NS', 'BIGINT'])
      assert.deepEqual(
        rows.map(({ price }) => price),
        [...prices, '0.5'],
      )
    }
  })
})

describe('an export into a folder', () => {
  const kind = STORE_KINDS[0]!

  test('is refused if the folder contains anything else, and says what to do', async (t) => {
    const { store, folder } = await filled(t, kind, [10, 11])
    await exportTo(store, folder)
    const behind = kind.create(t)
    await (await openLiveStore(t, behind)).commit(9, [])
    await assert.rejects(exportTo(behind, folder), /was exported at block 11, but the store is at block 9/)
    const other = await storeOf(t, kind, NAMED_SAMPLE)
    await assert.rejects(exportTo(other, folder), {
      message: /contains an export of chain test-chain, but the store is of core-scenarios/,
    })
    const full = temporaryFolder(t)
    writeFileSync(join(full, 'letter.txt'), 'x')
    await assert.rejects(exportTo(store, full), {
      message: /is not empty \(letter\.txt\) and contains no export of this version/,
    })
    // An empty store on a cluster already has its tables.
    const name = kind.name === 'citus' ? 'ExportError' : /Store(Unavailable|Outdated)?Error/
    await assert.rejects(exportTo(kind.create(t), folder), { name })
    assert.deepEqual(readdirSync(full), ['letter.txt'])
    const notes = join(folder, '_lyra.json')
    const written = readFileSync(notes, 'utf8')
    for (const damaged of [written.slice(0, -20), '{"format":1,"chainId":"test-chain","height":"5"'])
      await assert.rejects(writeAndExport(damaged), { message: /contains no export of this version/ })
    writeFileSync(notes, written)
    async function writeAndExport(text: string): Promise<void> {
      writeFileSync(notes, text)
      await exportTo(store, folder)
    }
  })

  test('is refused while another export into it is in progress', async (t) => {
    const { store, folder } = await filled(t, kind, [10])
    const unlock = lockFolder(folder)
    const owner = `process ${process.pid} is exporting to it`
    const message = `${folder}: ${owner}; wait until it ends`
    await assert.rejects(exportTo(store, folder), { name: 'ExportError', message })
    unlock()
    // A killed export has left its number, which belongs to another process now.
    writeFileSync(`${folder}.lock`, String(process.ppid))
    writeFileSync(`${folder}.locked`, '')
    await exportTo(store, folder)
    assert.deepEqual(readdirSync(dirname(folder)), ['all'])
  })

  test('accepts only the options that apply to all resources', async (t) => {
    const { store } = await filled(t, kind, [10])
    for (const [command, message] of [
      ['all', 'all: --out DIR is required'],
      [`all --out x --market ${A}`, '--market applies to one resource only'],
      ['all --out x --format csv', '--format csv'],
      ['all --out x --times iso', '--times iso requires csv or ndjson'],
      ['all --out x --oldest-first', '--oldest-first applies to one resource only'],
      [`${POINTS} --text --format csv`, '--text requires Parquet; the format is csv'],
      [
        `${POINTS} --times micros`,
        '--times micros requires parquet; the format is ndjson: add --format parquet',
      ],
    ] as const) {
      await assertFails(t, `export ${command} --store ${store}`, message, 2)
    }
  })
})
