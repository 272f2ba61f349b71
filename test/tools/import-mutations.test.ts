import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, test } from 'node:test'
import { StoreError } from '#core/store/errors'
import { ImportError } from '#tools/import/import-error'
import { importInto } from '../fixtures/imports/import.ts'
import { segmentWithEpochs } from '../fixtures/imports/segment-with-epochs.ts'
import { segmentPaths, writeSegment } from '../fixtures/imports/segments.ts'
import { createRandom, type Random } from '../fixtures/random.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { inScope } from '../fixtures/scope.ts'
import { problemsOf } from '../fixtures/stores/check.ts'
import { ANY_STORE_KIND, describeOn, temporaryFolder } from '../fixtures/stores/stores.ts'

const PATH = segmentPaths('perps-calm-300')[0]!

/** Damaged segments of each kind: damaged bytes of a zip, and damaged tables in one. */
const RUNS = runsOf('change')

let whole: Buffer
let original: Map<string, string>
before(async () => {
  // Without unused tables, so that most damage matters.
  await inScope(async (scope) => {
    const path = join(temporaryFolder(scope), basename(PATH))
    original = await segmentWithEpochs()
    for (const name of original.keys()) {
      if (
        !/^(metadata\.json|history\/(blocks|checkpoints|funding|liquidity_prov|market_data|paid).*|currentstate\/(epochs|funding_period|live|current_market|markets_current|assets).*)$/.test(
          name,
        )
      )
        original.delete(name)
    }
    await writeSegment(path, original)
    whole = readFileSync(path)
  })
})

/** Replaces bytes of a zip by others, half of the time near its end, which has most of its structure. */
function harmBytes(random: Random): Buffer {
  const isNearEnd = random.integer(2) === 0
  const at = isNearEnd ? whole.length - 1 - random.integer(1_500) : random.integer(whole.length)
  const removed = random.pick([0, 1, 8, 1 + random.integer(40), whole.length])
  const garbage = Buffer.from(Array.from({ length: 1 + random.integer(30) }, () => random.integer(256)))
  const added = random.pick([
    Buffer.alloc(0),
    Buffer.alloc(8),
    Buffer.alloc(8, 0xff),
    garbage,
    garbage.subarray(0, removed),
  ])
  return Buffer.concat([whole.subarray(0, at), added, whole.subarray(at + removed)])
}

const VALUES = [
  '',
  'NaN',
  'Infinity',
  '-1',
  '0',
  '99999999999999999999',
  '1e400',
  'infinity',
  '\\x',
  '\\x00',
  '\\xzz',
  '"',
  '""',
  '"a',
  'é',
  '\0',
  '\ufeff',
  'null',
  '[]',
  '{',
  '"[1]"',
  '2023-10-05 10:00:00',
  '2023-10-05 25:00:00+00',
  '292277-01-01 00:00:00+00',
  '1-1-1',
  'x'.repeat(3_000),
]

/** Damages one table of a segment. */
function harmTables(random: Random): (entries: Map<string, string>) => void {
  return (entries) => {
    const name = random.pick([...entries.keys()])
    const lines = entries.get(name)!.split('\n')
    const at = random.integer(lines.length)
    const fields = lines[at]!.split(',')
    const field = random.integer(fields.length)
    switch (random.integer(6)) {
      case 0:
        entries.delete(name)
        return
      case 1: {
        // Lines that are missing, repeated or moved.
        const moved = lines.slice(at, at + 1 + random.integer(3))
        if (random.integer(2) === 0) lines.splice(at, moved.length)
        if (random.integer(3) > 0) lines.splice(random.integer(lines.length), 0, ...moved)
        break
      }
      case 2: {
        const line = lines[at]!
        const place = random.integer(line.length + 1)
        lines[at] = `${line.slice(0, place)}${random.pick(VALUES)}${line.slice(place + random.integer(3))}`
        break
      }
      default:
        fields.splice(field, 1, ...random.pick([[], [random.pick(VALUES)]]))
        lines[at] = fields.join(',')
    }
    entries.set(name, lines.join('\n'))
  }
}

describeOn(ANY_STORE_KIND, 'damaged segments', (kind) => {
  for (const [what, write] of [
    ['bytes', async (path: string, random: Random) => writeFileSync(path, harmBytes(random))],
    ['tables', (path: string, random: Random) => writeSegment(path, original, { edit: harmTables(random) })],
  ] as const) {
    test(`with damaged ${what} give a clear error or a sound store, never an incomplete block`, async (t) => {
      let refused = 0
      for (let run = 0; run < RUNS; run++) {
        await inScope(async (scope) => {
          const path = join(temporaryFolder(scope), basename(PATH))
          await write(path, createRandom(run + (what === 'bytes' ? 0 : 1_000_000)))
          const store = kind.create(scope)
          let failure: Error | null
          try {
            failure = (await importInto(store, path, { allowGap: run % 2 === 0 })).failure
          } catch (error) {
            failure = error as Error
          }
          if (failure !== null) {
            refused++
            assert.ok(failure instanceof ImportError, `run ${run}: ${failure.stack}`)
            assert.ok(failure.message.includes(basename(PATH)), `run ${run}: ${failure.message}`)
          }
          try {
            assert.deepEqual(await problemsOf(store), [], `run ${run}`)
          } catch (error) {
            // Refused before the store was created.
            assert.ok(error instanceof StoreError && failure !== null, `run ${run}: ${error}`)
          }
        })
      }
      t.diagnostic(`${refused} of ${RUNS} refused`)
      assert.ok(refused > RUNS / 10 && refused < RUNS)
    })
  }
})
