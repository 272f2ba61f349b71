import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { EVENT_KIND } from '#core/events/bus-event'
import type { GivenParameters } from '#tools/verify/parameters'
import type { FundingReport, FundingUnknownReason, VerifyReport } from '#tools/verify/tally'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  type Content,
  content,
  dataPoint,
  fileOf,
  MARKET,
  type MadeBlock,
  message,
  perpetual,
} from '../fixtures/events/event-stream.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { pruneBefore, storeOf } from '../fixtures/services/service.ts'
import { recorded, SAMPLE } from '../fixtures/shared.ts'
import { ANY_STORE_KIND, fileWith, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { verifyFile, verifyStored } from '../fixtures/stores/verify.ts'

/** The parameters of the markets of perps-calm and perps-long. */
const FLAGS = '--interest-rate 0.1 --clamp-lower-bound -0.0001 --clamp-upper-bound 0.0001'

/** Those of a market without parameters: no interest. */
const EMPTY: GivenParameters = { interestRate: '' }

const all = (agree: number) => ({ agree, differ: 0, unknown: 0 })

describe('recordings of the core', () => {
  for (const kind of ANY_STORE_KIND) {
    test(`agree from ${kind.name} with its own parameters, and mostly after points were pruned`, async (t) => {
      const path = recorded('perps-long-named')
      const store = await storeOf(t, kind, path)
      const { funding } = await verifyStored(store)
      assert.deepEqual([funding.paidPeriods, funding.estimates], [all(128), all(0)])
      await runSql(
        store,
        `update funding_periods set funding_payment = '1' where seq = 7 and funding_payment is not null`,
      )
      const altered = await verifyStored(store)
      assert.equal(altered.funding.paidPeriods.differ, altered.funding.differenceCount)
      assert.ok(altered.funding.differenceCount > 0)
      for (const { seq, values } of altered.funding.differences) {
        assert.deepEqual(
          [seq, values.map(({ name, sent }) => [name, sent])],
          ['7', [['fundingPayment', '1']]],
        )
      }
      // The start of each market's first period is gone; altered values still differ.
      await pruneBefore(store, 1709273400000000000n, 'time')
      const pruned = await verifyStored(store)
      const { differ } = altered.funding.paidPeriods
      assert.deepEqual(pruned.funding.paidPeriods, { agree: 125 - differ, differ, unknown: 3 })
    })
  }
})

const S = 1_000_000_000

/** The events of a period of ten seconds, which opens in the block at `seq` times ten seconds. */
const opening = (seq: number) =>
  content(EVENT_KIND.fundingPeriod, { 1: MARKET, 2: seq, 3: BigInt(seq * 10 * S) })

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
) =>
  content(EVENT_KIND.fundingPeriod, {
    1: MARKET,
    2: seq,
    3: BigInt(seq * 10 * S),
    4: BigInt((seq * 10 + length) * S),
    5: payment,
    6: rate,
    7: internal,
    8: external,
  })

/** The points for the TWAPs of {@link closing}. */
const points = (seq: number): Content[] => [
  dataPoint({ seq, source: 1, price: '100', timestamp: BigInt(seq * 10 * S), twap: '100' }),
  dataPoint({ seq, source: 2, price: '150', timestamp: BigInt(seq * 10 * S), twap: '150' }),
]

