import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { ingestFiles } from '#core/ingest/ingest-files'
import { findEventFiles } from '#core/records/event-paths'
import { EventStreamError } from '#core/records/record-position'
import type { PruneBound } from '#core/store/pruning/prune-bound'
import { pruneStore } from '#core/store/pruning/prune-store'
import { readCoverage } from '#core/store/queries/coverage'
import type { Writer } from '#core/store/store'
import { assertProperty } from '../../fixtures/assert-property.ts'
import { fileOf, joinRecords, type MadeBlock, recordsOf } from '../../fixtures/events/event-stream.ts'
import {
  contentsOf,
  FIRST,
  fundingPayments,
  heights,
  imports,
  range,
  streamOf,
  timeOf,
  withoutAnEvent,
} from '../../fixtures/events/random-streams.ts'
import { blocksOf, importBlocks } from '../../fixtures/imports/import-blocks.ts'
import { StreamModel, withoutGapTimes } from '../../fixtures/models/stream-model.ts'
import { runsOf } from '../../fixtures/sampling.ts'
import { inScope, type Scope } from '../../fixtures/scope.ts'
import { startLyra } from '../../fixtures/services/program.ts'
import { ingest, SILENT } from '../../fixtures/services/service.ts'
import { assertSound, checkWithFiles, problemsOf } from '../../fixtures/stores/check.ts'
import { assertSameDump, dumpOf, dumpStore, type StoreDump } from '../../fixtures/stores/dump-store.ts'
import { fileWith, openStore, readFrom, STORE_KINDS, type StoreKind } from '../../fixtures/stores/stores.ts'

/*
 * After any commands, a store has the content that the rules give (StreamModel): sequences of commands in any order on a stream
 * of few blocks and few different values, so that rows coincide. After each the tables equal the model's, and
 * `lyra check` finds nothing.
 */

/** A command for a store and its model. */
type Change = (model: StreamModel) => void

/** The rules' side: everything done so far, so that a killed ingestion can be done again up to any record. */
class Rules {
  readonly #changes: Change[] = []
  #model = new StreamModel()
  isPruned = false

