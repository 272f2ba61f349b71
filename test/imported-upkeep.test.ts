import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { CoverageBody } from '../src/api/questions/coverage-body.ts'
import { checkAgainstFiles } from '../src/check/check-against-files.ts'
import { checkStore } from '../src/check/check-store.ts'
import { describeStatus } from '../src/cli/describe-status.ts'
import { describeVerification } from '../src/cli/describe-verification.ts'
import { findEventFiles } from '../src/records/event-paths.ts'
import { statusOfService } from '../src/status/service-status.ts'
import { statusOfStore } from '../src/status/status.ts'
import { copyStore } from '../src/store/copy-store.ts'
import { pruneStore } from '../src/store/pruning/prune-store.ts'
import { verifyStore } from '../src/verify/verify-store.ts'
import { accessibilityFaults, eventually, openBrowser, openPage, overflow } from './fixtures/browser.ts'
import { digestStore } from './fixtures/digest-store.ts'
import { assertSameDump, dumpStore } from './fixtures/dump-store.ts'
import {
  dataPoint,
  fileOf,
  joinRecords,
  type MadeBlock,
  marketData,
  perpetual,
  provision,
  readRecording,
  recordsOf,
} from './fixtures/event-stream.ts'
import { ETH } from './fixtures/explorer.ts'
import { query, send } from './fixtures/http.ts'
import { blocksOf, importBlocks } from './fixtures/import-blocks.ts'
import { ingestWell } from './fixtures/ingest-bytes.ts'
import { runSql } from './fixtures/raw-sql.ts'
import { SILENT, serve } from './fixtures/service.ts'
import { recordingPath, SAMPLE } from './fixtures/shared.ts'
import { openStore, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

const NEVER = new AbortController().signal

/** A store of the sample whose first blocks are imported; its other blocks come from events. */
async function halfImported(test: TestContext, kind: StoreKind, path = SAMPLE, to = 450): Promise<string> {
  const store = kind.create(test)
  const bytes = readRecording(path)
  await importBlocks(store, blocksOf(bytes), { from: 1n, to: BigInt(to) })
  await ingestWell(test, store, joinRecords(recordsOf(bytes).filter(({ height }) => height > to)))
  return store
}

/** A block, with a point of its time. */
const block = (height: number): MadeBlock => ({
  height,
  events: [dataPoint({ timestamp: height * 1_000_000_000 })],
})

async function checkWithFiles(store: string, path: string) {
  const check = await checkStore(openStore(store))
  const options = { log: SILENT, signal: NEVER }
  const compared = await checkAgainstFiles(openStore(store), findEventFiles([path]), check, options)
  return { told: check.problems.reported, notes: check.notes, compared }
}

for (const kind of STORE_KINDS) {
  describe(`a store with imported blocks (${kind.name})`, () => {
    test('says so in coverage and status, and is ready', async (t) => {
      const store = await halfImported(t, kind)
      const base = await serve(t, store)
      const { coverage } = JSON.parse((await send(base, '/api/v2/coverage')).text) as CoverageBody
      assert.deepEqual(coverage.blocks.ranges, [{ from: '451', to: '905' }])
      assert.deepEqual(coverage.blocks.imported, [{ from: '1', to: '450' }])
      assert.deepEqual(coverage.blocks.gaps, [])
      assert.equal((await send(base, '/ready')).status, 200)
      const [ofStore, ofService] = [await statusOfStore(openStore(store)), await statusOfService(base)]
      assert.deepEqual(ofService.coverage, ofStore.coverage)
      for (const report of [ofStore, ofService]) {
        assert.match(describeStatus(report), /imported blocks +1 to 450\n.*event files replace them\n/)
      }
    })

    test('lists more ranges than one answer holds in several, every height once', async (t) => {
      const store = kind.create(t)
      const heights = Array.from({ length: 5_600 }, (_, index) => 10 + index)
      const isMissing = (height: number) => height % 5 === 4
      const made = blocksOf(fileOf(...heights.filter((height) => !isMissing(height)).map(block)))
      await importBlocks(store, made, { from: 10n, to: 6_000n })
      const fromEvents = heights.filter((height) => height > 3_000 && height % 5 < 2)
      await ingestWell(t, store, fileOf(...fromEvents.map(block)), { allowGap: true })
      const base = await serve(t, store)
      const parts: CoverageBody['coverage'][] = []
      for (let after: string | null = ''; after !== null; after = parts.at(-1)!.next) {
        const params: [string, string][] = after === '' ? [] : [['after', after]]
        const { text } = await send(base, `/api/v2/coverage${query(params)}`)
        parts.push((JSON.parse(text) as CoverageBody).coverage)
      }
      assert.equal(parts.length, 2)
      for (const { blocks } of parts) {
        for (const list of [blocks.ranges, blocks.gaps, blocks.imported]) assert.ok(list.length <= 1_000)
      }
      const kinds = new Map<number, string>()
      for (const { blocks } of parts) {
        for (const name of ['ranges', 'gaps', 'imported'] as const) {
          for (const { from, to } of blocks[name]) {
            for (let height = Number(from); height <= Number(to); height++) {
              assert.ok(!kinds.has(height), `${height} comes once`)
              kinds.set(height, name)
            }
          }
        }
      }
      for (const height of heights.slice(0, -1)) {
        const isFromEvents = height > 3_000 && height % 5 < 2
        const expected = isMissing(height) ? 'gaps' : isFromEvents ? 'ranges' : 'imported'
        assert.equal(kinds.get(height), expected, String(height))
      }
      assert.deepEqual(
        (await statusOfService(base)).coverage,
        (await statusOfStore(openStore(store))).coverage,
      )
    })

    test('is copied and pruned as others are, and event files replace what is left', async (t) => {
      const store = await halfImported(t, kind)
      const copy = kind.create(t)
      await copyStore(openStore(store), openStore(copy))
      assert.deepEqual(await digestStore(copy, true), await digestStore(store, true))
      if (kind.name === 'sqlite') {
        const backup = join(temporaryFolder(t), 'backup.db')
        await openStore(store).backup(backup)
        assert.deepEqual(await digestStore(backup, true), await digestStore(store, true))
      }
      await ingestWell(t, copy, readRecording(SAMPLE))
      const whole = kind.create(t)
      await ingestWell(t, whole, readRecording(SAMPLE))
      assertSameDump(await dumpStore(copy), await dumpStore(whole), 'copied')

      await pruneStore(openStore(store), { by: 'height', before: 400n })
      assert.deepEqual((await checkStore(openStore(store))).problems.reported, [])
      assert.deepEqual((await dumpStore(store)).imported, ['["1","450"]'])
      await ingestWell(t, store, readRecording(SAMPLE))
      assert.deepEqual((await checkStore(openStore(store))).problems.reported, [])
      const { pruned: _, ...restored } = await dumpStore(store)
      const { pruned: __, ...expected } = await dumpStore(whole)
      assertSameDump({ ...restored }, { ...expected }, 'pruned, and ingested again')
    })

    test('has the estimate of a running period, whether its blocks are imported or not', async (t) => {
      const path = recordingPath('perps-calm-named.evts.gz')!
      const base = await serve(t, await halfImported(t, kind, path))
      const whole = kind.create(t)
      await importBlocks(whole, blocksOf(readRecording(path)), { from: 1n, to: 1_000n })
      const wholeBase = await serve(t, whole)
      const estimateOf = async (at: string) =>
        JSON.parse((await send(at, `/api/v2/funding-estimates/${ETH}`)).text).fundingEstimate
      assert.ok((await estimateOf(base)) !== null)
      assert.deepEqual(await estimateOf(wholeBase), await estimateOf(base))
      await ingestWell(t, whole, readRecording(path))
      assert.deepEqual(await estimateOf(wholeBase), await estimateOf(base))
    })

    test('has TWAPs and payments that are not proven, and none that differ', async (t) => {
      const path = recordingPath('perps-long-named.evts.gz')!
      const store = await halfImported(t, kind, path, 800)
      const filter = { marketId: null, seq: null }
      const report = await verifyStore(openStore(store), { method: 'running-sum', filter, signal: NEVER })
      assert.equal(report.dataPoints.differ + report.closingTwaps.differ + report.openingTwaps.differ, 0)
      assert.equal(report.funding.paidPeriods.differ, 0)
      assert.ok(report.unknownReasons.imported! > 500, JSON.stringify(report.unknownReasons))
      assert.ok(report.dataPoints.agree > 1_000)
      assert.ok(report.funding.unknownReasons.imported! > 10)
      assert.match(
        describeVerification(report, 'running-sum'),
        /unknown: [\d,]+, cannot be proven: .*imported/,
      )
    })

    test('is compared with event files by what an import can hold', async (t) => {
      const store = await halfImported(t, kind)
      const { told, notes, compared } = await checkWithFiles(store, SAMPLE)
      assert.deepEqual(told, [])
      assert.deepEqual(compared!.heights, [{ from: '1', to: '905' }])
      assert.match(notes.join('\n'), /heights 1 to 450 are imported: .* not compared/)
      assert.ok(compared!.rows.funding_period_data_points! > 1_900)
    })

    const damages: [what: string, sql: string, found: RegExp][] = [
      [
        'ranges that overlap',
        'insert into imported values (400, 420)',
        /imported \(400\): it begins at or before|imported/,
      ],
      [
        'a range beyond the last block',
        'insert into imported values (900, 910)',
        /beyond the last block, 905/,
      ],
      ['a range below the first block', 'update imported set from_height = 0', /before the first block, 1/],
      ['a range that ends before it begins', 'insert into imported values (600, 599)', /before it begins/],
      [
        'a range within a gap',
        "insert into gaps values (10, 12, 'missing')",
        /blocks, 10 to 12, are recorded as a gap/,
      ],
      ['spans without imported blocks', 'delete from imported', /no block of these 64 is imported/],
      [
        'spans that are gone',
        'delete from funding_period_imported_spans',
        /funding_period_imported_spans .*: missing/,
      ],
      [
        'spans that are too short',
        'update funding_period_imported_spans set first_timestamp = last_timestamp',
        /funding_period_imported_spans .*: it says/,
      ],
      [
        'a row of block 0 with an index',
        'update funding_periods set height = 0, event_index = 3 where height = 450 or height = 449 or height < 300',
        /it comes from block 0/,
      ],
    ]
    for (const [what, sql, found] of damages) {
      test(`with ${what} is found to be damaged`, async (t) => {
        const store = await halfImported(t, kind)
        await runSql(store, sql)
        const { problems } = await checkStore(openStore(store))
        assert.match(problems.reported.map(({ where, what }) => `${where}: ${what}`).join('\n'), found)
      })
    }

    const changes: [what: string, sql: string, found: RegExp][] = [
      [
        'another price',
        "update funding_period_data_points set price = '1' where height = 300",
        /price is "1", and in the files/,
      ],
      [
        'a time that no cut explains',
        `update funding_period_data_points set timestamp = timestamp - 1000 where height = 300`,
        /no event of the files says so, and they hold block 300/,
      ],
      [
        'another status',
        'update liquidity_provisions set status = 3 where height <= 450',
        /status is "3", and in the files/,
      ],
    ]
    for (const [what, sql, found] of changes) {
      test(`with ${what} differs from event files`, async (t) => {
        const store = await halfImported(t, kind)
        await runSql(store, sql)
        const { told } = await checkWithFiles(store, SAMPLE)
        assert.match(told.map(({ where, what }) => `${where}: ${what}`).join('\n'), found)
      })
    }

    test('has rows of before its blocks in pages, which check allows and says', async (t) => {
      const store = kind.create(t)
      const state = [provision(), marketData(), perpetual()]
      const made = blocksOf(fileOf({ height: 5, events: state }, block(6), block(7)))
      await importBlocks(store, made, { from: 6n, to: 7n, rowsFrom: 5n })
      const { problems, notes } = await checkStore(openStore(store))
      assert.deepEqual(problems.reported, [])
      assert.match(notes.join('\n'), /^\d+ rows come from before the blocks that were imported/m)
      const base = await serve(t, store)
      const { text } = await send(base, '/api/v2/instruments')
      assert.match(text, /AB\/PERP/)
      await ingestWell(t, store, fileOf({ height: 5, events: state }))
      const whole = kind.create(t)
      await ingestWell(t, whole, fileOf({ height: 5, events: state }, block(6), block(7)))
      await ingestWell(t, store, fileOf({ height: 5, events: state }, block(6), block(7)))
      assertSameDump(await dumpStore(store), await dumpStore(whole), 'all events')
    })
  })
}

test('a file of events that is cut within an imported block leaves it imported', async (t) => {
  const store = STORE_KINDS[0]!.create(t)
  const bytes = fileOf(block(5), block(6), block(7))
  await importBlocks(store, blocksOf(bytes), { from: 5n, to: 7n })
  const records = recordsOf(bytes).filter(({ height }) => height <= 6)
  await ingestWell(t, store, joinRecords(records.slice(0, -1)))
  assert.deepEqual((await dumpStore(store)).imported, ['["6","7"]'])
  // Live events continue after what was imported.
  await ingestWell(t, store, fileOf(block(8), block(9)))
  assert.deepEqual((await dumpStore(store)).imported, ['["6","7"]'])
  assert.deepEqual((await dumpStore(store)).gaps, [])
})

test('the explorer says which blocks are imported, and what that means', async (t) => {
  const browser = await openBrowser(t)
  if (browser === null) return
  const store = await halfImported(t, STORE_KINDS[0]!)
  const { page } = await openPage(browser, await serve(t, store))
  await page.goto('/?view=node')
  const said = await eventually(
    () => page.locator('.imported').last().innerText(),
    (text) => text.includes('450 blocks are imported'),
  )
  assert.match(said, /blocks 1 to 450/)
  assert.match(said, /one data point of each market, period and source/)
  assert.match(said, /Funding arithmetic cannot be proven there/)
  assert.equal(await page.locator('.blocks-bar .imported').count(), 1)
  assert.match(await page.locator('.readiness').innerText(), /^(?!.*not ready)/)
  assert.deepEqual(await accessibilityFaults(page), [])
  assert.equal(await overflow(page), 0)
})