async function fundingOf(
  t: TestContext,
  blocks: readonly MadeBlock[],
  parameters: GivenParameters = {},
): Promise<FundingReport> {
  return (await verifyFile(fileWith(t, fileOf(...blocks)), { parameters })).funding
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
      const report = await fundingOf(t, [
        { height: 1, events: [perpetual({}, funding), opening(0), ...points(0)] },
        { height: 2, events: [closing(0, sent)] },
      ])
      assert.deepEqual(
        report.differences.flatMap(({ values }) => values.map((value) => value.name)),
        differing,
      )
      assert.deepEqual(report.unknownReasons, {})
    })
  }

  const first = [opening(0), ...points(0)]
  const twice = (seq: number) => closing(seq, { payment: '100', rate: '1' })
  const [skipped, tripled] = [perpetual({ state: 99 }, { 10: '2' }), perpetual({}, { 10: '3' })]
  const damaged = dataPoint({ price: 'none' })
  const inForce = [
    [perpetual(), ...first],
    [perpetual({}, { 10: '2' }), twice(0)],
    [opening(1), ...points(1)],
    [twice(1), perpetual()],
    [opening(2), ...points(2)],
    [closing(2)],
  ]
  /** The second block is missing. */
  const gap = [
    [perpetual()],
    [],
    first,
    [closing(0, { payment: '7' })],
    [opening(1), ...points(1)],
    [closing(1)],
  ]
  const noNumber = [[perpetual({}, { 4: 'a lot' }), ...first], [closing(0)]]
  const own = [
    [perpetual({}, { 10: '2', 12: '0.7' }), ...first],
    [closing(0, { payment: '70', rate: '0.7' })],
  ]
  const changed = 'parameters may have changed'
  /** Events of blocks, given parameters, the numbers of payments that agree and differ, and why one more is unknown. */
  const streams: [
    name: string,
    blocks: Content[][],
    given: GivenParameters,
    agree: number,
    differ: number,
    unknown?: FundingUnknownReason,
  ][] = [
    ['pays by the parameters in force when it ends', inForce, {}, 3, 0],
    ['may have other parameters if events are missing', gap, {}, 1, 0, changed],
    ['has no other parameters than those given if events are missing', gap, EMPTY, 1, 1],
    [
      'may have other parameters if a market event was skipped before another',
      [
        [perpetual(), ...first],
        [skipped, tripled, twice(0)],
      ],
      {},
      0,
      0,
      changed,
    ],
    [
      'may have other parameters if a market event was skipped after another',
      [
        [perpetual(), ...first],
        [tripled, skipped, twice(0)],
      ],
      {},
      0,
      0,
      changed,
    ],
    [
      'may have other parameters if a market event was skipped in an earlier block',
      [[perpetual(), ...first], [skipped], [twice(0)]],
      {},
      0,
      0,
      changed,
    ],
    [
      'has known parameters again after a market event',
      [[perpetual(), ...first], [skipped], [perpetual()], [closing(0, { payment: '7' })]],
      {},
      0,
      1,
    ],
    [
      'is unknown if an event was skipped in its block',
      [
        [perpetual(), ...first],
        [damaged, closing(0, { payment: '7' })],
      ],
      EMPTY,
      0,
      0,
      'events missing',
    ],
    [
      'is unknown if an event was skipped before, and known in the next period',
      [
        [perpetual(), ...first, damaged],
        [closing(0, { payment: '7' }), opening(1), ...points(1)],
        [closing(1)],
      ],
      EMPTY,
      1,
      0,
      'events missing',
    ],
    ['is unknown if its start is missing', [[perpetual()], [closing(0)]], {}, 0, 0, 'events missing'],
    ['is unknown if its parameters are not numbers', noNumber, {}, 0, 0, 'not a number'],
    ['is known if they are given', noNumber, EMPTY, 1, 0],
    ['has its own parameters', own, {}, 1, 0],
    ['has a given parameter beside its own', own, { scalingFactor: '3' }, 1, 0],
    ['has a given parameter instead of its own', own, { upperBound: '2' }, 0, 1],
  ]
  for (const [name, blocks, given, agree, differ, unknown] of streams) {
    test(name, async (t) => {
      const made = blocks.map((events, index) => ({ height: index + 1, events }))
      const report = await fundingOf(
        t,
        made.filter(({ events }) => events.length > 0),
        given,
      )
      assert.deepEqual(report.paidPeriods, { agree, differ, unknown: unknown === undefined ? 0 : 1 })
      assert.deepEqual(report.unknownReasons, unknown === undefined ? {} : { [unknown]: 1 })
    })
  }
})

describe("the core's estimate of a running period", () => {
  const estimate = (said: Uint8Array) =>
    content(EVENT_KIND.marketData, { 12: MARKET, 31: message({ 31: said }) })
  const right = { 1: '50', 2: '0.5', 3: '150', 4: '100', 5: 1, 6: BigInt(10 * S) }
  const reportOf = (t: TestContext, said: Uint8Array) =>
    fundingOf(t, [
      { height: 9, events: [perpetual(), opening(0), ...points(0)] },
      { height: 10, events: [closing(0), opening(1), ...points(1)] },
      { height: 11, events: [estimate(said)] },
    ])

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

  test('of a market that ended in an auction counts on in it: the core does not tell its product', async (t) => {
    const entering = content(EVENT_KIND.auction, { 1: MARKET, 4: BigInt(5 * S), 5: BigInt(60 * S) })
    const data = { 1: '22', 2: '0.2272727272727273', 3: '150', 4: '100', 6: 0 }
    const report = await fundingOf(t, [
      { height: 1, events: [perpetual(), opening(0), ...points(0)] },
      ...[2, 3, 4, 5, 6, 7, 8, 9].map((height) => ({ height, events: height === 5 ? [entering] : [] })),
      { height: 10, events: [closing(0, { payment: '25', rate: '0.25' }), perpetual({ state: 8 })] },
      { height: 11, events: [estimate(message(data))] },
    ])
    assert.deepEqual(report.differences, [])
    assert.deepEqual([report.paidPeriods, report.estimates], [all(1), all(1)])
  })

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
    const unnamed = await runWell(t, `verify ${SAMPLE}`)
    assert.match(unnamed.stdout, /payments and rates of periods +0 +0 +45\n/)
    assertSays(unnamed.stdout, 'unknown: 2,738, ...--interest-rate')
    const files = await runWell(t, `verify ${SAMPLE} ${FLAGS}`)
    assert.match(files.stdout, /payments and rates of periods +45 +0 +0\n/)
    const store = await storeOf(t, STORE_KINDS.at(-1)!, SAMPLE)
    const { stdout } = await runWell(t, `verify --store ${store} ${FLAGS} --json`)
    assert.deepEqual((JSON.parse(stdout) as VerifyReport).funding.paidPeriods, all(45))
  })

  test('prints both values of each difference, by market and period, and exits with 1', async (t) => {
    const bytes = fileOf(
      { height: 1, events: [opening(0), ...points(0)] },
      { height: 2, events: [closing(0)] },
    )
    const { stdout, code } = await runLyra(t, `verify ${fileWith(t, bytes)} --scaling-factor 2`)
    assert.equal(code, 1)
    assert.match(
      stdout,
      new RegExp(
        `market ${MARKET}, funding period 0\\n {2}paid period at 1970-01-01T00:00:10Z \\(10000000000\\), block 2, event 2\\n {2}fundingPayment: sent 50, expected 100\\n {2}fundingRate: sent 0\\.5, expected 1\\n?$`,
      ),
    )
    await runWell(t, `verify ${fileWith(t, bytes)} --rate-upper-bound 0.6 --rate-lower-bound -1`)
  })
})
