import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { IngestionReport } from '#core/ingest/report'
import { assertSameDump, dumpStore, type StoreDump } from './fixtures/dump-store.ts'
import {
  asset,
  type Content,
  checkpoint,
  dataPoint,
  fileOf,
  idOf,
  type MadeBlock,
  perpetual,
  provision,
  timeUpdate,
} from './fixtures/event-stream.ts'
import { ingestBytes, ingestWell } from './fixtures/ingest-bytes.ts'
import { restoreOldStore } from './fixtures/old-store.ts'
import { runLyra, runWell } from './fixtures/program.ts'
import { runSql } from './fixtures/raw-sql.ts'
import { serve } from './fixtures/service.ts'
import { fileWith, openStore, STORE_KINDS, type StoreKind } from './fixtures/stores.ts'

/** Eight blocks with rows of other resources in each, and instruments that change over time. */
const BLOCKS: readonly MadeBlock[] = Array.from({ length: 8 }, (_, index): MadeBlock => {
  const height = index + 1
  const named: Content[] = [
    perpetual({ code: `CODE-${height}` }),
    ...(height % 3 === 0
      ? [asset({ symbol: `S${height}` }), perpetual({ marketId: idOf(`${height}`) })]
      : []),
  ]
  return {
    height,
    events: [
      checkpoint({ atBlock: height, hash: `c${height}` }),
      ...named,
      dataPoint({ timestamp: height }),
      provision({ provisionId: idOf(`${height}`) }),
    ],
  }
})

const NAMED: ReadonlySet<number> = new Set([perpetual().kind, asset().kind])

/** The blocks with other events instead of those of instruments, as in a store that skipped these. */
const withoutNames = (blocks: readonly MadeBlock[]): MadeBlock[] =>
  blocks.map((block) => ({
    ...block,
    events: block.events!.map((event) => (NAMED.has(event.kind) ? timeUpdate() : event)),
  }))

const heights = (from: number, to: number) => BLOCKS.slice(from - 1, to)

/** A store that ingested blocks before it supported instruments. */
async function storeWithout(
  t: TestContext,
  kind: StoreKind,
  blocks: readonly MadeBlock[],
  runs: readonly (readonly [from: number, to: number])[] = [[1, 8]],
): Promise<string> {
  const store = kind.create(t)
  await ingestWell(t, store, fileOf(...withoutNames(blocks)), { allowGap: true })
  for (const [from, to] of runs) {
    await runSql(store, `insert into kept_from values ('instruments', ${from}, ${to + 1})`)
  }
  await runSql(store, 'update stream set block_one_hashes = null')
  return store
}

/** A store that supported instruments from the first block on. */
async function storeWith(t: TestContext, kind: StoreKind, blocks: readonly MadeBlock[]): Promise<string> {
  const store = kind.create(t)
  await ingestWell(t, store, fileOf(...blocks), { allowGap: true })
  return store
}

/** The hashes of block 1's parts were not stored then. */
async function dumpOf(store: string): Promise<StoreDump> {
  return { ...(await dumpStore(store)), stream: [] }
}

const gapsOf = ({ resourceGaps }: IngestionReport) => resourceGaps.map(({ from, to }) => `${from}-${to}`)

