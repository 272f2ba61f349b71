import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { EVENT_KIND } from '#core/events/bus-event'
import type { TwapMethod } from '#core/funding/market-verifier'
import { findEventFiles } from '#core/records/event-paths'
import { pruneStore } from '#core/store/pruning/prune-store'
import type { GivenParameters } from '#tools/verify/parameters'
import type { FundingReport, VerifyReport } from '#tools/verify/tally'
import { verifyFiles } from '#tools/verify/verify-files'
import { verifyStore } from '#tools/verify/verify-store'
import {
  type Content,
  dataPoint,
  fileOf,
  joinRecords,
  MARKET,
  message,
  perpetual,
  readRecording,
  recordsOf,
} from './fixtures/event-stream.ts'
import { runLyra, runWell } from './fixtures/program.ts'
import { runSql } from './fixtures/raw-sql.ts'
import { SILENT, storeOf } from './fixtures/service.ts'
import { recorded, SAMPLE } from './fixtures/shared.ts'
import { ANY_STORE_KIND, openStore, STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const ALL = { marketId: null, seq: null }
const NEVER = new AbortController().signal

/** The parameters of the markets of perps-calm and perps-long. */
const GIVEN: GivenParameters = { interestRate: '0.1', clampLowerBound: '-0.0001', clampUpperBound: '0.0001' }
const FLAGS = ['--interest-rate', '0.1', '--clamp-lower-bound', '-0.0001', '--clamp-upper-bound', '0.0001']

/** Those of a market without parameters: no interest. */
const EMPTY: GivenParameters = { interestRate: '' }

async function ofFiles(
  path: string,
  parameters: GivenParameters = {},
  method: TwapMethod = 'running-sum',
): Promise<VerifyReport> {
  const options = {
    input: findEventFiles([path]),
    method,
    filter: ALL,
    parameters,
    log: SILENT,
    signal: NEVER,
  }
  const { report, failure } = await verifyFiles(options)
  if (failure !== null) throw failure
  return report
}

const all = (agree: number) => ({ agree, differ: 0, unknown: 0 })

function fileWith(t: TestContext, bytes: Uint8Array): string {
  const path = join(temporaryFolder(t), 'made.evts')
  writeFileSync(path, bytes)
  return path
}

describe('recordings of the core', () => {
  for (const kind of ANY_STORE_KIND) {
    test(`agree from ${kind.name} with its own parameters, and mostly after points were pruned`, async (t) => {
      const path = recorded('perps-long-named')
      const store = await storeOf(t, kind, path)
      const options = { method: 'running-sum', filter: ALL, signal: NEVER } as const
      const { funding } = await verifyStore(openStore(store), options)
      assert.deepEqual([funding.paidPeriods, funding.estimates], [all(128), all(0)])
      await runSql(
        store,
        `update funding_periods set funding_payment = '1' where seq = 7 and funding_payment is not null`,
      )
      const altered = await verifyStore(openStore(store), options)
      assert.equal(altered.funding.paidPeriods.differ, altered.funding.differenceCount)
      assert.ok(altered.funding.differenceCount > 0)
      for (const { seq, values } of altered.funding.differences) {
        assert.deepEqual(
          [seq, values.map(({ name, sent }) => [name, sent])],
          ['7', [['fundingPayment', '1']]],
        )
      }
      // Given parameters take precedence.
      const given = await verifyStore(openStore(store), { ...options, parameters: { scalingFactor: '2' } })
      assert.ok(given.funding.paidPeriods.differ > 100)
      const unnamed = await storeOf(t, kind, SAMPLE)
      const unknown = await verifyStore(openStore(unnamed), options)
      assert.deepEqual(unknown.funding.unknownReasons, { 'parameters not known': 45 })
      const named = await verifyStore(openStore(unnamed), { ...options, parameters: GIVEN })
      assert.deepEqual(named.funding.paidPeriods, all(45))
      // The start of each market's first period is gone; altered values still differ.
      await pruneStore(openStore(store), { by: 'time', before: 1709273400000000000n })
      const pruned = await verifyStore(openStore(store), options)
      const { differ } = altered.funding.paidPeriods
      assert.deepEqual(pruned.funding.paidPeriods, { agree: 125 - differ, differ, unknown: 3 })
    })
  }
})

/** The altered protobuf fields of a period's event, and of market data's perpetual data. */
const PAYMENT = 5
const RATE = 6

/** A named recording with one digit of a text altered in a selected event of a kind. */
function altered(t: TestContext, choose: (record: Buffer) => number | null, kind: number): string {
  const path = recorded('perps-calm-named')
  const records = recordsOf(readRecording(path))
  for (const record of records) {
    const at = record.kind === kind ? choose(record.bytes) : null
    if (at === null) continue
    record.bytes[at] = record.bytes[at] === 0x39 ? 0x38 : record.bytes[at]! + 1
    return fileWith(t, joinRecords(records))
  }
  throw new Error('no event to alter')
}

/** The place of a text's last digit, for the text after a field's tag in an event's last bytes; null for none. */
function lastDigit(bytes: Buffer, field: number): number | null {
  // Fields of a period's event are in order: market, seq, start, end, payment, rate, TWAPs.
  for (let at = bytes.length - 100; at < bytes.length - 3; at++) {
    if (bytes[at] !== field * 8 + 2) continue
    const end = at + 2 + bytes[at + 1]!
    const isText = end <= bytes.length && /^-?[0-9.]{3,}$/.test(bytes.toString('latin1', at + 2, end))
    if (isText && (end === bytes.length || bytes[end]! === (field + 1) * 8 + 2)) return end - 1
  }
  return null
}

describe('a value altered by one digit', () => {
  const cases: [name: 'fundingPayment' | 'fundingRate', field: number][] = [
    ['fundingPayment', PAYMENT],
    ['fundingRate', RATE],
  ]
  for (const [name, field] of cases) {
    test(`is found in a period's ${name}, with both values and its place`, async (t) => {
      const path = altered(t, (bytes) => lastDigit(bytes, field), EVENT_KIND.fundingPeriod)
      const { funding, differenceCount } = await ofFiles(path)
      assert.equal(differenceCount, 0)
      assert.deepEqual(
        [funding.paidPeriods, funding.differenceCount],
        [{ agree: 44, differ: 1, unknown: 0 }, 1],
      )
      const [difference] = funding.differences
      assert.deepEqual(
        [difference!.of, difference!.further, difference!.values.length],
        ['paid period', 0, 1],
      )
      const [value] = difference!.values
      assert.equal(value!.name, name)
      assert.notEqual(value!.sent, value!.expected)
      assert.equal(value!.sent!.slice(0, -1), value!.expected!.slice(0, -1))
    })
  }

  test("is found in the core's estimate", async (t) => {
    const rate = Buffer.from('0.0009373514091091')
    const choose = (bytes: Buffer) => (bytes.includes(rate) ? bytes.indexOf(rate) + rate.length - 1 : null)
    const path = altered(t, choose, EVENT_KIND.marketData)
    const { funding } = await ofFiles(path)
    assert.deepEqual(funding.estimates, { agree: 2_692, differ: 1, unknown: 0 })
    assert.deepEqual(funding.differences[0]!.values, [
      { name: 'fundingRate', sent: '0.0009373514091092', expected: '0.0009373514091091' },
    ])
  })
})

const S = 1_000_000_000

/** The events of a period of ten seconds, which opens in the block at `seq` times ten seconds. */
const opening = (seq: number): Content => ({
  kind: EVENT_KIND.fundingPeriod,
  body: message({ 1: MARKET, 2: seq, 3: BigInt(seq * 10 * S) }),
})

type Closing = {
  payment?: string | null
  rate?: string | null
  internal?: string | null
  external?: string | null
  length?: number
}

const closing = (
  seq: number,
  { payment = '50', rate = '0.5', internal = '150', external = '100', length = 10 }: Closing = {},
): Content => ({
  kind: EVENT_KIND.fundingPeriod,
  body: message({
    1: MARKET,
    2: seq,
    3: BigInt(seq * 10 * S),
    4: BigInt((seq * 10 + length) * S),
    5: payment,
    6: rate,
    7: internal,
    8: external,
  }),
})

/** The points for the TWAPs of {@link closing}. */
const points = (seq: number): Content[] => [
  dataPoint({ seq, source: 1, price: '100', timestamp: BigInt(seq * 10 * S), twap: '100' }),
  dataPoint({ seq, source: 2, price: '150', timestamp: BigInt(seq * 10 * S), twap: '150' }),
]

async function fundingOf(
  t: TestContext,
  bytes: Uint8Array,
  given: GivenParameters = {},
): Promise<FundingReport> {
  return (await ofFiles(fileWith(t, bytes), given)).funding
}

describe('a closing period', () => {
  const rows: [name: string, funding: Record<number, string>, sent: Closing, differing: string[]][] = [
    ['pays by a scaling factor', { 10: '2' }, { payment: '100', rate: '1' }, []],
    ['pays no more than the upper bound', { 12: '0.25' }, { payment: '25', rate: '0.25' }, []],
    ['pays no less than the lower bound', { 11: '0.75' }, { payment: '75', rate: '0.75' }, []],
    ['pays nothing without a TWAP', {}, { payment: null, rate: null, internal: null }, []],
    ['pays nothing if its length is zero', {}, { payment: null, rate: null, length: 0 }, []],
    ['has no payment without a TWAP', {}, { internal: null }, ['fundingPayment', 'fundingRate']],
    ['has no payment if its length is zero', {}, { length: 0 }, ['fundingPayment', 'fundingRate']],
    ['has a payment if it has both', {}, { payment: null, rate: null }, ['fundingPayment', 'fundingRate']],
    ['has a rate if it has both', {}, { rate: null }, ['fundingRate']],
    ['has a rate without trailing zeros', {}, { rate: '0.50' }, ['fundingRate']],
  ]
  for (const [name, funding, sent, differing] of rows) {
    test(name, async (t) => {
      const report = await fundingOf(
        t,
        fileOf(
          { height: 1, events: [perpetual({}, funding), opening(0), ...points(0)] },
          { height: 2, events: [closing(0, sent)] },
        ),
      )
      assert.deepEqual(
        report.differences.flatMap(({ values }) => values.map((value) => value.name)),
        differing,
      )
      assert.deepEqual(report.unknownReasons, {})
    })
  }

  test('pays by the parameters in force when it ends', async (t) => {
    const bytes = fileOf(
      { height: 1, events: [perpetual(), opening(0), ...points(0)] },
      { height: 2, events: [perpetual({}, { 10: '2' }), closing(0, { payment: '100', rate: '1' })] },
      { height: 3, events: [opening(1), ...points(1)] },
      { height: 4, events: [closing(1, { payment: '100', rate: '1' }), perpetual()] },
      { height: 5, events: [opening(2), ...points(2)] },
      { height: 6, events: [closing(2)] },
    )
    assert.deepEqual((await fundingOf(t, bytes)).paidPeriods, all(3))
  })

  test('may have other parameters if events are missing, unless they are given', async (t) => {
    const bytes = fileOf(
      { height: 1, events: [perpetual()] },
      { height: 3, events: [opening(0), ...points(0)] },
      { height: 4, events: [closing(0, { payment: '7' })] },
      { height: 5, events: [opening(1), ...points(1)] },
      { height: 6, events: [closing(1)] },
    )
    const found = await fundingOf(t, bytes)
    assert.deepEqual(found.paidPeriods, { agree: 1, differ: 0, unknown: 1 })
    assert.deepEqual(found.unknownReasons, { 'parameters may have changed': 1 })
    assert.deepEqual((await fundingOf(t, bytes, EMPTY)).paidPeriods, { agree: 1, differ: 1, unknown: 0 })
  })

  for (const [where, events] of [
    ['before', [perpetual({ state: 99 }, { 10: '2' }), perpetual({}, { 10: '3' })]],
    ['after', [perpetual({}, { 10: '3' }), perpetual({ state: 99 }, { 10: '2' })]],
  ] as const) {
    test(`may have other parameters if a market event was skipped ${where} another`, async (t) => {
      const bytes = fileOf(
        { height: 1, events: [perpetual(), opening(0), ...points(0)] },
        { height: 2, events: [...events, closing(0, { payment: '100', rate: '1' })] },
      )
      const report = await ofFiles(fileWith(t, bytes))
      assert.deepEqual(report.funding.unknownReasons, { 'parameters may have changed': 1 })
      assert.deepEqual(report.closingTwaps, all(2))
    })
  }

  test('is unknown if its start is missing, or its parameters are not numbers', async (t) => {
    const cut = fileOf({ height: 1, events: [perpetual()] }, { height: 2, events: [closing(0)] })
    assert.deepEqual((await fundingOf(t, cut)).unknownReasons, { 'events missing': 1 })
    const bytes = fileOf(
      { height: 1, events: [perpetual({}, { 4: 'a lot' }), opening(0), ...points(0)] },
      { height: 2, events: [closing(0)] },
    )
    assert.deepEqual((await fundingOf(t, bytes)).unknownReasons, { 'not a number': 1 })
    assert.deepEqual((await fundingOf(t, bytes, EMPTY)).paidPeriods, all(1))
  })

  test('has given parameters instead of its own, one by one', async (t) => {
    const bytes = fileOf(
      { height: 1, events: [perpetual({}, { 10: '2', 12: '0.7' }), opening(0), ...points(0)] },
      { height: 2, events: [closing(0, { payment: '70', rate: '0.7' })] },
    )
    assert.deepEqual((await fundingOf(t, bytes)).paidPeriods, all(1))
    assert.deepEqual((await fundingOf(t, bytes, { scalingFactor: '3' })).paidPeriods, all(1))
    assert.deepEqual((await fundingOf(t, bytes, { upperBound: '2' })).paidPeriods.differ, 1)
  })
})

describe("the core's estimate of a running period", () => {
  const estimate = (said: Uint8Array): Content => ({
    kind: EVENT_KIND.marketData,
    body: message({ 12: MARKET, 31: message({ 31: said }) }),
  })
  const right = { 1: '50', 2: '0.5', 3: '150', 4: '100', 5: 1, 6: BigInt(10 * S) }
  const reportOf = (t: TestContext, said: Uint8Array) =>
    fundingOf(
      t,
      fileOf(
        { height: 9, events: [perpetual(), opening(0), ...points(0)] },
        { height: 10, events: [closing(0), opening(1), ...points(1)] },
        { height: 11, events: [estimate(said)] },
      ),
    )

  const rows: [name: string, said: object, differing: string[]][] = [
    ['agrees', {}, []],
    ['of another period differs', { 5: 2 }, ['seq']],
    ['of another start differs', { 6: 1 }, ['start']],
    ['of another internal TWAP differs', { 3: '149' }, ['internalTwap']],
    ['without an external TWAP differs', { 4: null }, ['externalTwap']],
    ['of another payment and rate differs', { 1: '51', 2: '0.51' }, ['fundingPayment', 'fundingRate']],
  ]
  for (const [name, said, differing] of rows) {
    test(`${name}`, async (t) => {
      const report = await reportOf(t, message({ ...right, ...said }))
      const names = report.differences.flatMap(({ values }) => values.map((value) => value.name))
      assert.deepEqual(names, differing)
      const agrees = differing.length === 0
      assert.deepEqual(report.estimates, { agree: agrees ? 1 : 0, differ: agrees ? 0 : 1, unknown: 0 })
    })
  }

  test('does not exist if market data have no period', async (t) => {
    assert.deepEqual((await reportOf(t, message({ 5: 1 }))).estimates, all(0))
  })

  const unreadable: [name: string, said: Uint8Array][] = [
    ['cannot be decoded', Buffer.from([0x0a, 0x09, 0x31])],
    ['is a terminal command instead of a number', message({ ...right, 1: '\u001b[2J' })],
  ]
  for (const [name, said] of unreadable) {
    test(`is unknown if it ${name}`, async (t) => {
      const report = await reportOf(t, said)
      assert.deepEqual(report.estimates, { agree: 0, differ: 0, unknown: 1 })
      assert.deepEqual(report.unknownReasons, { 'not a number': 1 })
    })
  }
})

describe('lyra verify', () => {
  test('has parameters from flags, from files and stores', async (t) => {
    const unnamed = await runWell(t, ['verify', SAMPLE])
    assert.match(unnamed.stdout, /payments and rates of periods +0 +0 +45\n/)
    assert.match(unnamed.stdout, /unknown: 2,738, .*--interest-rate/)
    const files = await runWell(t, ['verify', SAMPLE, ...FLAGS])
    assert.match(files.stdout, /payments and rates of periods +45 +0 +0\n/)
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    const { stdout, code } = await runLyra(t, ['verify', '--store', store, ...FLAGS, '--json'])
    assert.equal(code, 0)
    assert.deepEqual((JSON.parse(stdout) as VerifyReport).funding.paidPeriods, all(45))
  })

  test('prints both values of each difference, by market and period, and exits with 1', async (t) => {
    const bytes = fileOf(
      { height: 1, events: [opening(0), ...points(0)] },
      { height: 2, events: [closing(0)] },
    )
    const { stdout, code } = await runLyra(t, ['verify', fileWith(t, bytes), '--scaling-factor', '2'])
    assert.equal(code, 1)
    assert.match(
      stdout,
      new RegExp(
        `market ${MARKET}, funding period 0\\n {2}paid period at 1970-01-01T00:00:10Z \\(10000000000\\), block 2, event 2\\n {2}fundingPayment: sent 50, expected 100\\n {2}fundingRate: sent 0\\.5, expected 1\\n?$`,
      ),
    )
    const bounded = await runLyra(t, [
      'verify',
      fileWith(t, bytes),
      '--rate-upper-bound',
      '0.6',
      '--rate-lower-bound',
      '-1',
    ])
    assert.equal(bounded.code, 0)
  })
})
