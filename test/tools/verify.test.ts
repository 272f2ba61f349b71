import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { VerifyReport } from '#tools/verify/tally'
import {
  dataPoint,
  fileOf,
  fundingPeriod,
  joinRecords,
  readRecording,
  recordsOf,
} from '../fixtures/events/event-stream.ts'
import { sampled } from '../fixtures/sampling.ts'
import { assertFails, runLyra, runWell } from '../fixtures/services/program.ts'
import { pruneBefore, storeOf, tryIngest } from '../fixtures/services/service.ts'
import { MARKET, recorded, SAMPLE } from '../fixtures/shared.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, fileWith, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { verifyFile, verifyStored } from '../fixtures/stores/verify.ts'

/** The numbers of agreeing, differing and unknown TWAPs, by kind. */
function figures({ dataPoints, closingTwaps, openingTwaps }: VerifyReport): string[] {
  return [dataPoints, closingTwaps, openingTwaps].map(
    ({ agree, differ, unknown }) => `${agree} agree, ${differ} differ, ${unknown} unknown`,
  )
}

/**
 * The TWAPs in the recordings (shared/TWAP.md), and how many agree: closing TWAPs of periods with a length, by the
 * running sum and by the plain formula. The one that the running sum misses follows a refused message, which
 * leaves no event: it is unknown, not wrong. From a store those that depend on market data are unknown.
 */
const RECORDINGS: [
  name: string,
  points: number,
  closing: number,
  openings: number,
  running: number,
  plain: number,
  periods: number,
  estimates: number,
][] = [
  ['perps-calm-named', 2_298, 90, 90, 90, 90, 45, 2_693],
  ['perps-long-named', 5_204, 256, 294, 255, 235, 128, 7_793],
  ['twap', 16, 2, 2, 2, 2, 1, 7],
  ['twap-auction', 14, 2, 2, 2, 2, 1, 602],
  ['four-periods', 12, 5, 5, 5, 5, 2, 13],
]

const all = (agree: number) => ({ agree, differ: 0, unknown: 0 })

for (const [name, points, closing, openings, running, plain, periods, estimates] of RECORDINGS) {
  describe(`the recording ${name}`, () => {
    for (const [method, expected] of [
      ['running-sum', running],
      ['plain-formula', plain],
    ] as const) {
      test(`agrees from its file by the ${method}, except ${closing - expected} closing TWAPs, as do its payments and estimates`, async () => {
        // Without parameters of its own a market has no interest.
        const given = name.endsWith('-named') ? {} : { interestRate: '' }
        const report = await verifyFile(recorded(name), { method, parameters: given })
        const refused = method === 'running-sum' ? closing - expected : 0
        assert.deepEqual(figures(report), [
          `${points} agree, 0 differ, 0 unknown`,
          `${expected} agree, ${closing - expected - refused} differ, ${refused} unknown`,
          `${openings} agree, 0 differ, 0 unknown`,
        ])
        assert.equal(report.closingTwapsOfNoLength.differ, 0)
        assert.equal(report.differenceCount, closing - expected - refused)
        assert.deepEqual(report.unknownReasons, refused === 0 ? {} : { 'message refused': refused })
        assert.deepEqual(report.funding, {
          paidPeriods: all(periods),
          estimates: all(estimates),
          partyPayments: all(0),
          unknownReasons: {},
          differences: [],
          differenceCount: 0,
        })
      })
    }

    for (const kind of STORE_KINDS) {
      test(`agrees from ${kind.name}, except TWAPs that depend on market data`, async (t) => {
        const path = recorded(name)
        const store = await storeOf(t, kind, path)
        const unknown = closing - plain
        for (const [method, differ] of [
          ['running-sum', 0],
          ['plain-formula', unknown],
        ] as const) {
          const report = await verifyStored(store, { method })
          assert.deepEqual(figures(report).slice(0, 2), [
            `${points} agree, 0 differ, 0 unknown`,
            `${plain} agree, ${differ} differ, ${unknown - differ} unknown`,
          ])
          assert.equal(report.openingTwaps.differ, 0)
          if (method === 'running-sum')
            assert.deepEqual(
              report.unknownReasons,
              unknown === 0 ? {} : { 'market data not stored': unknown },
            )
        }
      })
    }
  })
}

/** A point of the sample: not the first of its source and period, and external. */
const POINT = { source: 1, seq: 3n, timestamp: 1696500203000000000n }

/** The sample with the TWAP of {@link POINT} altered by one. */
function alteredSample(t: TestContext): string {
  const records = recordsOf(readRecording(SAMPLE))
  // The last field of a data point is its TWAP: its last digit is the last byte of the record.
  const { bytes } = records.find(
    ({ kind, bytes }) =>
      kind === 160 && bytes.includes(MARKET) && /^[1-8]$/.test(String.fromCharCode(bytes.at(-1)!)),
  )!
  bytes[bytes.length - 1]! += 1
  return fileWith(t, joinRecords(records))
}