for (const kind of STORE_KINDS) {
  describe(`start heights (${kind.name})`, () => {
    test('files ingested again add missing data, in any order and in several calls', async (t) => {
      const store = await storeWithout(t, kind, BLOCKS)
      const steps: [from: number, to: number, left: string[]][] = [
        [4, 5, ['1-3', '6-8']],
        [1, 2, ['3-3', '6-8']],
        [6, 8, ['3-3']],
        [2, 4, []],
      ]
      for (const [from, to, left] of steps) {
        const report = await ingestWell(t, store, fileOf(...heights(from, to)))
        assert.deepEqual(gapsOf(report), left)
        assert.equal(report.blocks, 0)
        assert.equal(report.heldBlocks, to - from + 1)
      }
      assertSameDump(await dumpOf(store), await dumpOf(await storeWith(t, kind, BLOCKS)), 'given again')
      const again = await ingestWell(t, store, fileOf(...BLOCKS))
      assert.deepEqual([again.completedBlocks, again.heldBlocks, again.rows.instruments], [0, 8, 0])
    })

    test('new blocks after the start height have instruments, those below only after their files', async (t) => {
      const store = await storeWithout(t, kind, heights(1, 4), [[1, 4]])
      const first = await ingestWell(t, store, fileOf(...heights(5, 8)))
      assert.deepEqual([first.blocks, gapsOf(first)], [4, ['1-4']])
      const all = await ingestWell(t, store, fileOf(...BLOCKS))
      assert.deepEqual([all.blocks, all.completedBlocks, gapsOf(all)], [0, 4, []])
      assertSameDump(await dumpOf(store), await dumpOf(await storeWith(t, kind, BLOCKS)), 'in one call')
    })

    test('pruned rows do not reappear', async (t) => {
      const store = await storeWithout(t, kind, BLOCKS)
      await runWell(t, ['prune', '--store', store, '--before', '6'])
      const before = await dumpOf(store)
      assert.deepEqual(before.funding_period_data_points!.length, 3)
      await ingestWell(t, store, fileOf(...BLOCKS))
      const after = await dumpOf(store)
      const { instruments, instrument_terms, assets, markets } = await dumpOf(
        await storeWith(t, kind, BLOCKS),
      )
      assertSameDump(
        after,
        {
          ...{ ...before, instruments: instruments!, instrument_terms: instrument_terms! },
          ...{ assets: assets!, markets: markets!, kept_from: [] },
        },
        'pruned',
      )
    })

    test('a gap within, and blocks below the first height, are filled completely', async (t) => {
      const held = [...heights(2, 3), ...heights(6, 8)]
      const store = await storeWithout(t, kind, held, [
        [2, 3],
        [6, 8],
      ])
      const report = await ingestWell(t, store, fileOf(...BLOCKS))
      assert.deepEqual([report.blocks, report.completedBlocks, gapsOf(report)], [3, 5, []])
      assertSameDump(await dumpOf(store), await dumpOf(await storeWith(t, kind, BLOCKS)), 'filled')
    })

    test('a block with missing ids adds nothing, and is reported', async (t) => {
      const store = await storeWithout(t, kind, BLOCKS)
      const torn = heights(3, 4).map((block) => (block.height === 4 ? { ...block, without: [3] } : block))
      const { failure, report } = await ingestBytes(t, store, fileOf(...torn))
      assert.match(failure!.message, /event 3 of block 4 missing/)
      assert.deepEqual(gapsOf(report), ['1-2', '4-8'])
      const allowed = await ingestWell(t, store, fileOf(...torn), { allowGap: true })
      assert.deepEqual([gapsOf(allowed), allowed.gaps], [['1-2', '4-8'], []])
    })

    test('an incomplete block, repeated incomplete, adds its instruments', async (t) => {
      const torn = BLOCKS.map((block) => (block.height === 6 ? { ...block, without: [2] } : block))
      const store = await storeWithout(t, kind, torn)
      const report = await ingestWell(t, store, fileOf(...torn))
      assert.deepEqual([report.completedBlocks, gapsOf(report), report.gaps.length], [8, [], 1])
      assertSameDump(await dumpOf(store), await dumpOf(await storeWith(t, kind, torn)), 'incomplete')
    })

    test('both parts of block 1 add their instruments, and so does one part alone', async (t) => {
      const parts: MadeBlock[] = [
        { height: 1, hash: 'genesis', events: [asset({ symbol: 'G' })] },
        { height: 1, hash: 'itself', events: [perpetual(), checkpoint()] },
        BLOCKS[1]!,
      ]
      const store = await storeWithout(t, kind, parts, [[1, 2]])
      const report = await ingestWell(t, store, fileOf(...parts))
      assert.deepEqual(gapsOf(report), [])
      assertSameDump(await dumpOf(store), await dumpOf(await storeWith(t, kind, parts)), 'two parts')
    })

    test('a follower of instruments gets those that are added below', { timeout: 30_000 }, async (t) => {
      const store = await storeWithout(t, kind, BLOCKS)
      await ingestWell(t, store, fileOf(...heights(8, 8)))
      const base = await serve(t, store)
      const stop = new AbortController()
      t.after(() => stop.abort())
      const answer = await fetch(`${base}/api/v2/stream/instruments`, { signal: stop.signal })
      let text = ''
      const added = Promise.withResolvers<void>()
      const joined = Promise.withResolvers<void>()
      const reading = (async () => {
        for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
          text += chunk
          if (text.includes('id: ')) joined.resolve()
          if (text.includes(idOf('3'))) added.resolve()
        }
      })()
      reading.catch(() => {})
      await joined.promise
      await ingestWell(t, store, fileOf(...BLOCKS))
      await added.promise
    })

    test('status reports from which height on instruments are stored, and how to add the rest', async (t) => {
      const store = await storeWithout(t, kind, BLOCKS, [
        [1, 3],
        [5, 6],
      ])
      const { stdout, code } = await runLyra(t, ['status', '--store', store])
      assert.equal(code, 0)
      assert.match(
        stdout,
        /instruments +stored from block 7 on; missing in heights 1 to 3, heights 5 to 6: ingest the event files of these blocks again$/m,
      )
      const json = JSON.parse((await runLyra(t, ['status', '--json', '--store', store])).stdout)
      assert.deepEqual(json.resourceGaps, [
        { resource: 'instruments', from: '1', to: '3' },
        { resource: 'instruments', from: '5', to: '6' },
      ])
      const path = fileWith(t, fileOf(...BLOCKS), 'all.evts')
      const ingested = await runLyra(t, ['ingest', '--store', store, path])
      assert.match(ingested.stdout, /5 already-stored blocks completed with events/)
      const { stdout: whole } = await runLyra(t, ['status', '--store', store])
      assert.doesNotMatch(whole, /stored from/)
    })

    // Version 0.2.0's dump has tables that are not distributed over a cluster.
    test('a store of version 0.2.0 with gaps misses instruments only in its own blocks', {
      skip: kind.name === 'citus',
    }, async (t) => {
      const old = await restoreOldStore(t, kind)
      await runSql(
        old,
        "insert into gaps select 10, 19, 'missing' from stream; insert into gaps select 30, 30, 'incomplete' from stream",
      )
      await openStore(old).migrate()
      const { kept_from, stream } = await dumpStore(old)
      const last = BigInt((JSON.parse(stream![0]!) as string[])[3]!)
      const ofOne = (name: string) =>
        [
          [name, '1', '10'],
          [name, '20', `${last + 1n}`],
        ].map((row) => JSON.stringify(row))
      assert.deepEqual(kept_from, [
        ...ofOne('instrumentTerms'),
        ...ofOne('liquidityProviderHistory'),
        ...ofOne('marketData'),
      ])
    })
  })
}