  do(change: Change): void {
    this.#changes.push(change)
    change(this.#model)
  }

  dump(): StoreDump {
    return this.#model.dump()
  }

  /** The tables if something else were done as well. */
  dumpWith(change: Change): StoreDump {
    const model = new StreamModel()
    for (const done of [...this.#changes, change]) done(model)
    return model.dump()
  }
}

/** The store, its writer, which stays open, and the stream that is ingested. */
class Tried {
  readonly scope: Scope
  readonly store: string
  readonly blocks: readonly MadeBlock[]
  #writer: Writer | null = null

  constructor(scope: Scope, kind: StoreKind, blocks: readonly MadeBlock[]) {
    this.scope = scope
    this.store = kind.create(scope)
    this.blocks = blocks
    scope.after(() => this.close())
  }

  async writer(): Promise<Writer> {
    this.#writer ??= await openStore(this.store).openWriter()
    return this.#writer
  }

  async close(): Promise<void> {
    await this.#writer?.close()
    this.#writer = null
  }

  /** A height of the stream by one of {@link heights}. */
  height(height: number): number {
    return height - FIRST + this.blocks[0]!.height
  }

  /** The blocks of several ranges, one after another, whatever their order. */
  piece(ranges: readonly Range[]): MadeBlock[] {
    return ranges.flatMap(({ from, to }) =>
      this.blocks.filter(({ height }) => height >= this.height(from) && height <= this.height(to)),
    )
  }
}

type Range = { from: number; to: number }

/** A command, as fast-check runs it; the tables are compared after it. */
class Command implements fc.AsyncCommand<Rules, Tried> {
  readonly #what: string
  readonly #run: (rules: Rules, tried: Tried) => Promise<void>

  constructor(what: string, run: (rules: Rules, tried: Tried) => Promise<void>) {
    this.#what = what
    this.#run = run
  }

  check(): boolean {
    return true
  }

  async run(rules: Rules, tried: Tried): Promise<void> {
    await this.#run(rules, tried)
    assertSameDump(withoutGapTimes(await dumpStore(tried.store)), rules.dump(), this.#what)
    assert.deepEqual(await problemsOf(tried.store), [], this.#what)
  }

  toString(): string {
    return this.#what
  }
}

/** Ingests bytes into the store, by the writer that stays open, and into the model. */
async function ingestByBoth(rules: Rules, tried: Tried, bytes: Buffer, allowGap: boolean): Promise<void> {
  const { failure } = await ingestFiles({
    input: findEventFiles([fileWith(tried.scope, bytes)]),
    writer: await tried.writer(),
    logger: SILENT,
    allowGap,
    strict: false,
  })
  // A history that stays incomplete is only said at the end.
  const stoppedAt = failure instanceof EventStreamError ? failure.position.record : Number.POSITIVE_INFINITY
  rules.do((model) => model.ingest(bytes, { stoppedAt, allowGap }))
}

const textOf = (ranges: readonly Range[]) => ranges.map(({ from, to }) => `${from}-${to}`).join(' ')

const ranges = fc.array(range, { minLength: 1, maxLength: 3 })

/** Pieces in any order, some blocks twice. */
const ingestion = fc
  .tuple(ranges, fc.boolean())
  .map(
    ([some, allowGap]) =>
      new Command(`ingest ${textOf(some)}${allowGap ? ' --allow-gap' : ''}`, (rules, tried) =>
        ingestByBoth(rules, tried, fileOf(...tried.piece(some)), allowGap),
      ),
  )

/** A file that ends anywhere, within a record too. */
const cutIngestion = fc.tuple(ranges, fc.double({ min: 0, max: 1, noNaN: true })).map(
  ([some, part]) =>
    new Command(`ingest ${textOf(some)}, cut at ${part}`, (rules, tried) => {
      const bytes = fileOf(...tried.piece(some))
      return ingestByBoth(rules, tried, bytes.subarray(0, Math.floor(bytes.length * part)), true)
    }),
)

/** Records that are repeated, and others that are moved. */
const disorder = fc
  .tuple(range, fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(
    ([one, moves, allowGap]) =>
      new Command(`ingest ${textOf([one])} in disorder ${JSON.stringify(moves)}`, (rules, tried) => {
        const records = recordsOf(fileOf(...tried.piece([one])))
        for (const [index, [from, to]] of moves.entries()) {
          const [record] = records.splice(from % records.length, index % 2)
          records.splice(to % (records.length + 1), 0, record ?? records[from % records.length]!)
        }
        return ingestByBoth(rules, tried, joinRecords(records), allowGap)
      }),
  )

/** A block without an event; of block 1 either that or one of its parts. */
const incomplete = fc.tuple(heights, fc.nat({ max: 1 })).map(
  ([height, part]) =>
    new Command(`ingest ${height} incomplete (${part})`, (rules, tried) => {
      const whole = tried.piece([{ from: height, to: height }])
      const some = whole.length > 1 ? whole.slice(part, part + 1) : whole.map(withoutAnEvent)
      return ingestByBoth(rules, tried, fileOf(...some), true)
    }),
)

const importing = imports.map(
  ({ from, to, blocksOfCommit, commits }) =>
    new Command(`import ${from}-${to}, ${commits} commits of ${blocksOfCommit}`, async (rules, tried) => {
      await tried.close()
      const done = await importBlocks(tried.store, blocksOf(fileOf(...tried.blocks)), {
        from: BigInt(tried.height(from)),
        to: BigInt(tried.height(to)),
        blocksOfCommit,
        commits,
      })
      for (const commit of done) rules.do((model) => model.import(commit))
    }),
)

const pruning = fc
  .oneof(
    heights.map((height): PruneBound => ({ by: 'height', before: BigInt(height) })),
    fc
      .constantFrom(-1_001n, 1_001n, 2_000n, 40_000_000_300n, 400_000_000_001n, timeOf(61), timeOf(65) + 1n)
      .map((before): PruneBound => ({ by: 'time', before })),
  )
  .map(
    (bound) =>
      new Command(`prune by ${bound.by} before ${bound.before}`, async (rules, tried) => {
        // Beside the writer, as `--keep` does.
        const before = bound.by === 'time' ? bound.before : BigInt(tried.height(Number(bound.before)))
        await pruneStore(openStore(tried.store), { ...bound, before })
        rules.do((model) => model.prune({ ...bound, before }))
        rules.isPruned = true
      }),
  )

const restart = fc.constant(new Command('restart', (_, tried) => tried.close()))

/** Killed at any moment, an ingestion has done its work up to some record. */
const kill = fc.tuple(ranges, fc.integer({ min: 250, max: 900 })).map(
  ([some, delay]) =>
    new Command(`kill the ingestion of ${textOf(some)} after ${delay} ms`, async (rules, tried) => {
      await tried.close()
      const bytes = fileOf(...tried.piece(some))
      const path = fileWith(tried.scope, bytes)
      const { child, outcome } = startLyra(tried.scope, [
        'ingest',
        '--allow-gap',
        '--store',
        tried.store,
        path,
      ])
      await Promise.race([outcome, sleep(delay)])
      child.kill('SIGKILL')
      await outcome
      const dump = JSON.stringify(withoutGapTimes(await dumpStore(tried.store)))
      const changes = [0, ...recordsOf(bytes).map((record) => record.offset + record.bytes.length)].map(
        (end): Change =>
          (model) =>
            model.ingest(bytes.subarray(0, end), { allowGap: true }),
      )
      const change = changes.findLast((change) => JSON.stringify(rules.dumpWith(change)) === dump)
      assert.ok(change !== undefined, 'the store is not as after any record')
      rules.do(change)
    }),
)

/** The blocks without the part of block 1 that a store does not know of: a check rightly finds it in the files only. */
async function blocksToCheck(store: string, blocks: readonly MadeBlock[]): Promise<MadeBlock[]> {
  const known = (await readFrom(store, readCoverage))?.blockOne ?? null
  return blocks.filter(
    ({ height, hash }) => height !== 1 || known === null || known.includes(hash ?? 'hash-1'),
  )
}

/** What the streams consist of: sums of payments depend on many blocks, so they have streams of their own. */
const EVENTS = { 'any events': contentsOf(false), 'funding payments': fundingPayments }

for (const [kind, [what, contents]] of STORE_KINDS.flatMap((kind) =>
  Object.entries(EVENTS).map((events) => [kind, events] as const),
)) {
  test(`a store of ${what} has the content that the rules give after any commands, and everything possible once all events are ingested (${kind.name})`, async () => {
    const streams = fc.oneof(streamOf(contents), streamOf(contents, 1))
    const commands = fc.commands(
      [
        ingestion,
        ingestion,
        cutIngestion,
        disorder,
        incomplete,
        importing,
        importing,
        pruning,
        pruning,
        restart,
        ...(what === 'any events' ? [kill] : []),
      ],
      { maxCommands: 12, size: '+1' },
    )
    await assertProperty(
      fc.asyncProperty(streams, commands, (blocks, list) =>
        inScope(async (scope) => {
          const [rules, tried] = [new Rules(), new Tried(scope, kind, blocks)]
          // A store is there once it was opened for writing.
          await tried.writer()
          await fc.asyncModelRun(() => ({ model: rules, real: tried }), list)
          await tried.close()
          const bytes = fileOf(...blocks)
          const checked = fileOf(...(await blocksToCheck(tried.store, blocks)))
          const { told } = await checkWithFiles(tried.store, fileWith(scope, checked, 'whole.evts'))
          const differences = told.filter(({ what }) => !what.startsWith('nothing to compare'))
          if (!rules.isPruned) assert.deepEqual(differences, [])
          await ingest(tried.store, bytes, { allowGap: true })
          rules.do((model) => model.ingest(bytes, { allowGap: true }))
          const dump = withoutGapTimes(await dumpStore(tried.store))
          assertSameDump(dump, rules.dump(), 'all events')
          await assertSound(tried.store)
          if (rules.isPruned || dump.imported!.length > 0) return
          assertSameDump(dump, withoutGapTimes(await dumpOf(scope, kind, bytes)), 'a new store')
        }),
      ),
      { numRuns: runsOf('change', kind), seed: 1 },
    )
  })
}