describe('a point with its TWAP altered by one', () => {
  for (const kind of ANY_STORE_KIND) {
    test(`is found in ${kind.name}, wherever it is`, async (t) => {
      const store = await storeOf(t, kind, SAMPLE)
      const rows = (await dumpStore(store)).funding_period_data_points!
      for (const row of sampled('change', rows)) {
        const [marketId, source, timestamp, seq, price, twap] = JSON.parse(row) as string[]
        const where = `market = (select market from markets where market_id = '${marketId}') and source = ${source} and timestamp = ${timestamp} and seq = ${seq}`
        const setTwap = (value: string) =>
          runSql(store, `update funding_period_data_points set twap = '${value}' where ${where}`)
        await setTwap((BigInt(twap!) + 1n).toString())
        const filter = { marketId: marketId!, seq: BigInt(seq!) }
        const { differences, differenceCount } = await verifyStored(store, { filter })
        assert.equal(differenceCount, 1, `${where}, price ${price}`)
        assert.deepEqual(
          [differences[0]!.timestamp, differences[0]!.seq, differences[0]!.expected, differences[0]!.sent],
          [timestamp, seq, twap, (BigInt(twap!) + 1n).toString()],
        )
        await setTwap(twap!)
      }
      assert.equal((await verifyStored(store)).differenceCount, 0)
    })

    test(`an altered price changes the TWAPs that follow from it, on ${kind.name}`, async (t) => {
      const store = await storeOf(t, kind, SAMPLE)
      const { source, seq, timestamp } = POINT
      await runSql(
        store,
        `update funding_period_data_points set price = '1${'0'.repeat(12)}'
          where source = ${source} and seq = ${seq} and timestamp = ${timestamp}
            and market = (select market from markets where market_id = '${MARKET}')`,
      )
      const { differences, differenceCount } = await verifyStored(store)
      assert.equal(differenceCount, 1)
      const { marketId, seq: found, further, agreedBefore } = differences[0]!
      assert.deepEqual([marketId, found], [MARKET, String(seq)])
      assert.ok(further > 0 && agreedBefore > 0)
    })
  }
})

describe('a TWAP with missing events', () => {
  /** Cuts a recording: its first height, the missing heights, and blocks with a missing event, up to a height. */
  function withGaps(
    path: string,
    start: number,
    gaps: [number, number][],
    [first, last]: readonly [number, number],
  ): Buffer {
    const records = recordsOf(readRecording(path))
    return joinRecords(
      records.filter(
        ({ height, index }) =>
          height >= start &&
          !gaps.some(([from, to]) => height >= from && height <= to) &&
          !(height >= first && height <= last && index === 3),
      ),
    )
  }

  const cases: [start: number, gaps: [number, number][], incomplete: number | [number, number]][] = [
    [0, [[195, 254]], -1],
    [
      0,
      [
        [342, 380],
        [1379, 1425],
      ],
      2389,
    ],
    [1338, [], -1],
    [2040, [[2411, 2432]], -1],
    [0, [], 575],
    // Adjacent ones are one gap.
    [0, [], [570, 640]],
    [
      872,
      [
        [926, 942],
        [1807, 1813],
      ],
      1200,
    ],
  ]
  for (const [start, gaps, incomplete] of cases) {
    const shown = `from ${start}, without ${gaps.map(([from, to]) => `${from}-${to}`).join(', ') || 'none'}, ${String(incomplete)} incomplete`
    test(`is unknown, and never differs: ${shown}`, async (t) => {
      const recording = recorded('perps-long')
      const ends = typeof incomplete === 'number' ? ([incomplete, incomplete] as const) : incomplete
      const path = fileWith(t, withGaps(recording, start, gaps, ends), 'gaps.evts')
      const files = await verifyFile(path)
      assert.deepEqual(files.differences, [])
      assert.ok(files.dataPoints.agree > 900 && files.dataPoints.unknown > 20)
      for (const kind of ANY_STORE_KIND) {
        const store = kind.create(t)
        assert.equal((await tryIngest(store, path, { allowGap: true })).failure, null)
        const report = await verifyStored(store)
        assert.deepEqual(report.differences, [], kind.name)
        const { agree, differ, unknown } = report.dataPoints
        const total = files.dataPoints.agree + files.dataPoints.unknown
        assert.deepEqual([agree + unknown, differ], [total, 0])
        assert.ok(Math.abs(agree - files.dataPoints.agree) < 50, `${agree} of ${files.dataPoints.agree}`)
      }
    })
  }

  for (const kind of STORE_KINDS) {
    test(`after rows were pruned from ${kind.name} is unknown, and complete periods still agree`, async (t) => {
      const recording = recorded('perps-long')
      const store = await storeOf(t, kind, recording)
      await pruneBefore(store, 1709273400000000000n, 'time')
      const byTime = await verifyStored(store)
      assert.deepEqual(byTime.differences, [])
      assert.ok(byTime.unknownReasons['points pruned']! > 0)
      assert.ok(byTime.dataPoints.agree > 3_500 && byTime.dataPoints.unknown < 150)
      await pruneBefore(store, 1_500n)
      const byBoth = await verifyStored(store)
      assert.deepEqual(byBoth.differences, [])
      assert.ok(byBoth.dataPoints.agree > 1_800 && byBoth.dataPoints.unknown < 150)
    })
  }
})

