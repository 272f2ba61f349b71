import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { describeImport } from '#tools/cli/describe-import'
import { ImportGapError } from '#tools/import/import-error'
import { assertSays } from '../fixtures/assert-says.ts'
import { readRecording } from '../fixtures/events/event-stream.ts'
import { importInto, importWhole, OF_STATE } from '../fixtures/imports/import.ts'
import {
  editLines,
  readSegment,
  type SegmentChange,
  segmentPaths,
  writeSegment,
} from '../fixtures/imports/segments.ts'
import { assertFails, runWell, startLyra } from '../fixtures/services/program.ts'
import { FILE, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { assertSameDump, dumpStore, emptyDump, type StoreDump } from '../fixtures/stores/dump-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  fileWith,
  openStore,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

const PATHS = segmentPaths('perps-calm-300')
const [FIRST, SECOND, THIRD] = PATHS as [string, string, string]
const NAME = basename(FIRST)

const BLOCKS = 'history/blocks'
const POINTS = 'history/funding_period_data_points'
const PERIODS = 'currentstate/funding_period'
const MARKET_DATA = 'currentstate/current_market_data'

let original: Map<string, string>
before(async () => {
  original = await readSegment(FIRST)
})

/** Writes the first segment, changed; returns its path. */
async function changed(
  t: TestContext,
  { name = NAME, ...change }: SegmentChange & { name?: string },
): Promise<string> {
  const path = join(temporaryFolder(t), name)
  await writeSegment(path, original, change)
  return path
}

/** Changes the first line of an entry that contains a text. */
const replaceIn = (entry: string, from: string | RegExp, to: string) => (entries: Map<string, string>) => {
  const text = entries.get(entry)!
  const edited = text.replace(from, to)
  assert.notEqual(edited, text)
  entries.set(entry, edited)
}

const metadata = (change: Record<string, unknown>) => (entries: Map<string, string>) => {
  entries.set('metadata.json', JSON.stringify({ ...JSON.parse(entries.get('metadata.json')!), ...change }))
}

/** A segment's bytes, a change of the first one and its name, or a function that returns paths. */
type Source =
  | Buffer
  | (SegmentChange & { name?: string })
  | ((t: TestContext) => string | string[] | Promise<string | string[]>)

/** Sources that are refused before anything is written, and the error. */
const REFUSED: [what: string, source: Source, says: string | RegExp][] = [
  ['a missing path', () => '/nowhere/a-1-1-2.zip', 'no such file'],
  ['a directory without segments', (t) => temporaryFolder(t), 'contains no segment ...network-history copy'],
  ['an empty file', Buffer.alloc(0), 'not a complete zip file: ...Copy the segment again'],
  ['a tar archive', tar(), 'a tar archive, as written by data nodes up to v0.70: ... v0.71 or later'],
  ['a gzip archive', Buffer.from([0x1f, 0x8b, 8, 0]), 'a gzip archive, as written by data nodes up to v0.70'],
  ['a zip without its last byte', readFileSync(FIRST).subarray(0, -1), 'not a complete zip file'],
  ['a zip without its first half', readFileSync(FIRST).subarray(90_000), /zip|damaged/],
  ['no metadata', { edit: (all) => all.delete('metadata.json') }, 'has no metadata.json'],
  ['metadata of another kind', { edit: (all) => all.set('metadata.json', '[1]') }, 'must have ChainID'],
  ['long metadata', { edit: metadata({ more: 'x'.repeat(70_000) }) }, 'more than 65536 bytes'],
  ['another name', { name: 'core-scenarios-123-1-301.zip' }, 'describes "core-scenarios-123-1-300.zip"'],
  ['an invalid name', { name: 'segment.zip' }, 'describes "core-scenarios-123-1-300.zip". Rename'],
  [
    'schema version 53',
    { edit: metadata({ DatabaseVersion: 53 }), name: 'core-scenarios-53-1-300.zip' },
    'schema version 53 is older than v0.73 ... --force',
  ],
  [
    'schema version 124',
    { edit: metadata({ DatabaseVersion: 124 }), name: 'core-scenarios-124-1-300.zip' },
    'schema version 124 is newer ... 54 to 123. --force',
  ],
  ['no blocks', { edit: (all) => all.delete(BLOCKS) }, 'has no entry history/blocks'],
  [
    'blocks without times',
    { edit: replaceIn(BLOCKS, 'vega_time', 'time') },
    'history/blocks has no column vega_time',
  ],
  ['a wrong check sum', { lies: { [POINTS]: { crc: 1 } } }, 'data_points is damaged: its check sum'],
  ['more than is declared', { lies: { [POINTS]: { size: 100 } } }, 'has more than the 100 bytes'],
  ['less than is declared', { lies: { [POINTS]: { size: 1e9 } } }, 'claim to be 1000000000'],
  ['one byte less than declared', { lies: { [POINTS]: { size: 140_733 } } }, 'its directory gives 140733'],
  ['too few bytes', { lies: { [POINTS]: { compressedSize: 100 } } }, 'damaged: unexpected end of file'],
  ['too many bytes', { lies: { [POINTS]: { compressedSize: 1e9 } } }, 'ends after the end of the file'],
  ['the highest possible offset', { lies: { [POINTS]: { offset: (1n << 64n) - 1n } } }, 'begins after'],
  ['an offset within another entry', { lies: { [POINTS]: { offset: 77n } } }, 'no entry begins where'],
  ['an unknown method', { lies: { [POINTS]: { method: 12 } } }, 'compressed by method 12'],
  ['an encrypted entry', { lies: { [POINTS]: { flags: 9 } } }, 'encrypted'],
  ['two entries with one name', { more: [{ name: POINTS, content: 'x' }] }, 'two entries "history/funding'],
  ['an entry outside', { more: [{ name: '../../etc/passwd', content: 'x' }] }, 'invalid relative path'],
  ['a directory at the highest offset', (t) => directoryAt(t, 2n ** 64n - 1n), 'not a complete zip file'],
  ['a bomb', { edit: (all) => all.set(POINTS, 'x'.repeat(80_000_000)) }, 'claim to be 80000000'],
  [
    'a field without end',
    { edit: (all) => all.set(POINTS, `${all.get(POINTS)}"${'x\n'.repeat(9_000_000)}`) },
    'has more than 2097152 characters',
  ],
  ['an open quote', { edit: (all) => all.set(POINTS, `${all.get(POINTS)}"a`) }, 'ends within quotes'],
  ['a quote within', { edit: replaceIn(POINTS, ',SOURCE', ',S"OURCE') }, 'quote within a field'],
  ['text after a quote', { edit: replaceIn(POINTS, ',SOURCE', ',""SOURCE') }, 'text after the end of a'],
  ['too few fields', { edit: replaceIn(POINTS, /,SOURCE_[A-Z]+/, '') }, 'has 7 fields, but the header has 8'],
  ['a NUL character', { edit: replaceIn(POINTS, ',SOURCE', ',\0SOURCE') }, 'a NUL character'],
  [
    'a block without a valid time',
    { edit: replaceIn(BLOCKS, /\n2023[^,]*/, '\ninfinity') },
    '"infinity", which is not',
  ],
  ['a block before Christ', { edit: replaceIn(BLOCKS, '+00,', '+00 BC,') }, 'which is not a time'],
  ['a block without a valid height', { edit: replaceIn(BLOCKS, ',17,', ',x,') }, 'has block "x"'],
  ['a block of another segment', { edit: replaceIn(BLOCKS, ',17,', ',301,') }, '"301", which is not one of'],
  ['a height twice', { edit: replaceIn(BLOCKS, ',17,', ',18,') }, 'has block 18 twice'],
  [
    'a time twice',
    { edit: replaceIn(BLOCKS, '10:00:16+00,17', '10:00:15+00,17') },
    'blocks 16 and 17 have the same time',
  ],
  [
    'two chains',
    async (t) => {
      const edit = metadata({ ChainID: 'other', HeightFrom: 1, HeightTo: 300 })
      const other = await changed(t, { edit, name: 'other-123-1-300.zip' })
      return [other, SECOND]
    },
    'is of chain "other", ... of chain "core-scenarios": import each chain',
  ],
]

function tar(): Buffer {
  const header = Buffer.alloc(1024)
  header.write('history/blocks', 0)
  header.write('ustar', 257)
  return header
}

/** A zip64 whose directory is outside the file. */
async function directoryAt(t: TestContext, place: bigint): Promise<string> {
  const path = await changed(t, { isZip64: true })
  const content = readFileSync(path)
  content.writeBigUInt64LE(place, content.length - 22 - 20 + 8)
  writeFileSync(path, content)
  return path
}

const MISSING = { from: '301', to: '600', kind: 'missing' }

describeOn(ANY_STORE_KIND, 'segments', (kind) => {
  let ofAll: Promise<StoreDump> | null = null
  /** The tables after importing all segments at once. */
  const wholeDump = () => {
    ofAll ??= (async () => {
      const store = kind.create(FILE)
      await importWhole(store, PATHS)
      return dumpStore(store)
    })()
    return ofAll
  }

  const pathsOf = (t: TestContext, source: Source) => {
    if (typeof source === 'function') return source(t)
    return Buffer.isBuffer(source) ? fileWith(t, source, NAME) : changed(t, source)
  }

  for (const [what, source, says] of REFUSED) {
    test(`with ${what} are refused, and nothing is written`, async (t) => {
      const store = kind.create(t)
      const failed = await importInto(store, await pathsOf(t, source)).catch((failure) => ({ failure }))
      assertSays(String(failed.failure), says)
      // Some are refused before the store is created.
      await openStore(store).migrate()
      assertSameDump(await dumpStore(store), emptyDump(), what)
    })
  }

  test('of another chain than the store are refused', async (t) => {
    const store = kind.create(t)
    const edit = metadata({ ChainID: 'a-b-c' })
    const other = await changed(t, { edit, name: 'a-b-c-123-1-300.zip' })
    await importWhole(store, other)
    const dump = await dumpStore(store)
    await assert.rejects(
      importInto(store, SECOND),
      /chain "core-scenarios", but the store is of chain "a-b-c"/,
    )
    assertSameDump(await dumpStore(store), dump, 'another chain')
  })

  test('of another network with the same chain id are refused, by the time of the last block stored', async (t) => {
    // The first blocks of the sample, a quarter of an hour apart.
    const store = await storeOfBytes(t, kind, readRecording(MONTH).subarray(0, 60_000))
    const dump = await dumpStore(store)
    const { failure } = await importInto(store, FIRST)
    assert.match(
      failure!.message,
      /block \d+ is of 2023-10-05T10:\d\d:\d\dZ, but of 2024-09-01T\d\d:\d\d:00Z in the store: it is another network with the same chain id/,
    )
    assertSameDump(await dumpStore(store), dump, 'another network')
  })

  test('of unknown schema versions are imported with --force', async (t) => {
    const store = kind.create(t)
    const edit = metadata({ DatabaseVersion: 200 })
    const path = await changed(t, { edit, name: 'core-scenarios-200-1-300.zip' })
    const { report, failure } = await importInto(store, path, { force: true })
    assert.equal(failure, null)
    assert.equal(report.blocks, 300)
  })

  test('in zip64, or with further or reordered columns, yield the same rows', async (t) => {
    const stores = [kind.create(t), kind.create(t), kind.create(t)] as const
    await importWhole(stores[0], FIRST)
    await importWhole(stores[1], await changed(t, { isZip64: true }))
    const reversed = (entries: Map<string, string>) => {
      for (const entry of [BLOCKS, POINTS]) {
        const lines = entries.get(entry)!.trimEnd().split('\n')
        const turn = (line: string, index: number) =>
          [...line.split(',').reverse(), index === 0 ? 'further' : 'x'].join(',')
        entries.set(entry, `${lines.map(turn).join('\n')}\n`)
      }
    }
    await importWhole(stores[2], await changed(t, { edit: reversed }))
    const expected = await dumpStore(stores[0])
    for (const store of stores.slice(1)) assertSameDump(await dumpStore(store), expected, 'written otherwise')
  })

  test('leave nothing in the folder of sorting, killed or not', async (t) => {
    const temp = temporaryFolder(t)
    const store = kind.create(t)
    const command = `import ${PATHS.join(' ')} --store ${store} --temp ${temp}`
    const killed = startLyra(t, command)
    await killed.printed(/rows are sorted in \S+, which takes up to \d+ MB of disk/)
    assert.deepEqual(readdirSync(temp), [])
    killed.child.kill('SIGKILL')
    await killed.outcome
    assert.deepEqual(readdirSync(temp), [])
    await runWell(t, command)
    assert.deepEqual(readdirSync(temp), [])
    assertSameDump(await dumpStore(store), await wholeDump(), 'after a kill')
    const message = /no temporary file can be written in \S+nowhere \(.*\); name another folder with --temp/
    await assertFails(t, `${command}/nowhere`, message, 1)
  })

  test('have rows skipped that would be skipped in events, too', async (t) => {
    const edit = (entries: Map<string, string>) => {
      // By their columns: market, seq, source, price, TWAP, time, time of the block.
      const times = ['infinity', '-infinity', '0044-03-15 00:00:00+00 BC', '2023-13-45 10:00:00+00', '']
      const replaced: [column: number, value: string][] = [
        ...times.map((time): [number, string] => [5, time]),
        [3, 'NaN'],
        [3, '1'.repeat(300)],
        [4, ''],
        [2, 'SOURCE_OTHER'],
        [0, '\\x00'],
        [1, '-1'],
        [6, '1999-01-01 00:00:00+00'],
      ]
      editLines(POINTS, (lines) =>
        lines.map((line, index) =>
          line
            .split(',')
            .with(...(replaced[index] ?? [0, line.split(',')[0]!]))
            .join(','),
        ),
      )(entries)
      replaceIn(MARKET_DATA, /""party"": ""[0-9a-f]{64}""/, '""party"": ""nobody""')(entries)
    }
    const store = kind.create(t)
    const { report } = await importWhole(store, await changed(t, { edit }))
    assert.deepEqual(report.leftOut, {
      'invalid time': 5,
      'price is not a decimal number': 1,
      'number of more than 256 characters': 1,
      'twap is not a decimal number': 1,
      'unknown source': 1,
      'invalid market ID': 1,
      'seq of 2^63 or more': 1,
      'invalid party ID': 1,
      'its block is not in the source': 1,
    })
    assert.equal(
      (await dumpStore(store)).funding_period_data_points!.length,
      original.get(POINTS)!.split('\n').length - 14,
    )
  })

  test('without a table yield no rows of its resource, and that is reported', async (t) => {
    const store = kind.create(t)
    const edit = (entries: Map<string, string>) => {
      entries.delete(POINTS)
      replaceIn(PERIODS, 'internal_twap', 'twap_of_marks')(entries)
    }
    const { report } = await importWhole(store, await changed(t, { edit }))
    assert.deepEqual(
      report.notImported.map(({ resource, reason }) => [resource, reason.replace(/^.*zip:? /, '')]),
      [
        ['fundingPeriodDataPoints', 'has no entry history/funding_period_data_points'],
        ['fundingPeriods', 'currentstate/funding_period has no column internal_twap'],
      ],
    )
    assert.deepEqual(report.imported, [
      { from: '1', to: '300', lacks: ['fundingPeriodDataPoints', 'fundingPeriods'] },
    ])
    assertSays(
      describeImport({ ...report, foreignFiles: [] }),
      'fundingPeriods: not imported in blocks 1 to 300',
    )
  })

  test('with a gap between them stop there; --allow-gap records the gap, to be filled later', async (t) => {
    const store = kind.create(t)
    const { report, failure } = await importInto(store, [THIRD, FIRST])
    assert.ok(failure instanceof ImportGapError)
    assertSays(failure.message, 'expected block 301, found block 601: blocks 301 to 600 missing')
    assert.equal(report.height, '300')
    assert.deepEqual(
      report.imported.map(({ lacks }) => lacks),
      [OF_STATE],
    )
    const allowed = await importInto(store, [THIRD, FIRST], { allowGap: true })
    assert.equal(allowed.failure, null)
    assert.deepEqual(allowed.report.gaps, [
      { ...MISSING, start: '1696500299000000000', end: '1696500600000000000' },
    ])
    assert.deepEqual(allowed.report.imported, [
      { from: '1', to: '300' },
      { from: '601', to: '900' },
    ])
    const { report: filled } = await importWhole(store, PATHS)
    assert.deepEqual(filled.gaps, [])
    assert.equal(filled.blocks, 300)
    assertSameDump(await dumpStore(store), await wholeDump(), 'filled')
  })

  test('in any order, overlapping or repeated, result in the same tables; a gap below is reported', async (t) => {
    const whole = kind.create(t)
    await importWhole(whole, PATHS)
    const expected = await wholeDump()
    await importWhole(whole, PATHS)
    assertSameDump(await dumpStore(whole), expected, 'repeated')
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'sub'))
    for (const path of PATHS) copyFileSync(path, join(folder, basename(path)))
    const store = kind.create(t)
    await importWhole(store, [THIRD])
    const below = await importInto(store, FIRST)
    assertSays(
      below.failure!.message,
      'still missing below block 601, the first block of the store: blocks 301 to 600',
    )
    assert.equal(below.report.blocks, 300)
    // The time of the first block that the store had is not known, but that of its first checkpoint.
    assert.deepEqual(below.report.gaps, [
      { ...MISSING, start: '1696500299000000000', end: '1696500624000000000' },
    ])
    const { report } = await importWhole(store, [folder, SECOND])
    assert.equal(report.heldBlocks, 900)
    assertSameDump(await dumpStore(store), expected, 'in pieces')
  })

  test('continue after an interruption, and result in the same tables', async (t) => {
    const store = kind.create(t)
    const stop = new AbortController()
    const onProgress = () => stop.abort()
    const { report, failure } = await importInto(store, PATHS, { signal: stop.signal, onProgress })
    assert.equal(failure, null)
    assert.ok(report.interrupted)
    assert.equal(report.height, '300')
    assert.deepEqual(report.imported[0]!.lacks, OF_STATE)
    await importWhole(store, PATHS)
    assertSameDump(await dumpStore(store), await wholeDump(), 'interrupted')
  })
})
