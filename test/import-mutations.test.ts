import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { StoreError } from '#core/store/store'
import { ImportError } from '#tools/import/import-error'
import { problemsOf } from './fixtures/check.ts'
import { importInto } from './fixtures/import.ts'
import { createRandom, type Random } from './fixtures/random.ts'
import { runsOf } from './fixtures/sampling.ts'
import { inScope } from './fixtures/scope.ts'
import { segmentWithEpochs } from './fixtures/segment-with-epochs.ts'
import { segmentPaths, writeSegment } from './fixtures/segments.ts'
import { ANY_STORE_KIND, temporaryFolder } from './fixtures/stores.ts'

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

/** Damages a zip's bytes, mostly near the end, which has most of its structure. */
function harmBytes(random: Random): Buffer {
  const bytes = Buffer.from(whole)
  const place = () =>
    random.integer(2) === 0 ? random.integer(bytes.length) : bytes.length - 1 - random.integer(1_500)
  switch (random.integer(6)) {
    case 0:
      return bytes.subarray(0, place())
    case 1:
      return bytes.subarray(random.integer(200))
    case 2: {
      const at = place()
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.integer(40))])
    }
    case 3: {
      const at = place()
      const garbage = Buffer.from(Array.from({ length: 1 + random.integer(30) }, () => random.integer(256)))
      return Buffer.concat([bytes.subarray(0, at), garbage, bytes.subarray(at)])
    }
    case 4: {
      const at = Math.min(place(), bytes.length - 8)
      random.pick([
        () => bytes.fill(0xff, at, at + 4),
        () => bytes.fill(0, at, at + 8),
        () => bytes.fill(0xff, at, at + 8),
      ])()
      return bytes
    }
    default:
      for (let count = 0; count <= random.integer(3); count++) bytes[place()]! ^= 1 << random.integer(8)
      return bytes
  }
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
    switch (random.integer(8)) {
      case 0:
        entries.delete(name)
        return
      case 1:
        lines.splice(at, 1 + random.integer(3))
        break
      case 2:
        lines.splice(random.integer(lines.length), 0, ...lines.slice(at, at + 1 + random.integer(3)))
        break
      case 3:
        fields.splice(field, 1)
        lines[at] = fields.join(',')
        break
      case 4: {
        const other = random.integer(lines.length)
        ;[lines[at], lines[other]] = [lines[other]!, lines[at]!]
        break
      }
      case 5: {
        const line = lines[at]!
        const place = random.integer(line.length + 1)
        lines[at] = `${line.slice(0, place)}${random.pick(VALUES)}${line.slice(place + random.integer(3))}`
        break
      }
      default:
        fields[field] = random.pick(VALUES)
        lines[at] = fields.join(',')
    }
    entries.set(name, lines.join('\n'))
  }
}

for (const kind of ANY_STORE_KIND) {
  describe(`damaged segments (${kind.name})`, () => {
    for (const [what, write] of [
      ['bytes', async (path: string, random: Random) => writeFileSync(path, harmBytes(random))],
      [
        'tables',
        (path: string, random: Random) => writeSegment(path, original, { edit: harmTables(random) }),
      ],
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
}
