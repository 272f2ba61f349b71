import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type {
  Instrument,
  LiquidityProvider,
  LiquidityProviderEpoch,
  ProviderStanding,
  SlaParameters,
} from 'lyra-client'
import { type ProviderRow, withFees } from '../../web/src/providers/fees.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  answered,
  clientOf,
  figureOf,
  figuresOf,
  go,
  render,
  rowsOf,
  rowTexts,
  type Served,
  textOf,
  visit,
} from '../fixtures/explorer/render.ts'
import { serveRecording } from '../fixtures/services/service.ts'
import { BTC, ETH, SOL } from '../fixtures/shared.ts'
import { LIVE_MARKET } from '../fixtures/stores/live-store.ts'

const { EpochsChart } = await import('../../web/src/providers/epochs-chart.tsx')
const { EpochsTable } = await import('../../web/src/providers/epochs-table.tsx')
const { describeDearest, earnedOf, lostToPenalty } = await import('../../web/src/providers/epochs.ts')
const { Meanings } = await import('../../web/src/providers/meanings.tsx')
const { describeStanding, formatAtLeast, penaltyIfStayed } = await import(
  '../../web/src/providers/standing.ts'
)
const { StandingPanel } = await import('../../web/src/providers/standing-panel.tsx')
const { PartyField } = await import('../../web/src/providers/party-field.tsx')
const { Providers, ProvidersView } = await import('../../web/src/providers/providers-view.tsx')
const { instruments } = await import('../../web/src/service/instruments.ts')
const { param } = await import('../../web/src/location.ts')

const recording = clientOf(await serveRecording('perps-long-named'))

const USD = { symbol: 'USD', decimals: 5 }

async function providersOf({ client }: Served, markets: readonly string[]): Promise<LiquidityProvider[]> {
  const pages = markets.map((marketId) => client.liquidityProvidersPage({ marketId }, { first: 5_000 }))
  return (await Promise.all(pages)).flatMap(({ rows }) => rows.map(({ node }) => node))
}

/** The providers as the page shows them at its address. */
function viewOf(providers: readonly LiquidityProvider[]): string {
  const list = answered({ providers: withFees(providers), more: false, blockHeight: '2605' })
  const [market, party] = [param('market'), param('party')?.toLowerCase() ?? null]
  return render(Providers, { market, party, list })
}

/** The columns that the page shows at first. */
const USUAL = [
  'Market',
  'Fee share',
  'Kept after penalty',
  "Fee share at last epoch's penalty",
  'Time on book, this epoch',
  'Time on book, last epoch',
  'Required liquidity',
  'Bond penalty, last epoch',
]

/** Those of `columns=all`. */
const ALL = [
  ...USUAL,
  'Fee penalty, last epoch',
  'Earlier fee penalties',
  'Buy volume',
  'Sell volume',
  'Equity-like share',
  'Average score',
  'Virtual stake',
  'Average entry valuation',
]

/** The columns of past epochs. */
const EPOCHS = [
  'Runs since (UTC)',
  'Ended (UTC)',
  'Time on book',
  'Fee penalty',
  'Bond penalty (of bond)',
  'Equity-like share',
  'Required liquidity',
  'Fees before penalty',
  'Lost to the fee penalty',
  'Earned',
]

/** The part above the filters. */
const totalsOf = (view: string) => textOf(view).split('Penalised only')[0]!

type Fields = Partial<Omit<LiquidityProvider, 'feeShare'>> & {
  feeShare?: Partial<LiquidityProvider['feeShare']>
}

const SLA = {
  currentEpochFractionOfTimeOnBook: '0.5',
  lastEpochFractionOfTimeOnBook: '0.7',
  requiredLiquidity: '12345',
  lastEpochFeePenalty: '0.2',
  lastEpochBondPenalty: '0',
  hysteresisPeriodFeePenalties: [],
  notionalVolumeBuys: '1',
  notionalVolumeSells: '1',
} as unknown as NonNullable<LiquidityProvider['sla']>

/** A provider without an SLA unless it is given. */
const made = ({ feeShare, ...fields }: Fields) =>
  ({
    marketId: LIVE_MARKET,
    partyId: 'b'.repeat(64),
    sla: null,
    ...fields,
    feeShare: {
      equityLikeShare: '1',
      averageScore: '1',
      virtualStake: '1',
      averageEntryValuation: '1',
      ...feeShare,
    },
  }) as LiquidityProvider

