import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { DAY, formatTime, readTime } from '#core/domain/time'
import { wordsOfName } from '#core/domain/words'
import { findEventFiles } from '#core/records/event-paths'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { StoreError } from '#core/store/errors'
import {
  hasPositions,
  type NamedColumn,
  PRUNED_TABLES,
  TABLES,
  type Table,
  tableOf,
} from '#core/store/schema/tables'
import { checkAgainstFiles } from '#tools/check/check-against-files'
import { checkStore } from '#tools/check/check-store'
import { parseBound } from '#tools/cli/bound'
import { generateRecords } from '#tools/generate/generate'
import { DEFAULTS } from '#tools/generate/options'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  type Content,
  checkpoint,
  dataPoint,
  fileOf,
  fundingPeriod,
  idOf,
  PARTY,
  partOf,
  payments,
  readRecording,
} from '../fixtures/events/event-stream.ts'
import { blocksOf, importBlocks } from '../fixtures/imports/import-blocks.ts'
import { getPage, metricsOf } from '../fixtures/requests/http.ts'
import { RESOURCE_CASES } from '../fixtures/resources/resource-cases.ts'
import { runsOf, sampled, scaled } from '../fixtures/sampling.ts'
import { inScope } from '../fixtures/scope.ts'
import { addressOf, assertFails, end, runLyra, runWell, startLyra } from '../fixtures/services/program.ts'
import {
  copied,
  ingest,
  pruneBefore,
  SILENT,
  serve,
  storeOf,
  storeOfBytes,
  tryIngest,
} from '../fixtures/services/service.ts'
import { HEIGHT, MARKET, SAMPLE } from '../fixtures/shared.ts'
import { assertSound, checkWithFiles, problemsOf } from '../fixtures/stores/check.ts'
import { assertSameDump, dumpStore, ORDER_COLUMNS } from '../fixtures/stores/dump-store.ts'
import { openLiveStore, pointAt } from '../fixtures/stores/live-store.ts'
import {
  fileWith,
  openReader,
  openStore,
  runSql,
  STORE_KINDS,
  sqlite,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

for (const kind of STORE_KINDS) {
  test(`pruning old rows of a store in ${kind.name} runs beside a writer and readers, which never wait for long`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const reader = await openReader(t, store)
    const commitPoint = await openForPoints(t, store)
    const blocks = scaled(40, 400)
    let isDone = false
    const pruning = pruneBefore(store, 300n).finally(() => {
      isDone = true
    })
    let longest = 0
    const timed = async (work: () => Promise<unknown>) => {
      const startedAt = performance.now()
      await work()
      longest = Math.max(longest, performance.now() - startedAt)
    }
    const reading = (async () => {
      const page = { descending: true, cursor: null, limit: 50 }
      while (!isDone) {
        await timed(() =>
          reader.page({ ...page, resource: fundingPeriodDataPoints, selection: { marketId: MARKET } }),
        )
        await sleep(1)
      }
    })()
    for (let block = 0; block < blocks; block++) await timed(commitPoint)
    await Promise.all([pruning, reading])
    assert.ok(longest < 1_000, `${longest} ms`)
    await assertSound(store)
    const { funding_period_data_points: points, checkpoints } = await dumpStore(store)
    assert.deepEqual([points!.length, checkpoints!.length], [2_298 - 749 + blocks, 36 - 11])
  })

  describe(`checking a store in ${kind.name}`, () => {
    test('finds no problem in a store of random events', async () => {
      const events = fc.tuple(...RESOURCE_CASES.map(({ events }) => fc.array(events, { maxLength: 12 })))
      await fc.assert(
        fc.asyncProperty(events, (lists) =>
          inScope(async (scope) => {
            const store = kind.create(scope)
            const live = await openLiveStore(scope, store)
            for (const list of lists) await live.commit(live.height + 1, list)
            await assertSound(store)
            await pruneBefore(store, 2n, 'time')
            await assertSound(store)
          }),
        ),
        { numRuns: runsOf('service'), seed: 1 },
      )
    })

    const PROVIDER = `liquidity_providers (${MARKET}, 40ce9db7e9d960d092ff850d6b4a3a93926a64f12ac5d86ff02ef05feb3cacb4)`
    const AUCTIONED = '669608F2BA72421EFA379B5272A55095EE2803BA2C885CC95BD5ACF37D7BD08C'
    const POINT = `market = (select market from markets where market_id = '${MARKET}') and source = 2 and seq = 3`
    const damages: [what: string, sql: string, problem: string][] = [
      [
        'a span without points',
        'insert into funding_period_spans values (1, 777, 5, 6, 1)',
        'funding_period_spans (1, 777): only in the store',
      ],
      [
        'a span of a market without points',
        `insert into markets values (99, '${'f'.repeat(64)}'); insert into funding_period_spans values (99, 7, 5, 6, 1)`,
        'funding_period_spans (99, 7): only in the store',
      ],
      [
        'buckets that should not be there yet',
        'update funding_period_series_made set made_to = made_to - 10',
        'funding_period_series (1, 1, 30, 56550020): it is not made yet',
      ],
      [
        'a row above the position',
        'update stream set height = 890',
        'checkpoints (900, fe7627f115f13dfd52af101c3008c95bb440312c07fdc1e942eb10ba414a5d97): it comes from block 900, but the last stored block is 890',
      ],
      [
        'a row below the first block',
        'update stream set first_height = 20',
        'funding_period_data_points (1, 1, 1696500005000000000, 0): it comes from block 6, but the first stored block is 20',
      ],
      [
        'a point of a missing market',
        `update markets set market = 77 where market_id = '${MARKET}'`,
        'funding_period_data_points (1, 1, 1696500005000000000, 0): there is no market 1',
      ],
      [
        'rows within a gap',
        "insert into gaps values (20, 30, 'missing', null, null)",
        'checkpoints (25, 08a705c8f4fd4e994b7bba5494291ee1b13a24c0ced25aeec2e5467886539302): it comes from block 25, which is recorded as missing',
      ],
      [
        'gaps that overlap',
        "insert into gaps values (20, 20, 'incomplete', null, null); insert into gaps values (10, 25, 'incomplete', null, null)",
        'gaps (20): it begins at or before 25',
      ],
      [
        'a gap above the last block',
        "insert into gaps values (906, 910, 'missing', null, null)",
        'gaps (906): it ends, at 910, beyond the last block, 905',
      ],
      [
        'an invalid price',
        `update funding_period_data_points set price = 'x' where ${POINT}`,
        'funding_period_data_points (1, 2, 1696500181000000000, 3): price is "x"',
      ],
      [
        'an id in upper case',
        // A cluster does not change the column by which it distributes rows.
        `insert into auctions (market_id, height, event_index, opening_auction, leave, start_timestamp, end_timestamp)
            select upper(market_id), height, event_index, opening_auction, leave, start_timestamp, end_timestamp
            from auctions where market_id like '66%';
          delete from auctions where market_id like '66%' and market_id = lower(market_id)`,
        `auctions (${AUCTIONED}, 1, 6): market_id is "${AUCTIONED}"`,
      ],
      [
        'providers without a list',
        `delete from liquidity_provider_lists where market_id = '${MARKET}'`,
        `${PROVIDER}: its market has no list of providers`,
      ],
      [
        "another party's fee share",
        `update liquidity_providers set fee_share = '{"party":"x"}' where market_id = '${MARKET}'`,
        `${PROVIDER}: fee_share is not an element of this party: {"party":"x"}`,
      ],
      [
        'rows without a position',
        'delete from stream',
        'checkpoints: 36 rows, although the store has ingested no block',
      ],
    ]
    test('finds problems, and names their places', async (t) => {
      for (const [what, sql, problem] of sampled('change', damages, kind)) {
        const store = await storeOf(t, kind, SAMPLE)
        await runSql(store, sql)
        const told = (await problemsOf(store)).map(({ where, what }) => `${where}: ${what}`)
        assert.ok(told.includes(problem), `${what}: ${told.slice(0, 3).join('\n')}`)
      }
    })

    test('accepts spans of blocks that are wider than their points, or have no points', async (t) => {
      const store = await storeOf(t, kind, SAMPLE)
      await runSql(
        store,
        `update funding_period_block_spans set first_timestamp = first_timestamp - 1, last_timestamp = last_timestamp + 1;
        insert into funding_period_block_spans values (1, 777, 5, 6)`,
      )
      await assertSound(store)
    })

    test('finds any changed cell that events make, with their files, and any that other rows determine, without', async (t) => {
      const records = generateRecords({ blocks: 700, markets: 2, points: 2, parties: 3, events: 2 })
      // Payments of later days, so that the sums of some are stored.
      const days = [701, 702, 703].map((height) => ({
        height,
        chain: DEFAULTS.chain,
        time: BigInt(height) * 100n * DAY,
        events: [payments([[PARTY, '5']], { seq: height }), payments([[idOf('e'), '-3']], { seq: height })],
      }))
      const path = fileWith(t, Buffer.concat([...records, fileOf(...days)]))
      const made = (scope: TestContext) =>
        copied(scope, kind, path, async (first) => {
          const store = kind.create(first)
          await ingest(store, path)
          return store
        })
      const { rows: counts } = await checkStore(openStore(await made(t)))
      const derived = [
        ...['funding_period_spans', 'funding_period_block_spans', 'funding_period_series'].map(tableOf),
        ...TABLES.filter(({ isDerived }) => isDerived),
      ]
      const rounds = [true, false].flatMap((isGiven) =>
        Array.from({ length: 12 }, (_, round) => ({ isGiven, round })),
      )
      for (const { isGiven, round } of sampled('change', rounds, kind)) {
        const store = await made(t)
        const expected: [table: string, what: string][] = []
        const ofEvents = TABLES.filter((table) => hasPositions(table) && !table.isDerived)
        for (const table of isGiven ? ofEvents : derived) {
          for (const [index, column] of table.columns.entries()) {
            // Without a list from the same event its providers are not compared.
            const turn = table.name === 'liquidity_provider_lists' ? index + 8 : index
            if (turn % 12 !== round || ORDER_COLUMNS[table.name]?.includes(column.name)) continue
            if (kind.name === 'citus' && column.name === table.distribution) continue
            const isKey = index < table.keyLength
            await runSql(
              store,
              changeOf(table, column, isKey, (7_919 + Math.floor(index / 12)) % counts[table.name]!),
            )
            const missing = isGiven ? 'only in the files' : 'only in a calculation'
            expected.push([`${table.name} (`, isKey ? missing : `${column.name} is `])
          }
        }
        const told = isGiven ? (await checkWithFiles(store, path)).told : await problemsOf(store)
        for (const [table, part] of expected) {
          const isTold = told.some(({ where, what }) => where.startsWith(table) && what.startsWith(part))
          assert.ok(isTold, `${table} ${part}: ${JSON.stringify(told)}`)
        }
      }
    })

    test('compares only blocks that are complete on both sides, and counts rows that may differ by reason', async (t) => {
      const part = fileWith(
        t,
        partOf(SAMPLE, (height) => (height >= 100 && height < 400) || (height >= 500 && height < 900)),
      )
      const whole = await storeOf(t, kind, SAMPLE)
      const checked = async (store: string, path: string, reasons: string[]) => {
        const { told, notes, compared } = await checkWithFiles(store, path)
        assert.deepEqual(told, [])
        const counted = Object.values(compared!.allowed).flatMap((counts) => Object.keys(counts))
        assert.deepEqual([...new Set(counted)].sort(), reasons)
        return { heights: compared!.heights, notes: notes.join('\n') }
      }
      const { heights } = await checked(whole, part, ['notInFiles', 'otherList'])
      assert.deepEqual(
        heights.map(({ from, to }) => `${from} ${to}`),
        ['100 399', '500 899'],
      )
      const store = kind.create(t)
      assert.equal((await tryIngest(store, part, { allowGap: true })).failure, null)
      const ofPart = await checked(store, SAMPLE, ['notInStore', 'otherList'])
      assertSays(ofPart.notes, 'contain blocks 1 to 99, which the store does not')
      for (const [before, by] of [[300n], [1696500700000000000n, 'time']] as const) {
        await pruneBefore(store, before, by)
        await checked(store, SAMPLE, ['notInStore', 'otherList', 'pruned'])
      }
      const differs = async (store: string, path: string, sql: string, expected: RegExp) => {
        await runSql(store, sql)
        const [problem, ...others] = (await checkWithFiles(store, path)).told
        assert.deepEqual(others, [])
        assert.match(`${problem!.where}: ${problem!.what}`, expected)
      }
      const [market] = (await dumpStore(whole)).market_data!.map((row) => JSON.parse(row)[0])
      await runSql(
        whole,
        `delete from market_data where market_id = '${market}';
        insert into since select 'marketData', height + 1, timestamp from stream`,
      )
      await checked(whole, SAMPLE, ['since'])
      await differs(
        whole,
        SAMPLE,
        'update since set height = 2',
        /^market_data \(.*: only in the files \(block /,
      )

      await runSql(whole, 'update since set height = height + 1000')
      await differs(
        whole,
        SAMPLE,
        'update stream set timestamp = timestamp + 1',
        /^stream: the last block has time /,
      )

      // A data node keeps the last of two points, and no nanoseconds.
      const [lost, point, other] = [100, 300, 400].map((nanos, index) =>
        dataPoint({ timestamp: 5_000_000_000 + nanos, price: `${index}`, seq: index === 2 ? 4 : 3 }),
      ) as [Content, Content, Content]
      const first = {
        height: 5,
        events: [lost, point, other, fundingPeriod({ start: 1, end: 5_000_000_300 })],
      }
      const rest = [{ height: 6 }, { height: 7, events: [other] }]
      const imported = kind.create(t)
      await importBlocks(imported, blocksOf(fileOf(first)), { from: 5n, to: 5n })
      await tryIngest(imported, fileOf(...rest))
      const file = fileWith(t, fileOf(first, ...rest))
      const repeated = await checked(imported, file, ['notInStore', 'repeated'])
      assertSays(repeated.notes, 'imported block 5: ... not compared')
      await checked(imported, fileWith(t, fileOf({ ...first, without: [3] }, { height: 6 })), [
        'notInFiles',
        'notInStore',
      ])
      await differs(
        imported,
        file,
        'update funding_periods set end_timestamp = end_timestamp + 1000',
        /^funding_periods .*: end_timestamp is "5000001000" in the store and "5000000300" in the files$/,
      )
    })

    test('allows the row of an earlier block that arrived after the later row with its key was pruned', async (t) => {
      const paid = (height: number, amount: string) => ({
        height,
        events: [payments([[PARTY, amount]], { seq: 1 }), checkpoint({ atBlock: 1, blockHash: `${height}` })],
      })
      const store = await storeOfBytes(t, kind, fileOf({ height: 1 }))
      await ingest(store, fileOf(paid(3, '-5'), { height: 4 }), { allowGap: true })
      await pruneBefore(store, 4n)
      await ingest(store, fileOf(paid(2, '5')))
      const file = fileWith(t, fileOf({ height: 1 }, paid(2, '5'), paid(3, '-5'), { height: 4 }))
      const { told, compared } = await checkWithFiles(store, file)
      assert.deepEqual(told, [])
      assert.deepEqual(
        ['funding_payments', 'checkpoints'].map((table) => compared!.allowed[table]!.pruned),
        [1, 1],
      )
    })

    test('files of another chain, files of other blocks, and damaged files are reported', async (t) => {
      const store = await storeOf(t, kind, SAMPLE)
      const chain = 'core-scenarios'
      const elsewhere =
        /no block is in both\. .* of chain core-scenarios; the event files: block 5 of chain other-chain$/
      for (const [bytes, isCompared, message] of [
        [fileOf({ height: 5, chain: 'other-chain' }), false, elsewhere],
        [fileOf({ height: 5_000, chain }), false, /^nothing to compare: no block is in both\./],
        [Buffer.concat([readRecording(SAMPLE), Buffer.alloc(99)]), true, 'some.evts, record 7882'],
      ] as const) {
        const { told, compared } = await checkWithFiles(store, fileWith(t, bytes))
        assert.equal(compared !== null, isCompared)
        assertSays(told.map(({ what }) => what).join('\n'), message)
      }
    })
  })
}

/** SQL that changes a column of the row at an offset, in the order of the key. */
function changeOf(table: Table, { name, type }: NamedColumn, isKey: boolean, offset: number): string {
  // Not towards a wider span, or a block that is not there.
  const by = isKey ? 1_000 : ['height', 'event_index', 'last_timestamp'].includes(name) ? -1 : 1
  const number = type === 'boolean' ? `not ${name}` : `coalesce(${name}, 0) + ${by}`
  // Ids of 64 characters stay as long.
  const text = isKey
    ? `substr(${name}, 1, length(${name}) - 1) || case when ${name} like '%0' then '1' else '0' end`
    : `coalesce(${name}, '') || '1'`
  const value = type === 'boolean' || type === 'integer' ? number : text
  const key = table.columns.slice(0, table.keyLength).map((column) => column.name)
  return `update ${table.name} set ${name} = ${value} where (${key}) in (
    select ${key} from ${table.name} order by ${key} limit 1 offset ${offset})`
}

/** Opens a store for blocks after those that it has, each with one data point. */
async function openForPoints(t: TestContext, store: string): Promise<() => Promise<void>> {
  const live = await openLiveStore(t, store)
  return () => live.commit(live.height + 1, [pointAt(live.height + 1, { marketId: MARKET })])
}

test('a damaged SQLite file is reported, whichever database page is damaged', async (t) => {
  const folder = temporaryFolder(t)
  const bytes = readFileSync(await storeOf(t, sqlite, SAMPLE))
  const pages = Array.from({ length: bytes.length / 4096 }, (_, page) => page)
  for (const page of sampled('change', pages.slice(1))) {
    const damaged = join(folder, `damaged-${page}.db`)
    const copy = Buffer.from(bytes)
    copy.fill(0xa5, page * 4096, page * 4096 + 200)
    writeFileSync(damaged, copy)
    try {
      const { problems } = await checkStore(openStore(damaged))
      assert.ok(problems.count > 0, `page ${page} of ${pages.length}`)
    } catch (error) {
      // A page of the schema: SQLite cannot find any table then.
      assert.ok(error instanceof StoreError, `page ${page} of ${pages.length}: ${error}`)
      assertSays(error.message, 'the file is damaged')
    }
  }
})

describe('lyra check', () => {
  test('prints a report, as text and as JSON', async (t) => {
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    const people = await runWell(t, `check --store ${store}`)
    assert.match(people.stdout, /2,717 rows checked\nNo problems found\.\n$/)
    const folder = temporaryFolder(t)
    const machines = await runLyra(t, `check --json --store ${store} ${SAMPLE}`, {
      env: { TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1' },
    })
    assert.equal(machines.code, 0)
    const { ok, problemCount, problems, rows, compared } = JSON.parse(machines.stdout)
    assert.deepEqual([ok, problemCount, problems], [true, 0, []])
    assert.equal(rows.funding_period_data_points, 2_298)
    assert.deepEqual(compared.heights, [{ from: '1', to: HEIGHT }])
    assert.deepEqual(readdirSync(folder), [])
  })

  test('does not compare a store that gets a market meanwhile', async (t) => {
    const events = [dataPoint({ timestamp: 5 })]
    const path = fileWith(t, fileOf({ height: 5, events }))
    const store = sqlite.create(t)
    await tryIngest(store, fileOf({ height: 5 }))
    const check = await checkStore(openStore(store))
    const onStep = () => void runSql(store, `insert or ignore into markets values (1, '${'b'.repeat(64)}')`)
    const options = { logger: SILENT, signal: new AbortController().signal, temp: tmpdir(), onStep }
    const compared = await checkAgainstFiles(openStore(store), findEventFiles([path]), check, options)
    assert.equal(compared, null)
    assert.match(check.problems.reported[0]!.what, /market a+ has appeared meanwhile/)
  })

  test('refuses a directory without room for the temporary store', async (t) => {
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    const temp = temporaryFolder(t)
    const check = `check --store ${store} --temp ${temp}`
    const unwritable = /no temporary file can be written in \S+nowhere \(.*--temp/
    await assertFails(t, `${check}/nowhere ${SAMPLE}`, unwritable, 1)
    const large = fileWith(t, '')
    truncateSync(large, 2 ** 43)
    const full = /may take \d+ MB of disk, but \d+ MB are free; name .*--temp/
    await assertFails(t, `${check} ${large}`, full, 1)
  })
})

/** A report of pruned rows, by name; all others are 0. */
function prunedRows(rows: Record<string, number>): Record<string, number> {
  const known = PRUNED_TABLES.map(({ counted }) => counted)
  for (const name of Object.keys(rows)) assert.ok(known.includes(name), name)
  return { ...Object.fromEntries(known.map((name) => [name, 0])), ...rows }
}

/** The same in words: `11 checkpoints, 1 funding period data point, 0 funding payments`. */
const prunedText = (rows: Record<string, number>) =>
  Object.entries(prunedRows(rows))
    .map(([name, count]) => `${count} ${wordsOfName(count === 1 ? name.slice(0, -1) : name)}`)
    .join(', ')

describe('lyra prune', () => {
  test('says how it reads --before, deletes, and reports; never everything', async (t) => {
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    for (const [before, message] of [
      ['906', 'block 906 is later than the last block (block 905)..., or a time such as 2026'],
      ['1696500904000000001', '2023-10-05T10:15:04.000000001Z is later...would delete everything'],
    ] as const)
      await assertFails(t, `prune --store ${store} --before ${before}`, `--before ${message}`, 1)
    const counted = await runLyra(t, `prune --dry-run --store ${store} --before 300`)
    const old = prunedText({ checkpoints: 11, fundingPeriodDataPoints: 749 })
    assert.match(counted.stdout, new RegExp(`^Would be deleted .*: ${old}\\.\\n$`))
    const byHeight = await runWell(t, `prune --store ${store} --before 300`)
    assertSays(byHeight.stderr, '--before means block 300')
    assertSays(byHeight.stdout, `older than block 300: ${old}.\n`)
    const byTime = await runLyra(t, `prune --json --store ${store} --before 2023-10-05T12:10:04+02:00`)
    assertSays(byTime.stderr, '--before means 2023-10-05T10:10:04Z')
    assert.deepEqual(JSON.parse(byTime.stdout), {
      by: 'time',
      before: '1696500604000000000',
      dryRun: false,
      ...prunedRows({ checkpoints: 13, fundingPeriodDataPoints: 782 }),
      interrupted: false,
    })
  })

  test('leaves space in a SQLite file that VACUUM frees while the file is in use', async (t) => {
    const store = sqlite.create(t)
    const part = (isIn: (height: number) => boolean) => ingest(store, partOf(SAMPLE, isIn))
    await part((height) => height <= 700)
    // Old rows that make the file large.
    await runSql(
      store,
      `insert into funding_periods (market_id, seq, start_timestamp, height, event_index)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        select printf('%064x', i), i, i, 1, 1 from n`,
    )
    await runSql(store, "delete from funding_periods where market_id < '1'")
    const base = await serve(t, store)
    const path = `/api/v2/funding-periods/data-points/${MARKET}`
    const before = await getPage(base, path, 'pagination.first=5000')
    const large = statSync(store).size
    const snapshot = await (await openStore(store).openReader()).openSnapshot()
    await runSql(store, 'pragma busy_timeout = 60000; vacuum')
    await snapshot.close()
    await runSql(store, 'pragma wal_checkpoint(truncate)')
    assert.ok(statSync(store).size < large / 2, `${large} to ${statSync(store).size}`)
    assert.deepEqual(await getPage(base, path, 'pagination.first=5000'), before)
    await part((height) => height > 700)
    await assertSound(store)
    const after = await getPage(base, path, 'pagination.first=5000')
    assert.ok(after.edges.length > before.edges.length)
  })

  test('serve --keep deletes rows that are older than the last block by that age, as prune does; metrics show if it cannot', async (t) => {
    // The block is at 10,000 s; one point is at 1 ns, the other a second before the block.
    const events = [dataPoint({ timestamp: 1 }), dataPoint({ timestamp: 9_999_000_000_000 })]
    const store = await storeOfBytes(t, sqlite, fileOf({ height: 10_000, events }))
    const counted = await runLyra(t, `prune --dry-run --store ${store} --before 1h`)
    assertSays(counted.stderr, '--before means 1970-01-01T01:46:40Z')
    const old = prunedText({ fundingPeriodDataPoints: 1 })
    assertSays(counted.stdout, `: ${old}.\n`)
    const keep = () => startLyra(t, `serve --store ${store} --port 0 --keep 1h`)
    await runSql(
      store,
      `create trigger kept before delete on funding_period_data_points begin select raise(abort, 'kept'); end`,
    )
    const failing = keep()
    const base = await addressOf(failing)
    await failing.printed('old rows cannot be pruned')
    assert.match(await metricsOf(base), /^lyra_prune_failed 1$/m)
    await end(failing)
    await runSql(store, 'drop trigger kept')
    const service = keep()
    await service.printed(`pruned, older than 1970-01-01T01:46:40Z: ${old}`)
    await end(service)
    assert.equal((await dumpStore(store)).funding_period_data_points!.length, 1)
    await assertSound(store)
  })
})

describe('the bound that --before means', () => {
  const refused = (text: string): [string, RegExp] => [text, /./]
  const cases: [text: string, bound: string | RegExp][] = [
    ['0', 'height 0'],
    ['999999999999999', 'height 999999999999999'],
    ['1000000000000000', 'time 1000000000000000'],
    ['1696500904000000000', 'time 1696500904000000000'],
    ['2023-10-05T10:15:04Z', 'time 1696500904000000000'],
    ['2023-10-05t10:15:04.000000001z', 'time 1696500904000000001'],
    ['2023-10-05T12:15:04.5+02:00', 'time 1696500904500000000'],
    ['1969-12-31T23:59:59.9Z', 'time -100000000'],
    ['2024-02-29T00:00:00Z', 'time 1709164800000000000'],
    ['2023-10-05', 'time 1696464000000000000'],
    ['2023-10-05T10:15:04', /no zone: for UTC write 2023-10-05T10:15:04Z\./],
    ['2023-02-29', /There is no 2023-02-29\./],
    ['0001-01-01', /Nanoseconds of 64 bits end in 1677 and 2262\./],
    ['2262-04-11T23:47:17Z', /Nanoseconds of 64 bits end in 1677 and 2262\./],
    ['2262-04-11T23:47:16.854775807Z', 'time 9223372036854775807'],
    ...['', '-5', '1e9', '9223372036854775808', '2023-02-29T00:00:00Z', '2023-10-05T24:00:00Z'].map(refused),
    ...['2023-10-05T23:59:60Z', '2023-10-05T10:15:04.0000000001Z', '2023-10-05T10:15:04+24:00'].map(refused),
  ]
  test('is a height, a time or a day', () => {
    for (const [text, expected] of cases) {
      const parsed = () => Object.values(parseBound(text)).join(' ')
      if (typeof expected === 'string') assert.equal(parsed(), expected, text)
      else assert.throws(parsed, expected, text)
    }
  })

  test('a printed time is parsed to the same bound', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (time) => {
        assert.deepEqual(readTime(formatTime(time)), { time })
      }),
    )
  })
})

describe('lyra backup', () => {
  test('copies a store that is being written to, as of one moment, and the copy is sound', async (t) => {
    const folder = temporaryFolder(t)
    const store = await storeOf(t, sqlite, SAMPLE)
    const copy = join(folder, 'copy.db')
    const before = await dumpStore(store)
    const commitPoint = await openForPoints(t, store)
    const writing = (async () => {
      for (let block = 0; block < 200; block++) {
        await commitPoint()
        await sleep(0)
      }
    })()
    await assert.rejects(openStore(store).backup!(copy, { signal: AbortSignal.abort() }), {
      name: 'AbortError',
    })
    assert.deepEqual(readdirSync(folder), [])
    await openStore(store).backup!(copy)
    await writing
    await assertSound(copy)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('partial')),
      [],
    )
    const copied = await dumpStore(copy)
    const growing = {
      stream: [],
      funding_period_spans: [],
      funding_period_block_spans: [],
      funding_period_data_points: [],
    }
    assertSameDump({ ...copied, ...growing }, { ...before, ...growing }, 'copy')
    const [stream] = copied.stream!.map((row) => JSON.parse(row) as string[])
    const blocks = Number(stream![3]) - Number(HEIGHT)
    assert.equal(copied.funding_period_data_points!.length, 2_298 + blocks)
    const report = await ingest(copy, SAMPLE)
    assert.equal(report.heldBlocks, 905)
  })

  test('is made by one run at a time', async (t) => {
    const folder = temporaryFolder(t)
    const store = await storeOf(t, sqlite, SAMPLE)
    const copy = join(folder, 'copy.db')
    const runs = [1, 2, 3].map(() => openStore(store).backup!(copy, { force: true }))
    const refusals = (await Promise.allSettled(runs)).filter((run) => run.status === 'rejected')
    assert.equal(refusals.length, 2)
    for (const { reason } of refusals) assert.match(reason.message, /copy\.db: another process is writing it/)
    assert.deepEqual(readdirSync(folder), ['copy.db'])
    await assertSound(copy)
  })

  test('does not replace a file unless asked to, and never a store in use', async (t) => {
    const folder = temporaryFolder(t)
    const store = await storeOf(t, sqlite, SAMPLE)
    const copy = join(folder, 'copy.db')
    writeFileSync(copy, 'something else')
    const backup = `backup --store ${store} ${copy}`
    await assertFails(t, backup, /^lyra: .*copy\.db: already exists; .*--force to overwrite it\n$/, 1)
    assert.equal(readFileSync(copy, 'utf8'), 'something else')
    const forced = await runWell(t, `${backup} --force`)
    assert.match(forced.stdout, /^Copied .* lyra check --store .*copy\.db\n$/)
    await assertSound(copy)
    await assert.rejects(openStore(store).backup!(store, { force: true }), /this is the store itself/)
    await assert.rejects(openStore(store).backup!(join(folder, 'no/such.db')), /the folder does not exist/)
    await (await openForPoints(t, copy))()
    await assert.rejects(openStore(store).backup!(copy, { force: true }), /may be a store in use/)
    await assert.rejects(openStore(join(folder, 'no.db')).backup!(copy), /no\.db: no such file/)
  })

  test('prints the pg_dump command for PostgreSQL, without the password', async (t) => {
    const address = 'postgres://me:secret@db.example:5433/markets?sslmode=require&schema=lyra2'
    const { code, stderr } = await runLyra(t, ['backup', "it's.dump", '--store', address])
    assert.equal(code, 1)
    assert.ok(!stderr.includes('secret'))
    assert.equal(
      /pg_dump .*$/m.exec(stderr)![0],
      `pg_dump --format=custom --schema=lyra2 --file='it'\\''s.dump' 'postgres://me@db.example:5433/markets?sslmode=require'`,
    )
  })
})

test('a SQLite file that was copied by hand and then pruned still accepts its own WAL', async (t) => {
  const folder = temporaryFolder(t)
  const store = await storeOf(t, sqlite, SAMPLE)
  copyFileSync(store, join(folder, 'older.db'))
  const commitPoint = await openForPoints(t, store)
  await commitPoint()
  await pruneBefore(store, 500n)
  await commitPoint()
  // As after a crash: the file and its WAL, then opened by another process.
  for (const ending of ['', '-wal']) copyFileSync(`${store}${ending}`, join(folder, `crashed.db${ending}`))
  await assertSound(join(folder, 'crashed.db'))
  assertSameDump(await dumpStore(join(folder, 'crashed.db')), await dumpStore(store), 'crashed')
})