describe('lyra verify', () => {
  test('prints a report, and exits with 0', async (t) => {
    const { stdout } = await runWell(t, `verify ${recorded('perps-calm-named')}`)
    assert.match(stdout, /^TWAPs of 3 markets, as the core computes them/)
    for (const line of [
      /data points +2,298 +0 +0\n/,
      /closing TWAPs +90 +0 +0\n/,
      /payments and rates of periods +45 +0 +0\n/,
      /estimates in market data +2,693 +0 +0\n?$/,
    ])
      assert.match(stdout, line)
  })

  test('prints differences with their reasons, as text and JSON, and exits with 1', async (t) => {
    const path = alteredSample(t)
    const people = await runLyra(t, `verify ${path}`)
    assert.equal(people.code, 1)
    assert.match(
      people.stdout,
      new RegExp(`market ${MARKET}, funding period \\d+, SOURCE_\\w+\\n {2}data point at`),
    )
    assert.match(people.stdout, /sent \d+, expected \d+; \d+ agree before it, 0 more differ\n/)
    const machines = await runLyra(t, `verify --json --method plain-formula ${path}`)
    assert.equal(machines.code, 1)
    const report = JSON.parse(machines.stdout) as VerifyReport & { method: string; error: string | null }
    assert.deepEqual([report.method, report.error, report.differenceCount], ['plain-formula', null, 1])
    const { marketId, of, sent, expected, further } = report.differences[0]!
    assert.deepEqual([marketId, of, further], [MARKET, 'data point', 0])
    assert.equal(BigInt(sent!) - BigInt(expected!), 1n)
    assert.deepEqual(report.dataPoints, { agree: 2_297, differ: 1, unknown: 0 })
  })

  test('verifies a store, of one market and period on request', async (t) => {
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    const ofOne = `--market ${MARKET.toUpperCase()} --seq 3 --json`
    const { stdout } = await runWell(t, `verify --store ${store} ${ofOne}`)
    const report = JSON.parse(stdout) as VerifyReport
    assert.equal(report.markets, 1)
    assert.deepEqual(report.closingTwaps, { agree: 2, differ: 0, unknown: 0 })
    assert.ok(report.dataPoints.agree > 40 && report.dataPoints.agree < 100)
    const none = (what: string) =>
      `lyra: no TWAP found of ${what}; without --market and --seq everything is verified\n`
    for (const given of [`--store ${store}`, SAMPLE]) {
      const short = await runWell(t, `verify ${given} --market ${MARKET.slice(0, 4)} --seq 3 --json`)
      assert.deepEqual(JSON.parse(short.stdout).dataPoints, report.dataPoints)
      const unknown = none('a market whose id begins with abc')
      await assertFails(t, `verify ${given} --market abc`, unknown, 1)
    }
    await assertFails(t, `verify --store ${store} --seq 999`, none('funding period 999'), 1)
  })

  test('reports an ambiguous start of a market id', async (t) => {
    const events = [`ab${'0'.repeat(62)}`, `ac${'0'.repeat(62)}`].flatMap((marketId) => [
      fundingPeriod({ marketId }),
      dataPoint({ marketId }),
    ])
    const file = fileWith(t, fileOf({ height: 3, events }))
    const store = await storeOf(t, STORE_KINDS.at(-1)!, file)
    const ambiguous = 'lyra: --market a is ambiguous: it matches the ids of 2 markets; give more digits\n'
    for (const given of [`--store ${store}`, file]) {
      await assertFails(t, `verify ${given} --market A`, ambiguous, 1)
      await runWell(t, `verify ${given} --market ab`)
    }
  })

  test('damaged input is reported, after the results until then', async (t) => {
    const path = fileWith(t, Buffer.concat([readRecording(SAMPLE), Buffer.alloc(64)]), 'damaged.evts')
    const { stdout, stderr, code } = await runLyra(t, `verify ${path}`)
    assert.equal(code, 1)
    assert.match(stdout, /data points +2,298 /)
    assert.match(stderr, /damaged\.evts, record 7882, offset \d+: .*\n$/)
  })
})