describe("the explorer's providers", () => {
  test('of all markets are listed by fee share after the penalty, exactly, with totals', async () => {
    await visit(recording, '/?view=providers')
    const [one, two, ...others] = await providersOf(recording, [BTC, ETH, SOL])
    const none = { lastEpochFeePenalty: '0', lastEpochBondPenalty: '0' }
    // One without an SLA, and one that was only penalised for an earlier epoch.
    const all: LiquidityProvider[] = [
      { ...one!, sla: null },
      { ...two!, sla: { ...two!.sla!, ...none, hysteresisPeriodFeePenalties: ['0', '0.1'] } },
      ...others,
    ]
    const view = viewOf(all)
    // Rows without an SLA last, equal ones by their ids.
    assert.deepEqual(rowTexts(view, USUAL), [
      'ETH/PERP 40ce9db7…3cacb4 Past epochs 40.5 % 100 % 40.5 % 100 % 100 % 10,500.00 0 %',
      'ETH/PERP b0e93493…185fe6 Past epochs 38.57 % 100 % 38.57 % 100 % 100 % 10,000.00 0 %',
      'BTC/PERP 896d1042…4bd093 Past epochs 26.76 % 100 % 26.76 % 100 % 100 % 10,000.00 0 %',
      'ETH/PERP 4af5beb0…59aafc Past epochs 19.28 % 58.9 % 11.36 % 100 % 79.86 % 5,000.00 0 %',
      'BTC/PERP 4af5beb0…59aafc Past epochs 51.11 % 0 % 0 % 100 % 33.95 % 19,100.55 1.15 %',
      'ETH/PERP 884dba40…124f95 Past epochs 1.65 % 0 % 0 % 0 % 0 % 428.05 2 %',
      'SOL/PERP 896d1042…4bd093 Past epochs 39.5 % 0 % 0 % 59.22 % 0 % 4,889.74 2 %',
      'SOL/PERP b0e93493…185fe6 Past epochs 60.5 % 0 % 0 % 100 % 63.55 % 7,488.64 0.662 %',
      'BTC/PERP b0e93493…185fe6 No SLA figures Past epochs 22.13 % none none none none none none',
    ])
    assert.equal(
      totalsOf(view),
      'Provisions 9 Parties 5 Markets 3 Penalised 6 Required liquidity 67,406.98 USD Virtual stake 76,197.75 USD ',
    )
    assert.deepEqual(
      ['fees', 'kept', 'net'].map((name) => figureOf(rowsOf(view)[3]!, name)!.value),
      ['0.192841337765676300', '0.5889595931975086', '0.113575755842136065'],
    )
    assert.equal(figureOf(view, 'total-required')!.value, '67406.97551')
    assertSays(
      textOf(view),
      "All 15 figures Market Party Fee share Kept after penalty Fee share at last epoch's penalty ↓ Time on book, this epoch Time on book, last epoch Required liquidity, USD Bond penalty, last epoch ETH/PERP",
    )
    assert.match(view, /href="[^"]*\/api\/v2\/export\/liquidity-providers\?format=csv"/)
    assertSays(textOf(render(Meanings, {})), 'Bond penalty, last epoch Fraction of its bond')

    // By penalty and by share.
    go('/?view=providers&penalised=1&below=20')
    const filtered = viewOf(all)
    assert.deepEqual(rowTexts(filtered, USUAL), [rowTexts(view, USUAL)[3], rowTexts(view, USUAL)[5]])
    assert.match(
      totalsOf(filtered),
      /^Provisions 2 Parties 2 Markets 1 Penalised 2 Required liquidity 5,428\.05/,
    )
    go('/?view=providers&below=0.000001')
    assertSays(textOf(viewOf(all)), 'No provider matches the filters 9 in total. Clear')
    go('/?view=providers&below=0.0')
    assertSays(textOf(viewOf(all)), 'An equity-like share is a percentage above zero')
  })

  test('have at most the fee share that is shown if an AMM, which has no provision, holds a part of the market', async () => {
    const amm = clientOf(await serveRecording('amm'))
    const market = 'a'.repeat(64)
    await visit(amm, `/?view=providers&market=${market}`)
    const providers = await providersOf(amm, [market])
    const view = viewOf(providers)
    const row = 'Past epochs at most 50 % 100 % at most 50 % 100 % 100 % 0.001 0 %'
    assert.deepEqual(
      rowTexts(view, USUAL).map((text) => text.slice(text.indexOf('Past'))),
      [row, row],
    )
    assertSays(
      textOf(view),
      'At most: parties without a provision, such as AMMs, hold a part of the equity-like share (50 % on BTC/USD), and may be paid fees, too.',
    )
    assert.deepEqual(
      withFees(providers).map(({ fees }) => [fees.share, fees.others]),
      [
        ['0.500000000000000000', '0.50'],
        ['0.500000000000000000', '0.50'],
      ],
    )
    // Rounded shares that add up to almost one are all; shares that are not known are no part of others.
    const sharesOf = (...shares: string[]) =>
      withFees(shares.map((equityLikeShare) => made({ feeShare: { equityLikeShare } }))).map(
        ({ fees }) => fees.others,
      )
    assert.deepEqual(sharesOf('0.4999', '0.5'), [null, null])
    assert.deepEqual(sharesOf('0.4998', '0.5'), ['0.0002', '0.0002'])
    assert.deepEqual(sharesOf('', ''), [null, null])
  })

  test('of a market have two decimals, exact on hover, sorted by any column', async () => {
    const address = `/?view=providers&market=${ETH}&columns=all`
    await visit(recording, `${address}&sort=-stake`)
    const own = await providersOf(recording, [ETH])
    const rows = [
      '40ce9db7…3cacb4 Past epochs 40.5 % 100 % 40.5 % 100 % 100 % 10,500.00 0 % 0 % 0 % 26,435.52 26,435.52 40.5 % 0 10,500.00 30,980.00',
      'b0e93493…185fe6 Past epochs 38.57 % 100 % 38.57 % 100 % 100 % 10,000.00 0 % 0 % 0 % 21,148.42 21,148.42 38.57 % 0 10,000.00 10,000.00',
      '4af5beb0…59aafc Past epochs 19.28 % 58.9 % 11.36 % 100 % 79.86 % 5,000.00 0 % 41.1 % 40.27 % 19,386.05 19,386.05 19.28 % 0 5,000.00 15,000.00',
      '884dba40…124f95 Past epochs 1.65 % 0 % 0 % 0 % 0 % 428.05 2 % 100 % 100 % 0.00 0.00 1.65 % 0 428.05 16,000.00',
    ]
    assert.deepEqual(rowTexts(viewOf(own), ALL), rows)
    assert.equal(figuresOf(viewOf(own), 'stake')[3]!.value, '428.050799999999984842611')
    go(`${address}&sort=stake`)
    assert.deepEqual(rowTexts(viewOf(own), ALL), rows.toReversed())
  })

  test('of a party are listed across markets, and as CSV', async () => {
    const all = await providersOf(recording, [BTC, ETH, SOL])
    const { partyId } = all[0]!
    await visit(recording, `/?view=providers&party=${partyId.toUpperCase()}`)
    const view = viewOf(all)
    assert.deepEqual(rowTexts(view, USUAL), [
      'ETH/PERP Past epochs 38.57 % 100 % 38.57 % 100 % 100 % 10,000.00 0 %',
      'BTC/PERP Past epochs 22.13 % 100 % 22.13 % 100 % 100 % 8,267.94 0 %',
      'SOL/PERP Past epochs 60.5 % 0 % 0 % 100 % 63.55 % 7,488.64 0.662 %',
    ])
    assert.match(totalsOf(view), /^Party b0e93493…185fe6 .* Provisions 3 Parties 1 Markets 3 Penalised 1 /)
    assertSays(view, `/api/v2/liquidity/providers?partyId=${partyId}&amp;format=csv"`)
  })

  test('have a message for an invalid id, and for an unknown party', async () => {
    await visit(recording, '/?view=providers&party=bob')
    const shown = () => textOf(render(ProvidersView, {}))
    assertSays(shown(), "bob is not a party's id or its beginning: it has 64 hex digits")
    go('/?view=providers&market=12')
    assertSays(shown(), "12 is not a market's id: it has 64 hex digits")
    go(`/?view=providers&party=${'0'.repeat(64)}`)
    assertSays(textOf(viewOf([])), '00000000…000000 provides no liquidity As of block 2,605.')
    for (const party of ['xyz', 'abc', 'net']) {
      const field = render(PartyField, { party, parties: [], onPick: () => {} })
      assert.equal(textOf(field).includes('A party id has up to 64 hex digits'), party === 'xyz', party)
    }
  })

  test('may have no SLA, and amounts without an asset are whole numbers as sent, with the reason', () => {
    const great = '1234567890123456789012345678'
    const share = { equityLikeShare: '0.1234567890123456789', averageEntryValuation: great }
    const virtualStake = `${great}.0000000000000001`
    instruments.value = new Map()
    go(`/?view=providers&market=${LIVE_MARKET}&columns=all`)
    const view = viewOf([made({ feeShare: { ...share, virtualStake } })])
    assert.deepEqual(rowTexts(view, ALL), [
      'bbbbbbbb…bbbbbb No SLA figures Past epochs at most 100 % none none none none none none none none none none 12.35 % 1 1,234,567,890,123,456,789,012,345,678.00 1,234,567,890,123,456,789,012,345,678',
    ])
    assert.equal(figureOf(view, 'share')!.value, share.equityLikeShare)
    assert.equal(figureOf(view, 'stake')!.value, virtualStake)
    assert.match(
      totalsOf(view),
      /^Provisions 1 Parties 1 Markets 1 Penalised 0 Amounts of 1 market are shown as sent, as whole numbers, and excluded from totals: the store has no market event/,
    )
  })

  test('have figures that are not known before the market has left its opening auction, and no sum of them', () => {
    const empty = {
      currentEpochFractionOfTimeOnBook: '',
      lastEpochFractionOfTimeOnBook: '',
      requiredLiquidity: '',
      lastEpochFeePenalty: '',
      lastEpochBondPenalty: '',
      hysteresisPeriodFeePenalties: [],
      notionalVolumeBuys: '',
      notionalVolumeSells: '',
    }
    const settlementAsset = { id: 'USD', symbol: 'USD', name: 'USD', decimals: '2' }
    const instrument = { code: 'M', name: '', settlementAsset, sla: null } as unknown as Instrument
    instruments.value = new Map([[LIVE_MARKET, instrument]])
    go(`/?view=providers&market=${LIVE_MARKET}&columns=all`)
    const view = viewOf([made({ sla: empty as unknown as typeof SLA })])
    // Only its list of earlier penalties is known: it has none.
    assert.match(
      rowTexts(view, ALL)[0]!,
      /Past epochs 100 %( – not known){7} none( – not known){2} 100 % 1 0\.01 0\.01$/,
    )
    assertSays(view, 'title="Not known: the market was in its opening auction"')
    assertSays(totalsOf(view), 'Penalised 0 Required liquidity – not known Virtual stake 0.01 USD')
    const both = viewOf([
      made({ sla: empty as unknown as typeof SLA }),
      made({ partyId: 'c'.repeat(64), sla: SLA }),
      made({ partyId: 'd'.repeat(64) }),
    ])
    assertSays(totalsOf(both), 'Required liquidity 123.45 USD without 1 not known Virtual')
  })

  test('have a mark at the required time on book, and a total for each asset', () => {
    const markets = ['1', '2', '3', '4'].map((digit) => digit.repeat(64))
    // Two markets in USD, one in EUR, and one without an asset event.
    instruments.value = new Map(
      ['USD', 'USD', 'EUR'].map((symbol, index) => {
        const settlementAsset = { id: symbol, symbol, name: symbol, decimals: '2' }
        const sla = index === 0 ? { commitmentMinTimeFraction: '0.65' } : null
        return [
          markets[index]!,
          { code: `M${index}`, name: '', settlementAsset, sla } as unknown as Instrument,
        ]
      }),
    )
    go('/?view=providers')
    const view = viewOf(
      markets.flatMap((marketId, market) =>
        [
          // If nobody has a score, only the shares count.
          ['a', '0.25', '0.9'],
          ['b', '0.75', '0.1'],
        ].map(([party, equityLikeShare, score]) =>
          made({
            marketId,
            partyId: party!.repeat(64),
            sla: SLA,
            feeShare: {
              equityLikeShare: equityLikeShare!,
              averageScore: market === 1 ? '0' : score!,
              virtualStake: '100000.1111111111111',
            },
          }),
        ),
      ),
    )
    // 0.25 x 0.9 and 0.75 x 0.1 have a sum of 0.3. Only the first market has a minimum, 0.65.
    assert.deepEqual(rowTexts(view, USUAL), [
      'M0 aaaaaaaa…aaaaaa below minimum this epoch Past epochs 75 % 80 % 60 % 50 % of at least 65 % 70 % of at least 65 % 123.45 0 %',
      'M1 bbbbbbbb…bbbbbb Past epochs 75 % 80 % 60 % 50 % 70 % 123.45 0 %',
      'M2 aaaaaaaa…aaaaaa Past epochs 75 % 80 % 60 % 50 % 70 % 123.45 0 %',
      '44444444…444444 aaaaaaaa…aaaaaa Past epochs 75 % 80 % 60 % 50 % 70 % 12,345 0 %',
      'M0 bbbbbbbb…bbbbbb below minimum this epoch Past epochs 25 % 80 % 20 % 50 % of at least 65 % 70 % of at least 65 % 123.45 0 %',
      'M1 aaaaaaaa…aaaaaa Past epochs 25 % 80 % 20 % 50 % 70 % 123.45 0 %',
      'M2 bbbbbbbb…bbbbbb Past epochs 25 % 80 % 20 % 50 % 70 % 123.45 0 %',
      '44444444…444444 bbbbbbbb…bbbbbb Past epochs 25 % 80 % 20 % 50 % 70 % 12,345 0 %',
    ])
    assert.equal(view.match(/class="bar-mark" data-least="0\.65" style="left:65%;?"/g)?.length, 4)
    assert.equal(
      totalsOf(view),
      'Provisions 8 Parties 2 Markets 4 Penalised 8 Required liquidity 246.90 EUR Virtual stake 2,000.00 EUR Required liquidity 493.80 USD Virtual stake 4,000.00 USD Amounts of 1 market are shown as sent, as whole numbers, and excluded from totals: the store has no market event for this market. ',
    )
    const [equal] = withFees(['a', 'b', 'c'].map((partyId) => made({ partyId, sla: SLA })))
    assert.deepEqual(equal!.fees, {
      share: `0.${'3'.repeat(18)}`,
      remaining: '0.8',
      net: `0.2${'6'.repeat(17)}`,
      others: null,
    })
  })

  test('are found by the beginning of a party id, and listed in pages', () => {
    const names = Array.from({ length: 225 }, (_, index) => `${index}`.padStart(3, '0'))
    const all = names.map((name, index) =>
      made({ partyId: name + 'e'.repeat(61), feeShare: { equityLikeShare: `0.00${index + 100}` } }),
    )
    const namesIn = (view: string) => rowTexts(view, USUAL).map((text) => text.slice(0, 3))
    for (const [page, first, last] of [
      [1, 0, 50],
      [2, 50, 100],
      [5, 200, 225],
      [9, 200, 225],
    ] as const) {
      go(`/?view=providers&market=${LIVE_MARKET}&sort=-share&page=${page}`)
      const view = viewOf(all)
      assert.deepEqual(namesIn(view), names.toReversed().slice(first, last), `${page}`)
      assert.match(
        textOf(view),
        new RegExp(`^Provisions 225 .* Previous ${first + 1} to ${last} of 225 Next`),
      )
      assert.equal(/<button [^>]*disabled>Next/.test(view), last === 225)
    }
    // All ids end with it.
    for (const [start, found, said] of [
      ['12', names.slice(120, 130), 'Parties whose id begins with 12 '],
      ['124E', ['124'], 'Parties whose id begins with 124e '],
      ['eeee', [], "No provider's id begins with eeee"],
    ] as const) {
      go(`/?view=providers&market=${LIVE_MARKET}&party=${start}`)
      const view = viewOf(all)
      assert.deepEqual(namesIn(view).sort(), found)
      assertSays(textOf(view), said)
    }
  })

  const epoch = (seq: number, fields: Partial<LiquidityProviderEpoch> = {}) =>
    ({
      marketId: LIVE_MARKET,
      partyId: 'b'.repeat(64),
      epoch: `${seq}`,
      atBlock: '1',
      timestamp: '0',
      timeOnBook: '0.7',
      feePenalty: '0',
      bondPenalty: '0',
      equityLikeShare: null,
      requiredLiquidity: '12345',
      feesPaid: null,
      ...fields,
    }) as LiquidityProviderEpoch

  /** The end of an epoch of a day. */
  const endOf = (seq: number) => ({ timestamp: `${BigInt(seq) * 86_400_000_000_000n}` })

  /** The terms of markets in which providers must be on the book 60 % of the time. */
  const TERMS: SlaParameters = {
    priceRange: '0.05',
    commitmentMinTimeFraction: '0.6',
    performanceHysteresisEpochs: '2',
    slaCompetitionFactor: '0.4',
  }

  /** The table of epochs at the page's address. */
  const tableOf = (rows: LiquidityProviderEpoch[], now: ProviderRow | null = null, first = 0, count = 20) => {
    const settlementAsset = { id: 'USD', symbol: 'USD', name: 'USD', decimals: '5' }
    instruments.value = new Map([[LIVE_MARKET, { settlementAsset, sla: TERMS } as unknown as Instrument]])
    return render(EpochsTable, { marketId: LIVE_MARKET, rows, now, first, count })
  }

  test('have past epochs, as bars, in a table and in words, and those without figures as missing', () => {
    go('/?view=providers')
    const rows = [
      epoch(9, {
        timeOnBook: '0.25',
        feePenalty: '0.5',
        bondPenalty: '0.125',
        equityLikeShare: '0.4',
        feesPaid: '1000000',
      }),
      epoch(7, { feesPaid: '7' }),
      epoch(6, { timeOnBook: '0.6' }),
      epoch(2),
    ]
    const least = '0.6'
    const chart = render(EpochsChart, { rows: rows.toReversed(), least, unit: USD })
    const rowOf = (name: string) => chart.split('data-row="').find((part) => part.startsWith(name))!
    const bars = rowOf('book').split('<span class="epochs-column').slice(1)
    assert.deepEqual(
      bars.map((bar) => bar.match(/(?<=data-epoch="|epochs-bar |height:)\w+/g)?.join(' ') ?? 'free'),
      ['2 70', 'free', 'free', 'free', '6 60', '7 70', 'free', '9 short 25'],
    )
    assertSays(rowOf('book'), 'class="epochs-least" style="bottom:60%;"')
    // Without a natural limit, the greatest value has the full height.
    assertSays(rowOf('bondPenalty'), 'style="height:100%;"')
    assertSays(textOf(chart), 'hatched: missing')
    // The newest epoch and others before it are named.
    assert.match(textOf(chart.split('epochs-names')[1]!), /Epoch hatched: missing.* 9$/)
    assertSays(
      textOf(chart),
      'Epoch 9: below SLA; time on book 25 %; fee penalty 50 %; bond penalty (of bond) 12.5 %; equity-like share 40 %; earned 5.00 USD',
    )
    const table = tableOf(rows)
    assert.deepEqual(rowTexts(table, EPOCHS), [
      '9 1970-01-01 00:00:00 below SLA 25 % of at least 60 % 50 % 12.5 % 40 % 0.12 10.00000 5.00 5.00000',
      '8 missing: no figures of this provider',
      '7 1970-01-01 00:00:00 70 % of at least 60 % 0 % 0 % – 0.12 0.00007 0.00 0.00007',
      '6 1970-01-01 00:00:00 60 % of at least 60 % 0 % 0 % – 0.12 – – –',
      '3 to 5 missing: no figures of this provider',
      '2 1970-01-01 00:00:00 70 % of at least 60 % 0 % 0 % – 0.12 – – –',
    ])
    assert.match(textOf(table), /Sum of 4 epochs, 4 missing; earned not known in 2 10\.00007 5\.00 5\.00007$/)
    // The next page begins with what is missing before it.
    assert.deepEqual(rowTexts(tableOf(rows, null, 1, 2), EPOCHS), rowTexts(table, EPOCHS).slice(1, 4))
    // One who was paid without an SLA has no other figures.
    const none = {
      timeOnBook: null,
      feePenalty: null,
      bondPenalty: null,
      requiredLiquidity: null,
      feesPaid: '7',
    }
    assert.deepEqual(rowTexts(tableOf([epoch(9, none)]), EPOCHS), [
      '9 1970-01-01 00:00:00 – – – – – 0.00007 – –',
    ])
    assertSays(
      textOf(render(EpochsChart, { rows: [epoch(9, none)], least, unit: USD })),
      'Epoch 9: no SLA figures',
    )
    // The market has not left its opening auction.
    const empty = {
      timeOnBook: '',
      feePenalty: '',
      bondPenalty: '',
      requiredLiquidity: '',
      feesPaid: '7',
    }
    assert.deepEqual(rowTexts(tableOf([epoch(9, empty)]), EPOCHS), [
      `9 1970-01-01 00:00:00${' – not known'.repeat(3)} – – not known 0.00007 – –`,
    ])
    const emptyChart = render(EpochsChart, { rows: [epoch(9, empty)], least, unit: USD })
    assertSays(
      textOf(emptyChart),
      'Epoch 9: time on book not known; fee penalty not known; bond penalty (of bond) not known; equity-like share none; earned not known',
    )
    assertSays(textOf(emptyChart.split('data-row="bondPenalty"')[1]!), 'Bond penalty (of bond) not known')
    assert.ok(!emptyChart.includes('class="epochs-bar"'))
    // The core allocates fees before it takes the penalty.
    assert.equal(lostToPenalty(epoch(9, { feePenalty: '1', feesPaid: '26617260' })), '26617260')
    // A chart of nothing but unknown earnings says so, and of none that there were none.
    assertSays(textOf(emptyChart.split('data-row="earned"')[1]!), 'Earned not known')
    const unpaid = [epoch(9, { feesPaid: '5', feePenalty: '1' })]
    const unpaidChart = render(EpochsChart, { rows: unpaid, least, unit: USD })
    assertSays(textOf(unpaidChart.split('data-row="earned"')[1]!), 'Earned none')
    const values = ['epoch-book', 'epoch-feePenalty', 'epoch-bondPenalty', 'epoch-share', 'epoch-required']
    assert.deepEqual(
      values.map((name) => figureOf(table, name)!.value),
      ['0.25', '0.5', '0.125', '0.4', '0.12345'],
    )
  })

  test('have epochs sorted by each column, those without the figure last, and a row for the running one', () => {
    const rows = [
      epoch(12, { ...endOf(12), timeOnBook: '0.9', feePenalty: '0.1', feesPaid: '900' }),
      epoch(10, { ...endOf(10), timeOnBook: null, feePenalty: null, bondPenalty: null }),
      epoch(9, { ...endOf(9), timeOnBook: '0.5', feePenalty: '1', bondPenalty: '0.02' }),
      epoch(8, { ...endOf(8), feesPaid: '1000', requiredLiquidity: '5', equityLikeShare: '0.1' }),
    ]
    for (const [order, expected, title] of [
      ['-epoch', '12 11 10 9 8', 'Epoch ↓'],
      ['epoch', '8 9 10 11 12', 'Epoch ↑'],
      ['-ended', '12 11 10 9 8', 'Ended (UTC) ↓'],
      ['ended', '8 9 10 11 12', 'Ended (UTC) ↑'],
      ['-book', '12 8 9 10', 'Time on book ↓'],
      ['book', '9 8 12 10', 'Time on book ↑'],
      ['-feePenalty', '9 12 8 10', 'Fee penalty ↓'],
      ['-bondPenalty', '9 8 12 10', 'Bond penalty (of bond) ↓'],
      ['-share', '8 9 10 12', 'Equity-like share ↓'],
      ['required', '8 9 10 12', 'Required liquidity, USD ↑'],
      ['-fees', '8 12 9 10', 'Fees before penalty, USD ↓'],
      ['-lost', '12 8 9 10', 'Lost to the fee penalty, USD ↓'],
      ['lost', '8 12 9 10', 'Lost to the fee penalty, USD ↑'],
      ['-earned', '8 12 9 10', 'Earned, USD ↓'],
      // One that names no column.
      ['-x', '12 11 10 9 8', 'Epoch ↓'],
    ] as const) {
      go(`/?view=party&epochSort=${order}`)
      const table = tableOf(rows)
      assert.equal(
        rowTexts(table, EPOCHS)
          .map((text) => text.split(' ')[0])
          .join(' '),
        expected,
        order,
      )
      const sorted = table.match(/<th [^>]*aria-sort="(?:a|de)scending".*?<\/th>/gs)!
      assert.deepEqual(sorted.map(textOf), [title])
      assert.equal(sorted[0]!.includes('"descending"'), title.endsWith('↓'))
      // Whatever the order, the sum is of all.
      assertSays(textOf(table), 'Sum of 4 epochs, 1 missing')
    }
    assert.equal(tableOf(rows).match(/<button type="button" class="sort"/g)?.length, 10)
    // The epoch that runs is above, in any order; its time on book is that of now.
    const sla = { ...SLA, lastEpochFractionOfTimeOnBook: '0.9' }
    const [now] = withFees([made({ sla })])
    assert.equal(
      rowTexts(tableOf(rows, now!), EPOCHS)[0],
      '13 runs since 1970-01-13 00:00:00 below SLA 50 % of at least 60 % known when it ends',
    )
    // If the newest row is not of the last epoch, the running one is not known.
    const [other] = withFees([made({ sla: { ...sla, lastEpochFractionOfTimeOnBook: '0.8' } })])
    assert.match(rowTexts(tableOf(rows, other!), EPOCHS)[0]!, /^12 /)
  })

  test('are told which epoch cost most, when that was, and why, as far as the figures prove it', () => {
    const rowsOf = (...list: [timeOnBook: string, feePenalty: string, more?: object][]) =>
      list
        .map(([timeOnBook, feePenalty, more], seq) =>
          epoch(seq, { ...endOf(seq), timeOnBook, feePenalty, feesPaid: '500000', ...more }),
        )
        .reverse()
    const cases: [rows: LiquidityProviderEpoch[], expected: string][] = [
      [
        rowsOf(['1', '0'], ['0.59', '1', { bondPenalty: '0.001' }]),
        'Epoch 1 cost the most of these 2: 5.00 USD, 100 % of its fees and 0.1 % of its bond. From 1970-01-01 00:00 to 1970-01-02 00:00 UTC. Time on book 59 %, below the minimum of 60 %. Not counted: bond penalties, since events do not contain the bond.',
      ],
      // (1 - 0.8) / (1 - 0.6) of 40 %.
      [
        rowsOf(['1', '0'], ['0.8', '0.2'], ['1', '0']),
        'Epoch 1 cost the most of these 3: 1.00 USD, 20 % of its fees. From 1970-01-01 00:00 to 1970-01-02 00:00 UTC. Time on book 80 %, at least the minimum of 60 %: the penalty is for the time off the book.',
      ],
      // The epoch before the first row is not known, nor is the time at which it ended.
      [
        rowsOf(['0.8', '0.2']),
        'Epoch 0 cost the most of these 1: 1.00 USD, 20 % of its fees. Ended 1970-01-01 00:00 UTC. Time on book 80 %, at least the minimum of 60 %: the penalty is for the time off the book.',
      ],
      // The average of 1 and 0.2; its own would be 0.1.
      [
        rowsOf(['0.5', '1', { feesPaid: '1' }], ['0.8', '0.2', { feesPaid: '1' }], ['0.9', '0.6']),
        'Epoch 2 cost the most of these 3: 3.00 USD, 60 % of its fees. From 1970-01-02 00:00 to 1970-01-03 00:00 UTC. Time on book 90 %, at least the minimum of 60 %: the penalty is the average of the 2 epochs before.',
      ],
      // Neither its own nor an average by the terms of today.
      [
        rowsOf(['1', '0'], ['0.9', '0.3']),
        'Epoch 1 cost the most of these 2: 1.50 USD, 30 % of its fees. From 1970-01-01 00:00 to 1970-01-02 00:00 UTC. Time on book 90 %; the minimum of 60 % is that of today.',
      ],
      [rowsOf(['1', '0'], ['1', '0']), 'No penalty took fees in these 2 epochs. '],
      [
        rowsOf(['1', '0'], ['0.5', '1', { feesPaid: null }]),
        'What fee penalties took is not known for 1 of these 2 epochs; in the others they took nothing. Not counted: 1 with unknown fees.',
      ],
      [
        [...rowsOf(['1', '0']), { ...rowsOf(['1', '0'])[0]!, feesPaid: '5', feePenalty: null }],
        'What fee penalties took is not known for 1 of these 2 epochs; in the others they took nothing. Not counted: 1 with an unknown penalty.',
      ],
    ]
    for (const [rows, expected] of cases) {
      const { what, why } = describeDearest(rows, TERMS, USD)
      assert.equal(`${what} ${why}`, expected)
    }
    assert.match(describeDearest(rowsOf(['0.8', '0.2']), null, null).why, /UTC\. Time on book 80 %\.$/)
  })

  test('are shown what they received, cut to the smallest unit, and the rest as lost', () => {
    // A ledger of a core: the penalty of 489,731,023 left 302,174,461 (docs/api.md, provider history).
    const cases: [fees: string | null, penalty: string | null, earned: string | null, lost: string | null][] =
      [
        ['489731023', '0.3829787234042553', '302174461', '187556562'],
        ['10', '0.05', '9', '1'],
        ['10', '0', '10', '0'],
        ['10', '1', '0', '10'],
        ['0', '0.5', '0', '0'],
        [null, '0.5', null, null],
        ['10', null, null, null],
        ['10', '', null, null],
      ]
    for (const [feesPaid, feePenalty, earned, lost] of cases) {
      const row = epoch(1, { feesPaid, feePenalty })
      assert.deepEqual([earnedOf(row), lostToPenalty(row)], [earned, lost], `${feesPaid} ${feePenalty}`)
    }
  })

  test('are told how long they must still be on the book, and what leaving now would cost', () => {
    const hour = 3_600_000_000_000n
    const standing: ProviderStanding = {
      marketId: LIVE_MARKET,
      partyId: 'b'.repeat(64),
      epoch: '13',
      epochStart: '0',
      epochExpectedEnd: `${24n * hour}`,
      at: `${8n * hour}`,
      timeOnBook: '0.5',
      minimum: '0.6',
      elapsed: '0.3333333333333333',
      ifLeft: '0.1666666666666667',
      stillNeeded: '0.65',
      feePenaltyIfLeft: '1',
      feePenaltyLastEpoch: '0.1',
    }
    const newest = epoch(12, { feesPaid: '1000000', feePenalty: '0.1' })
    const now = made({ sla: { ...SLA, hysteresisPeriodFeePenalties: ['0.3', '0'] } })
    const shown = (fields: Partial<ProviderStanding>, last: LiquidityProviderEpoch | undefined = newest) => {
      tableOf([newest])
      const liquidityStanding = [{ ...standing, ...fields }]
      const query = answered({ liquidityStanding, missing: [], since: null })
      return textOf(
        render(StandingPanel, { query, marketId: LIVE_MARKET, partyId: standing.partyId, now, newest: last }),
      )
    }
    assert.equal(
      shown({}),
      'Epoch 13, running Notify me Still needed on the book 10 h 24 min of the remaining 16 h (65 %), to reach the minimum of 60 % Time on book so far 50 % 16.67 % of the whole epoch of at least 60 % required: 60 % 33.33 % of the epoch has passed Leaving now would cost 100 % of its fees time on book 16.67 % of the epoch, below the minimum staying to the end 16.67 % with fees as in epoch 12: 10.00 USD Epoch ends, as expected 00:00 UTC 1970-01-02 Fees of epoch 12 10.00 USD earned 9.00 USD after a fee penalty of 10 %',
    )
    for (const [fields, said] of [
      [{ stillNeeded: '0' }, 'Still needed on the book None the minimum of 60 % is reached'],
      [{ stillNeeded: '1' }, 'on the book 16 h of the remaining 16 h (100 %)'],
      [
        { stillNeeded: '1.0000000000000001' },
        'Out of reach the minimum of 60 % takes more than the remaining 16 h',
      ],
      [{ stillNeeded: null }, 'Still needed on the book Not known Time on book'],
      [{ timeOnBook: null }, 'Time on book so far Not known: the core has sent none in this epoch'],
      [
        { epochExpectedEnd: null, stillNeeded: null },
        'as expected Not known: it follows from the epoch before',
      ],
      [{ ifLeft: '0.75', feePenaltyIfLeft: '0.2' }, 'time on book 75 % of the epoch, at least the minimum'],
      [{ feePenaltyIfLeft: null }, 'Leaving now would cost Not known time on book'],
      [{ epoch: '14' }, 'Fees of the last epoch No figures of the last epoch are stored'],
      [{ epoch: null }, 'The running epoch Notify me Still needed'],
    ] as const) {
      assertSays(shown(fields), said)
    }
    assertSays(shown({}, { ...newest, feesPaid: null }), 'Fees of epoch 12 The core reported none')
    // Blocks of the epoch that are missing are named; those before it change nothing.
    const missing = [
      { from: '1', to: '2', start: '-9', end: '-5' },
      { from: '5', to: '6', start: '10', end: '20' },
    ]
    const query = answered({ liquidityStanding: [standing], missing, since: null })
    const incomplete = textOf(
      render(StandingPanel, { query, marketId: LIVE_MARKET, partyId: standing.partyId, now, newest }),
    )
    assertSays(
      incomplete,
      'Blocks 5 to 6 (1970-01-01 00:00 to 1970-01-01 00:00 UTC) are missing or incomplete. If',
    )
    const none = answered({ liquidityStanding: [], missing: [], since: null })
    assertSays(
      textOf(
        render(StandingPanel, { query: none, marketId: LIVE_MARKET, partyId: standing.partyId, now, newest }),
      ),
      'no provision on this market now',
    )
    assert.equal(
      describeStanding(standing, '0.15'),
      'On the book for 50 % of the epoch so far; the minimum of 60 % needs 10 h 24 min of the remaining 16 h (65 %). Leaving now would cost 100 % of its fees, staying to the end 15 %.',
    )
    assert.equal(
      describeStanding({ ...standing, stillNeeded: '0', feePenaltyIfLeft: '0.25' }, null),
      'On the book for 50 % of the epoch so far; the minimum of 60 % of the epoch is reached. Leaving now would cost 25 % of its fees.',
    )
    assertSays(describeStanding({ ...standing, stillNeeded: '2' }, null)!, 'can no longer be reached')
    assert.equal(describeStanding({ ...standing, stillNeeded: null }, null), null)
    // On the book for five sixths: a sixth divided by 0.4, times 0.4. Earlier penalties may be more.
    const ifStayed = (earlier: string[], fields = {}) =>
      penaltyIfStayed({ ...standing, ...fields }, { ...SLA, hysteresisPeriodFeePenalties: earlier }, TERMS)
    assert.equal(Number(ifStayed(['0.3', '0'])).toFixed(9), '0.166666667')
    assert.equal(Number(ifStayed(['0.5', '0'])), 0.25)
    assert.deepEqual(
      [ifStayed(['x']), ifStayed([], { ifLeft: null }), penaltyIfStayed(standing, null, TERMS)],
      [null, null, null],
    )
    assert.equal(penaltyIfStayed(standing, SLA, null), null)
    // Rounded up: a second less would be too short.
    const seconds: [seconds: bigint, shown: string][] = [
      [0n, '0 s'],
      [59n, '59 s'],
      [3_599n, '59 min 59 s'],
      [3_601n, '1 h 1 min'],
      [86_399n, '1 d'],
      [90_001n, '1 d 2 h'],
    ]
    for (const [count, text] of seconds) assert.equal(formatAtLeast(count * 1_000_000_000n), text)
    assert.equal(formatAtLeast(1n), '1 s')
  })
})
