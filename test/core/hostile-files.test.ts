import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChainError, GapError, MissingHistoryError } from '#core/blocks/block'
import type { IngestionResult } from '#core/ingest/ingest-files'
import { EventPathError } from '#core/records/event-paths'
import { EventStreamError } from '#core/records/record-position'
import { generateRecords } from '#tools/generate/generate'
import { readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { mutate } from '../fixtures/faults/mutations.ts'
import { StreamModel, withoutGapTimes } from '../fixtures/models/stream-model.ts'
import { createRandom } from '../fixtures/random.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { inScope, type Scope } from '../fixtures/scope.ts'
import { tryIngest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { assertSameDump, dumpOf, dumpStore, type StoreDump } from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, describeOn, type StoreKind } from '../fixtures/stores/stores.ts'

/** A stream of a few blocks from genesis on, with every kind of event. */
const GENERATED = Buffer.concat([...generateRecords({ blocks: 30, markets: 2, parties: 4, events: 2 })])

/** The recordings to damage, by name. */
const BASES: [name: string, bytes: Buffer][] = [
  ['generated', GENERATED],
  ...['synthetic', 'four-periods'].map((name): [string, Buffer] => [name, readRecording(recorded(name))]),
]

/** The number of the record at which an ingestion stopped. */
function stopOf({ report, failure }: IngestionResult): number {
  if (failure === null || failure instanceof MissingHistoryError) return Number.POSITIVE_INFINITY
  if (failure instanceof EventPathError) {
    assert.equal(report.records, 0)
    return Number.POSITIVE_INFINITY
  }
  assert.ok(failure instanceof EventStreamError, String(failure))
  assert.match(failure.message, /some\.evts, record \d+, offset \d+: ./)
  assert.ok(failure.message.length < 600 && !failure.message.includes('\n'), failure.message)
  return failure.position.record
}

/** Ingests a damaged file, then the original; after each the store must equal the model. */
async function checkHarmed(
  scope: Scope,
  kind: StoreKind,
  unharmed: Buffer,
  harmed: Buffer,
  allowGap: boolean,
): Promise<{ model: StoreDump; finished: boolean }> {
  const store = kind.create(scope)
  const model = new StreamModel()
  const first = await tryIngest(store, harmed, { allowGap })
  model.ingest(harmed, { stoppedAt: stopOf(first), allowGap })
  assertSameDump(withoutGapTimes(await dumpStore(store)), model.dump(), 'after the damaged file')
  assert.equal(first.report.height, lastHeight(model.dump()))
  const second = await tryIngest(store, unharmed)
  // The damaged file may have another chain, or a position above the end of the original.
  if (second.failure !== null) {
    assert.ok(
      [ChainError, GapError, MissingHistoryError].some((kind) => second.failure instanceof kind),
      String(second.failure),
    )
  }
  model.ingest(unharmed, { stoppedAt: stopOf(second) })
  assertSameDump(withoutGapTimes(await dumpStore(store)), model.dump(), 'after the original')
  return { model: model.dump(), finished: second.failure === null }
}

function lastHeight({ stream }: StoreDump): string | null {
  return stream!.length === 0 ? null : (JSON.parse(stream![0]!) as string[])[3]!
}

describeOn(ANY_STORE_KIND, 'damaged files', (kind) => {
  for (const [name, bytes] of BASES) {
    test(`random damage to ${name} leaves complete blocks and a clear error`, async (t) => {
      const records = recordsOf(bytes)
      const expected = await dumpOf(t, kind, bytes)
      // If another block is first, the store begins there. The places of events in block 1 depend on its parts
      // and their order. So differing files are compared only if their first blocks are the same.
      const start = Buffer.concat(records.filter(({ height }) => height <= 1).map((record) => record.bytes))
      const beginsAlike = (harmed: Buffer) => harmed.subarray(0, start.length).equals(start)
      for (let turn = 0; turn < runsOf('change', kind); turn++) {
        const { what, changesContent, bytes: harmed } = mutate(records, createRandom(turn), turn)
        for (const allowGap of [false, true]) {
          await inScope(async (scope) => {
            try {
              const { model, finished } = await checkHarmed(scope, kind, bytes, harmed, allowGap)
              if (!changesContent && finished && beginsAlike(harmed)) {
                assertSameDump(model, expected, 'the full state')
              }
            } catch (error) {
              const where = `turn ${turn}: ${what}, gaps allowed: ${allowGap}`
              throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
            }
          })
        }
      }
    })
  }
})
