import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDecimal, textOfDecimal } from '#core/domain/decimal'
import { positionSize } from '#core/domain/statement'
import { formatTime } from '#core/domain/time'
import { createLyraClient, type PartyStatementAnswer, type StatementRow } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  asset,
  type Content,
  content,
  epoch,
  fileOf,
  idOf,
  loss,
  MARKET,
  type MadeBlock,
  message,
  PARTY,
  paidFees,
  payments,
  perpetual,
  provision,
} from '../fixtures/events/event-stream.ts'
import {
  decimalText,
  type ModelMarket,
  type ModelRow,
  statementModel,
} from '../fixtures/models/statement-model.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { ingest, pruneBefore, serve, serveFile, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH, recordingPath, skip } from '../fixtures/shared.ts'
import { describeOn, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'

const pathOf = (party: string, query = '') => `/api/v2/party-statements/${party}?${query}`
const statementOf = (base: string, party: string, query = '') =>
  getJson<PartyStatementAnswer>(base, pathOf(party, query))
const rangeOf = (start: bigint | number | null, end: bigint | number | null) =>
  [
    start === null ? [] : `dateRange.startTimestamp=${start}`,
    end === null ? [] : `dateRange.endTimestamp=${end}`,
  ]
    .flat()
    .join('&')
const seconds = (start: number | null, end: number | null) => rangeOf(start && start * 1e9, end && end * 1e9)

/** The rows of a party as a statement has them, but for sizes, from the model. */
function expectedRows(rows: readonly ModelRow[], markets: ReadonlyMap<string, ModelMarket>) {
  const totals = new Map<string, bigint>()
  return rows.map(({ time, marketId, kind, number, rate, amount, lossAmount }) => {
    const { code, symbol, decimals } = markets.get(marketId)!
    const total = (totals.get(symbol) ?? 0n) + (amount ?? 0n)
    totals.set(symbol, total)
    const isPayment = kind === 'funding payment'
    return {
      time: formatTime(time),
      market: code,
      marketId,
      kind,
      period: isPayment ? `${number}` : null,
      epoch: isPayment ? null : `${number}`,
      rate,
      amount: amount === null ? null : decimalText(amount, decimals),
      runningTotal: amount === null ? null : decimalText(total, decimals),
      lossAmount: isPayment ? decimalText(lossAmount, decimals) : null,
      asset: symbol,
      note: amount === null ? 'the fee penalty of this epoch is not known' : null,
    }
  })
}

const withoutSize = ({ size, assetId, ...row }: StatementRow) => row

/** Some fields of rows, as texts. */
const shown = (rows: readonly StatementRow[], ...names: (keyof StatementRow)[]) =>
  rows.map((row) => names.map((name) => row[name] ?? '-').join(' '))

/** A market's period that has ended with a payment of one whole unit. */
const period = (seq: number, payment: string, marketId = MARKET) =>
  content(159, { 1: marketId, 2: seq, 3: 1, 4: 2, 5: payment, 6: '0.001', 7: '100', 8: '100' })

/** The market's data with the fee penalties of its parties for the epoch that has ended. */
const penalties = (of: Record<string, string>, marketId = MARKET) =>
  content(111, {
    12: marketId,
    32: Object.entries(of).map(([party, penalty]) =>
      message({ 1: party, 3: '0.9', 4: penalty, 5: '0', 7: '9' }),
    ),
  })

const [OTHER_PARTY, OTHER_MARKET] = [idOf('c'), idOf('d')]

/** Five decimals of the asset; the first is a market with whole tens of position as its steps. */
const NAMED: MadeBlock = {
  height: 1,
  events: [asset(), perpetual(), perpetual({ marketId: OTHER_MARKET, code: 'CD/PERP' })],
}

const at = (height: number, ...events: Content[]): MadeBlock => ({ height, events })

test('The size of a position is told from its payment if a step is worth two units, and no unit is missing', () => {
  const cases: [amount: string, unitPayment: string, decimals: bigint, size: string | null][] = [
    ['-100', '100', 0n, '1'],
    ['100', '100', 0n, '-1'],
    ['-149', '100', 2n, null],
    ['-149', '200', 2n, null],
    ['-149', '2000', 2n, null],
    // 0.07 of 2,151 are 150.57.
    ['-150', '2151', 2n, '0.07'],
    ['150', '-2151', 2n, '0.07'],
    ['-150', '-2151', 2n, '-0.07'],
    // A loser that paid less than it should have.
    ['-140', '2151', 2n, null],
    ['-152', '2151', 2n, null],
    ['0', '2151', 2n, '0'],
    ['-30', '3', -1n, '10'],
    ['-33', '3', -1n, null],
    ['5', '0', 0n, null],
    ['5', '1', 0n, null],
    ['6', '2', 0n, '-3'],
    ['6', '2', 101n, null],
    ['6', '2', -101n, null],
    ['-12.5', '2.5', 0n, '5'],
    [`${-(10n ** 40n)}`, '10', 0n, `${10n ** 39n}`],
  ]
  for (const [amount, unitPayment, decimals, expected] of cases) {
    const size = positionSize(parseDecimal(amount)!, parseDecimal(unitPayment)!, decimals)
    assert.equal(size && textOfDecimal(size), expected, `${amount} ${unitPayment} ${decimals}`)
  }
})

describeOn(STORE_KINDS, 'a statement', (kind) => {
  test('of a month has what its events say, for each party, and running totals', async () => {
    const base = await serveFile(kind, MONTH)
    const { rows, markets } = statementModel(MONTH)
    const parties = [...new Set(rows.map(({ partyId }) => partyId))]
    assert.ok(parties.length > 5)
    let [sizes, fees] = [0, 0]
    for (const party of [...parties, idOf('0')]) {
      const own = rows.filter(({ partyId }) => partyId === party)
      const { partyStatement, missing, since } = await statementOf(base, party)
      const unknown = own.filter(({ amount }) => amount === null).length
      const incomplete = unknown === 0 ? [] : [`${unknown} of ${own.length} amounts are not known`]
      assert.deepEqual(
        [partyStatement.partyId, partyStatement.incomplete, missing, since],
        [party, incomplete, [], null],
      )
      assert.deepEqual(partyStatement.rows.map(withoutSize), expectedRows(own, markets))
      for (const [index, { size, kind: of }] of partyStatement.rows.entries()) {
        const { amount, unitPayment, marketId } = own[index]!
        if (of !== 'funding payment') {
          assert.equal(size, null)
          fees++
          continue
        }
        const { positionDecimals } = markets.get(marketId)!
        const steps = Number(size) * 10 ** positionDecimals
        assert.ok(Math.abs(steps - Math.round(steps)) < 1e-6, `${size}`)
        const exact = (-Number(amount) / Number(unitPayment)) * 10 ** positionDecimals
        assert.ok(Math.abs(exact - steps) < 0.056, `${size} ${exact}`)
        sizes++
      }
    }
    assert.deepEqual([sizes, fees > 100], [4301, true])
  })

  test('of a real core has losses, and is after them', async (t) => {
    const path = recordingPath('nullchain.evts.gz')
    if (path === null) return skip(t, 'nullchain.evts.gz is missing')
    const base = await serveFile(kind, path)
    const { rows, markets } = statementModel(path)
    const parties = [...new Set(rows.map(({ partyId }) => partyId))].filter((party) => party !== 'network')
    let [lossy, sizes, fees, unknown] = [0, 0, 0, 0]
    for (const party of parties) {
      const own = rows.filter(({ partyId }) => partyId === party)
      const { partyStatement } = await statementOf(base, party)
      assert.deepEqual(partyStatement.rows.map(withoutSize), expectedRows(own, markets))
      for (const [index, { size, kind: of, amount }] of partyStatement.rows.entries()) {
        const { isAfterLoss, unitPayment, marketId } = own[index]!
        if (of !== 'funding payment') fees++
        if (amount === null) unknown++
        if (isAfterLoss) {
          assert.equal(size, null, `${party} ${index}`)
          lossy++
        } else if (size !== null) {
          const { decimals, positionDecimals } = markets.get(marketId)!
          const exact = (-Number(amount) * 10 ** decimals) / Number(unitPayment)
          assert.ok(Math.abs(exact - Number(size)) * 10 ** positionDecimals < 0.056)
          sizes++
        }
      }
    }
    assert.ok(lossy > 10 && sizes > 50 && fees > 20 && unknown > 0, `${[lossy, sizes, fees, unknown]}`)
  })

  test('is the same as a file, whose name says what it is of', async () => {
    const base = await serveFile(kind, MONTH)
    const { rows, markets } = statementModel(MONTH)
    const party = rows.find((row) => row.kind === 'fee penalty')!.partyId
    const [from, to] = [1_726_000_000_123_456_789n, 1_727_740_800_000_000_000n]
    const own = rows.filter(({ partyId, time }) => partyId === party && time >= from && time < to)
    assert.ok(own.length > 100)
    const range = rangeOf(from, to)
    for (const query of [range, `${range}&format=json`]) {
      const { partyStatement } = await statementOf(base, party.toUpperCase(), query)
      assert.deepEqual(partyStatement.rows.map(withoutSize), expectedRows(own, markets))
      assertSays(partyStatement.notIncluded.join(), 'bonuses...bond penalties...trades...transfers')
    }
    const { text, headers } = await send(base, pathOf(party, `${range}&format=csv`))
    const [head, ...lines] = text.trimEnd().split('\r\n')
    const names = head!.split(',') as (keyof StatementRow)[]
    assert.deepEqual(names.slice(0, 12), [
      'time',
      'market',
      'marketId',
      'kind',
      'period',
      'epoch',
      'rate',
      'size',
      'amount',
      'runningTotal',
      'lossAmount',
      'asset',
    ])
    const { partyStatement } = await statementOf(base, party, range)
    assert.deepEqual(
      lines.slice(0, -1),
      partyStatement.rows.map((row) => names.map((name) => row[name]).join(',')),
    )
    assertSays(lines.at(-1)!, ',,,not included,,,,,,,,,,"bonuses...')
    assertSays(
      headers['content-disposition']!,
      `filename="statement-${party.slice(0, 8)}-2024-09-10T202640Z-2024-10-01.csv"`,
    )
    assert.deepEqual([headers['x-missing-blocks'], headers['x-since']], [undefined, undefined])
    const open = await send(base, pathOf(party, 'format=csv'))
    assertSays(open.headers['content-disposition']!, '-start-2024-10-01T233000Z.csv')
  })

  test('is of [start, end), and empty for a reversed range', async (t) => {
    const blocks = [2, 3, 4, 5].map((height) => at(height, payments([[PARTY, `${height}`]], { seq: height })))
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(NAMED, ...blocks)))
    const periods = async (range: string) =>
      shown((await statementOf(base, PARTY, range)).partyStatement.rows, 'period', 'runningTotal').join()
    assert.equal(await periods(''), '2 0.00002,3 0.00005,4 0.00009,5 0.00014')
    assert.equal(await periods(seconds(3, 5)), '3 0.00003,4 0.00007')
    assert.equal(await periods(seconds(3, null)), '3 0.00003,4 0.00007,5 0.00012')
    assert.equal(await periods(seconds(5, 3)), '')
    assert.equal(await periods(seconds(3, 3)), '')
    assert.equal(await periods(rangeOf(3_000_000_001, 4_000_000_001)), '4 0.00004')
    assert.equal(await periods(rangeOf(-(2n ** 63n), 2n ** 63n - 1n)), await periods(''))
  })

  test('has fees before penalties, what an AMM earned, and no row of an epoch without fees', async (t) => {
    const amm = idOf('e')
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        NAMED,
        at(2, provision(), provision({ provisionId: idOf('f'), partyId: OTHER_PARTY })),
        at(
          3,
          epoch(7),
          paidFees(MARKET, 7, [
            [PARTY, '1000001'],
            [OTHER_PARTY, '300'],
            [amm, '50'],
          ]),
          penalties({ [PARTY]: '0.1' }),
        ),
        at(4, epoch(8), penalties({ [PARTY]: '0.5' })),
        at(5, epoch(9), paidFees(MARKET, 9, [[PARTY, '8']]), penalties({ [PARTY]: '' })),
        at(6, epoch(10), paidFees(MARKET, 10, [[PARTY, '0']]), penalties({ [PARTY]: '' })),
        at(7, epoch(11), paidFees(MARKET, 11, [[PARTY, '8']]), penalties({ [PARTY]: '1' })),
        at(8, epoch(12), paidFees(MARKET, 12, [[PARTY, '8']]), penalties({ [PARTY]: '1.5' })),
      ),
    )
    const base = await serve(t, store)
    const { partyStatement: own } = await statementOf(base, PARTY)
    assert.deepEqual(shown(own.rows, 'kind', 'epoch', 'amount', 'runningTotal', 'note'), [
      'liquidity fee 7 10.00001 10.00001 -',
      // 900,000.9 are cut.
      'fee penalty 7 -1.00001 9 -',
      'liquidity fee 9 0.00008 9.00008 -',
      'fee penalty 9 - - the fee penalty of this epoch is not known',
      'liquidity fee 10 0 9.00008 -',
      'fee penalty 10 0 9.00008 -',
      'liquidity fee 11 0.00008 9.00016 -',
      'fee penalty 11 -0.00008 9.00008 -',
      'liquidity fee 12 0.00008 9.00016 -',
      'fee penalty 12 - - the fee penalty of this epoch is not known',
    ])
    assert.deepEqual(own.incomplete, ['2 of 10 amounts are not known'])
    const { partyStatement: before } = await statementOf(base, PARTY, seconds(1, 5))
    assert.deepEqual(before.incomplete, [])
    // It has left its provision within the epoch, or never had an SLA.
    const { partyStatement: left } = await statementOf(base, OTHER_PARTY)
    assert.deepEqual(shown(left.rows, 'kind', 'amount'), ['liquidity fee 0.003', 'fee penalty -'])
    assert.deepEqual(left.incomplete, ['1 of 2 amounts are not known'])
    const { partyStatement: ofAmm } = await statementOf(base, amm)
    assert.deepEqual(shown(ofAmm.rows, 'kind', 'amount'), ['liquidity fee 0.0005'])
    assert.deepEqual(ofAmm.incomplete, [])
  })

  test('has empty sizes after losses, of small payments, and without the period or market', async (t) => {
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        NAMED,
        at(2, payments([[PARTY, '-600']], { seq: 1 }), period(1, '30')),
        at(
          3,
          payments(
            [
              [PARTY, '600'],
              [OTHER_PARTY, '-600'],
            ],
            { seq: 2 },
          ),
          loss('-200'),
          loss('201', { party: OTHER_PARTY }),
          period(2, '30'),
        ),
        // Its steps are of ten: 0.2 is as much as two units for a step.
        at(4, payments([[PARTY, '-10']], { seq: 3 }), period(3, '0.2')),
        at(5, payments([[PARTY, '-10']], { seq: 4 }), period(4, '0.1')),
        at(6, payments([[PARTY, '-10']], { seq: 5 })),
        at(7, payments([[PARTY, '-10']], { seq: 6, marketId: idOf('5') }), period(6, '10', idOf('5'))),
      ),
    )
    const base = await serve(t, store)
    const { partyStatement } = await statementOf(base, PARTY)
    assert.deepEqual(shown(partyStatement.rows, 'market', 'period', 'size', 'amount', 'lossAmount', 'rate'), [
      'AB/PERP 1 20 -0.006 0 0.001',
      'AB/PERP 2 - 0.004 -0.002 0.001',
      'AB/PERP 3 50 -0.0001 0 0.001',
      'AB/PERP 4 - -0.0001 0 0.001',
      'AB/PERP 5 - -0.0001 0 -',
      '- 6 - - - 0.001',
    ])
    assert.deepEqual(shown(partyStatement.rows.slice(-1), 'asset', 'assetId', 'note'), [
      '- - the decimals of the asset are not stored',
    ])
    assert.deepEqual(partyStatement.incomplete, ['1 of 6 amounts are not known'])
    const { partyStatement: loser } = await statementOf(base, OTHER_PARTY)
    assert.deepEqual(shown(loser.rows, 'size', 'amount', 'lossAmount'), ['- -0.00399 0'])
  })

  test('adds up each asset by itself, and forged numbers, names and decimals do no harm', async (t) => {
    const [huge, formula, unknown, negative] = [idOf('1'), idOf('2'), idOf('3'), idOf('4')]
    const named = (marketId: string, assetId: string, decimals: number | bigint, symbol = 'ZZ') => [
      asset({ assetId, decimals, symbol }),
      perpetual({ marketId, settlementAsset: assetId, code: '=cmd()' }),
    ]
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        at(
          1,
          ...NAMED.events!,
          ...named(huge, idOf('6'), 2n ** 40n),
          ...named(formula, idOf('7'), 0, '+1,"2'),
          perpetual({ marketId: unknown, settlementAsset: idOf('8') }),
          ...named(negative, idOf('9'), -1n),
        ),
        at(2, payments([[PARTY, '7']])),
        at(3, payments([[PARTY, '7']], { marketId: huge })),
        at(4, payments([[PARTY, '-7']], { marketId: formula })),
        at(5, payments([[PARTY, '7']], { marketId: unknown })),
        at(6, payments([[PARTY, '7']], { marketId: negative })),
        at(7, payments([[PARTY, '1e9999']], { seq: 8 })),
        at(8, payments([[PARTY, `${2n ** 90n}`]], { seq: 9, marketId: formula })),
        at(9, payments([[PARTY, '0.25']], { seq: 10 })),
      ),
    )
    const base = await serve(t, store)
    const { partyStatement } = await statementOf(base, PARTY)
    assert.deepEqual(shown(partyStatement.rows, 'amount', 'runningTotal', 'note'), [
      '0.00007 0.00007 -',
      '- - the decimals of the asset are not stored',
      '-7 -7 -',
      '- - the decimals of the asset are not stored',
      '- - the decimals of the asset are not stored',
      '- - the amount is too large to calculate with',
      `${2n ** 90n} ${2n ** 90n - 7n} -`,
      '0.0000025 0.0000725 -',
    ])
    assert.deepEqual(partyStatement.incomplete, ['4 of 8 amounts are not known'])
    const { text, headers } = await send(base, pathOf(PARTY, 'format=csv'))
    const lines = text.split('\r\n')
    assertSays(lines[3]!, /,'=cmd\(\),.*,"'\+1,""2",/)
    assertSays(lines[9]!, ',,,incomplete,,,,,,,,,,4 of 8 amounts are not known')
    assertSays(headers['content-disposition']!, `statement-bbbbbbbb-start-1970-01-01T000009Z-incomplete.csv`)
  })

  test('says what is missing: blocks, fees of older stores, what was before the store, and what is yet to come', async (t) => {
    const store = kind.create(t)
    const blocks = [10, 11, 20, 30].map((height) => at(height, payments([[PARTY, '1']], { seq: height })))
    await ingest(store, fileOf(NAMED, ...blocks), { allowGap: true })
    const base = await serve(t, store)
    const of = async (range: string) => {
      const { partyStatement, missing, since } = await statementOf(base, PARTY, range)
      return [partyStatement.incomplete, missing.map(({ from, to }) => `${from}-${to}`), since?.height]
    }
    assert.deepEqual(await of(''), [
      [
        'blocks are missing, incomplete, or imported without some rows: blocks 2 to 9, blocks 12 to 19, blocks 21 to 29',
      ],
      ['2-9', '12-19', '21-29'],
      undefined,
    ])
    assert.deepEqual(await of(seconds(10, 12)), [
      ['blocks are missing, incomplete, or imported without some rows: blocks 12 to 19'],
      ['12-19'],
      undefined,
    ])
    assert.deepEqual(await of(seconds(10, 11)), [[], [], undefined])
    assert.deepEqual(await of(seconds(30, 31)), [
      ['the range ends after the last stored block, 30 (1970-01-01T00:00:30Z)'],
      [],
      undefined,
    ])
    assert.deepEqual(await of(rangeOf(30_000_000_000, 30_000_000_001)), [[], [], undefined])
    const { headers, text } = await send(base, pathOf(PARTY, `${seconds(10, 12)}&format=csv`))
    assert.equal(headers['x-missing-blocks'], '12-19')
    assertSays(headers['content-disposition']!, '-incomplete.csv')
    assertSays(text, ',incomplete,')
    // An older version did not store fees.
    await runSql(store, "insert into since values ('paidLiquidityFees', 20, 20000000000)")
    const { partyStatement, since } = await statementOf(
      await serve(t, store),
      PARTY,
      rangeOf(11_000_000_001, null),
    )
    assert.deepEqual(since, { height: '20', start: '20000000000' })
    assertSays(partyStatement.incomplete.join(), 'rows before block 20 (1970-01-01T00:00:20Z) may be missing')
  })

  test('of a store that begins later, or was pruned, says from when it has everything', async (t) => {
    const blocks = [10, 11, 12, 13].map((height) => at(height, payments([[PARTY, '1']], { seq: height })))
    const store = await storeOfBytes(t, kind, fileOf({ ...NAMED, height: 9 }, ...blocks))
    const sinceOf = async (party = PARTY, range = '') =>
      (await statementOf(await serve(t, store), party, range)).since
    assert.deepEqual(await sinceOf(), { height: '9', start: null })
    await pruneBefore(store, 11n)
    assert.deepEqual(await sinceOf(), { height: '11', start: '11000000000' })
    await pruneBefore(store, 12_000_000_000n, 'time')
    assert.deepEqual(await sinceOf(), { height: '12', start: '12000000000' })
    const { partyStatement } = await statementOf(await serve(t, store), PARTY)
    assert.deepEqual(shown(partyStatement.rows, 'period'), ['12', '13'])
    assertSays(partyStatement.incomplete.join(), 'before block 12')
  })

  test('with fees that the store does not have names the epochs without amounts', async (t) => {
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        NAMED,
        at(2, provision()),
        at(3, epoch(7), penalties({ [PARTY]: '0.1' })),
        at(4, epoch(8), penalties({ [PARTY]: '0' })),
      ),
    )
    await runSql(store, "insert into since values ('paidLiquidityFees', 4, 4000000000)")
    const { partyStatement } = await statementOf(await serve(t, store), PARTY)
    assert.deepEqual(shown(partyStatement.rows, 'kind', 'epoch', 'amount', 'note'), [
      'liquidity fee 7 - the fees are not stored',
      'fee penalty 7 - the fees are not stored',
    ])
    assert.equal(partyStatement.incomplete.length, 2)
  })

  test('of the network never claims to be whole', async (t) => {
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(NAMED, at(2, payments([['network', '-5']])), at(3, payments([['network', '6']], { seq: 8 }))),
    )
    const { partyStatement } = await statementOf(await serve(t, store), 'network')
    assert.deepEqual(shown(partyStatement.rows, 'amount', 'runningTotal'), ['- -', '0.00006 0.00006'])
    assertSays(partyStatement.incomplete.join(), 'what the network really paid')
  })

  test('is refused for malformed ids and ranges, and unknown parameters', async (t) => {
    const store = kind.create(t)
    const empty = await serve(t, store)
    assert.equal((await send(empty, pathOf(PARTY))).status, 503)
    await ingest(store, fileOf(NAMED, at(2, payments([[PARTY, '1']]))))
    const base = await serve(t, store)
    const refused: [path: string, said: string][] = [
      [pathOf(''), '"code":10000,"message":"invalid party ID"'],
      [pathOf('abc'), '"code":10000,"message":"invalid party ID"'],
      [pathOf(`${PARTY}0`), '"code":10000,"message":"invalid party ID"'],
      [pathOf(PARTY, 'format=parquet'), 'format must be one of csv, json'],
      [pathOf(PARTY, 'format=csv&format=json'), 'too many values'],
      [pathOf(PARTY, 'dateRange.startTimestamp=2024-09-01'), 'start_timestamp'],
      [pathOf(PARTY, 'marketId=abc'), 'unknown parameter'],
      [pathOf(PARTY, 'pagination.first=1'), 'unknown parameter'],
    ]
    for (const [path, said] of refused) {
      const { status, text } = await send(base, path)
      assert.equal(status, 400, path)
      assertSays(text, said)
    }
    const client = createLyraClient({ url: base })
    const answer = await client.partyStatement(PARTY, { from: new Date(0) })
    assert.deepEqual(shown(answer.partyStatement.rows, 'amount'), ['0.00001'])
    await assert.rejects(client.partyStatement(''), TypeError)
  })

  test('with too many payments is refused, with advice', async (t) => {
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(NAMED, at(2, payments([[PARTY, '1']])))))
    assert.equal((await send(base, pathOf(PARTY))).status, 200)
    const store = await storeOfBytes(t, kind, fileOf(NAMED, at(2)))
    await runSql(
      store,
      `insert into funding_payments
       with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < 100001)
       select '${MARKET}', '${PARTY}', number, 1000000000, '1', '0', 2, 1 from numbers`,
    )
    const many = await serve(t, store)
    const { status, text } = await send(many, pathOf(PARTY))
    assert.equal(status, 400)
    assertSays(text, 'at most 100,000 payments and epochs...shorter ranges')
    assert.equal((await send(many, pathOf(PARTY, rangeOf(1_000_000_001, null)))).status, 200)
    await runSql(store, 'delete from funding_payments where seq = 100001')
    const most = await send(await serve(t, store), pathOf(PARTY))
    assert.equal(most.status, 200)
    assertSays(most.text.slice(-2000), '"runningTotal":"1","lossAmount"')
  })
})
