import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Instrument, LiquidityProvider, LiquidityProviderEpoch, SlaParameters } from 'lyra-client'
import { h } from 'preact'
import { formatAmount, formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { type ProviderRow, withFees } from '../web/src/providers/fees.ts'
import { LIVE_MARKET } from './fixtures/live-store.ts'
import {
  cellsOf,
  clientOf,
  figureOf,
  figuresOf,
  go,
  render,
  rowsOf,
  type Served,
  textOf,
  visit,
} from './fixtures/render.ts'
import { BTC, ETH, SOL } from './fixtures/sample.ts'
import { serveRecording } from './fixtures/service.ts'

const { EpochsChart } = await import('../web/src/providers/epochs-chart.tsx')
const { EpochsTable } = await import('../web/src/providers/epochs-table.tsx')
const { describeDearest, EPOCH_COLUMNS, lostToPenalty } = await import('../web/src/providers/epochs.ts')
const { Meanings } = await import('../web/src/providers/meanings.tsx')
const { PartyField } = await import('../web/src/providers/party-field.tsx')
const { Providers, ProvidersView } = await import('../web/src/providers/providers-view.tsx')
const { instruments } = await import('../web/src/service/instruments.ts')
const { param } = await import('../web/src/location.ts')

const recording = clientOf(await serveRecording('perps-long-named'))

const USD = { symbol: 'USD', decimals: 5 }

async function providersOf({ client }: Served, markets: readonly string[]): Promise<LiquidityProvider[]> {
  const pages = markets.map((marketId) => client.liquidityProvidersPage({ marketId }, { first: 5_000 }))
  return (await Promise.all(pages)).flatMap(({ rows }) => rows.map(({ node }) => node))
}

/** The providers as the page shows them at its address. */
function viewOf(providers: readonly LiquidityProvider[]): string {
  const data = { providers: withFees(providers), more: false, blockHeight: '2605' }
  const list = { data, error: null, loading: false, reload: () => {} }
  const [market, party] = [param('market'), param('party')?.toLowerCase() ?? null]
  return render(h(Providers, { market, party, list }))
}

/** Market and party of each row of the table. */
const idsOf = (view: string) =>
  rowsOf(view).map((row) =>
    [...row.matchAll(/title="(?:[^"]* )?([0-9a-f]{64})"/g)].map(([, id]) => id).join(' '),
  )

const isPenalised = ({ sla }: LiquidityProvider) =>
  sla !== null &&
  [sla.lastEpochFeePenalty, sla.lastEpochBondPenalty, ...sla.hysteresisPeriodFeePenalties].some(
    (text) => Number(text) !== 0,
  )

type Fields = Partial<Omit<LiquidityProvider, 'feeShare'>> & {
  feeShare?: Partial<LiquidityProvider['feeShare']>
}

const SLA = {
  ...{
    currentEpochFractionOfTimeOnBook: '0.5',
    lastEpochFractionOfTimeOnBook: '0.7',
    requiredLiquidity: '12345',
  },
  ...{ lastEpochFeePenalty: '0.2', lastEpochBondPenalty: '0', hysteresisPeriodFeePenalties: [] },
  ...{ notionalVolumeBuys: '1', notionalVolumeSells: '1' },
} as unknown as NonNullable<LiquidityProvider['sla']>

/** A provider without an SLA unless it is given. */
const made = ({ feeShare, ...fields }: Fields) =>
  ({
    ...{ marketId: LIVE_MARKET, partyId: 'b'.repeat(64), sla: null, ...fields },
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
    const required = (list: readonly LiquidityProvider[]) =>
      `${list.reduce((total, { sla }) => total + BigInt(sla?.requiredLiquidity ?? 0), 0n)}`
    const id = ({ marketId, partyId }: LiquidityProvider) => `${marketId} ${partyId}`
    // Rows without an SLA last, equal ones by their ids.
    const inOrder = withFees(all).toSorted((left, right) => {
      const [a, b] = [left, right].map(({ fees }) => Number(fees.net ?? -1)) as [number, number]
      return b - a || (id(left) < id(right) ? -1 : 1)
    })
    const view = viewOf(all)
    assert.deepEqual(idsOf(view), inOrder.map(id))
    for (const [index, { fees }] of inOrder.entries()) {
      const values = ['fees', 'kept', 'net'].map(
        (name) => figureOf(rowsOf(view)[index]!, name)?.value ?? null,
      )
      assert.deepEqual(values, [fees.share, fees.kept, fees.net])
    }
    const sum = required(all)
    assert.deepEqual(
      ['provisions', 'parties', 'markets', 'penalised'].map((name) => figureOf(view, name)!.text),
      [all.length, new Set(all.map(({ partyId }) => partyId)).size, 3, all.filter(isPenalised).length].map(
        String,
      ),
    )
    assert.equal(figureOf(view, 'total-required')!.value, sum)
    assert.equal(figureOf(view, 'total-required')!.text, formatAmountWithUnit(sum, USD, { places: 2 }))
    const titles = view.split('</thead>')[0]!.match(/<th .*?<\/th>/gs)!
    assert.deepEqual(
      titles.map((title) => textOf(title).replace(/ [↓↑]$/, '')),
      [
        ...['Market', 'Party', 'Fee share', 'Kept after penalty', "Fee share at last epoch's penalty"],
        ...['Time on book, this epoch', 'Time on book, last epoch', 'Required liquidity, USD'],
        'Bond penalty, last epoch',
      ],
    )
    assert.match(cellsOf(view)[0]![0]!, /^(BTC|ETH|SOL)\/PERP$/)
    assert.match(textOf(render(h(Meanings, {}))), /Bond penalty, last epoch Fraction of its bond/)

    // By penalty and by share.
    go('/?view=providers&penalised=1&below=20')
    const few = inOrder.filter((one) => isPenalised(one) && Number(one.feeShare.equityLikeShare) < 0.2)
    assert.ok(few.length > 0 && few.length < all.filter(isPenalised).length)
    const filtered = viewOf(all)
    assert.deepEqual(idsOf(filtered), few.map(id))
    assert.equal(figureOf(filtered, 'total-required')!.value, required(few))
    go('/?view=providers&below=0.000001')
    assert.match(
      textOf(viewOf(all)),
      new RegExp(`No provider matches the filters ${all.length} in total\\. Clear`),
    )
    go('/?view=providers&below=0.0')
    assert.match(textOf(viewOf(all)), /An equity-like share is a percentage above zero/)
  })

  test('of a market have two decimals, exact on hover, sorted by any column', async () => {
    await visit(recording, `/?view=providers&market=${ETH}&columns=all&sort=-stake`)
    const own = await providersOf(recording, [ETH])
    const stakes = (providers: LiquidityProvider[]) =>
      providers
        .toSorted((a, b) => Number(b.feeShare.virtualStake) - Number(a.feeShare.virtualStake))
        .map(({ feeShare: { virtualStake } }) => [
          virtualStake,
          formatAmount(virtualStake, USD, { places: 2 }),
        ])
    const shown = () =>
      figuresOf(rowsOf(viewOf(own)).join(''), 'stake').map(({ value, text }) => [value, text])
    assert.deepEqual(shown(), stakes(own))
    go(`/?view=providers&market=${ETH}&columns=all&sort=stake`)
    assert.deepEqual(shown(), stakes(own).toReversed())
    assert.equal(viewOf(own).split('</thead>')[0]!.match(/<th /g)!.length, 1 + 15)
    go(`/?view=providers&market=${ETH}`)
    assert.match(textOf(viewOf(own)), /All 15 figures/)
  })

  test('of a party are listed across markets, and as CSV', async () => {
    const all = await providersOf(recording, [BTC, ETH, SOL])
    const { partyId } = all[0]!
    await visit(recording, `/?view=providers&party=${partyId.toUpperCase()}`)
    const own = all.filter((provider) => provider.partyId === partyId)
    const view = viewOf(all)
    assert.equal(figureOf(view, 'markets')!.text, `${own.length}`)
    const names = { [BTC]: 'BTC/PERP', [ETH]: 'ETH/PERP', [SOL]: 'SOL/PERP' }
    assert.deepEqual(
      cellsOf(view)
        .map(([name]) => name!.split(' ')[0])
        .sort(),
      own.map(({ marketId }) => names[marketId]).sort(),
    )
    const csv = new URL(/class="copy csv" href="([^"]*)"/.exec(view)![1]!.replaceAll('&amp;', '&'))
    const lines = (await (await fetch(`${recording.base}${csv.pathname}${csv.search}`)).text())
      .trim()
      .split(/\r?\n/)
    assert.equal(lines.length - 1, own.length)
    for (const { feeShare } of own) assert.ok(lines.some((line) => line.includes(feeShare.virtualStake)))
    go('/?view=providers')
    assert.match(viewOf(all), /href="[^"]*\/api\/v2\/export\/liquidity-providers\?format=csv"/)
  })

  test('have a message for an invalid id, and for an unknown party', async () => {
    await visit(recording, '/?view=providers&party=bob')
    const shown = () => textOf(render(h(ProvidersView, {})))
    assert.match(shown(), /bob is not a party's id or its beginning: it has 64 hex digits/)
    go('/?view=providers&market=12')
    assert.match(shown(), /12 is not a market's id: it has 64 hex digits/)
    go(`/?view=providers&party=${'0'.repeat(64)}`)
    assert.match(textOf(viewOf([])), /00000000…000000 provides no liquidity As of block 2,605\./)
    for (const party of ['xyz', 'abc', 'net']) {
      const field = render(h(PartyField, { party, parties: [], onPick: () => {} }))
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
    const row = textOf(rowsOf(view)[0]!)
    assert.match(row, /No SLA figures/)
    assert.match(row, /12\.35 %/)
    assert.equal(figureOf(view, 'share')!.value, share.equityLikeShare)
    assert.equal(figureOf(view, 'stake')!.value, virtualStake)
    assert.ok(row.includes('1,234,567,890,123,456,789,012,345,678'), row)
    assert.match(
      textOf(view),
      /as sent, as whole numbers, and excluded from totals: the store has no market event/,
    )
    assert.equal(figureOf(view, 'total-stake'), undefined)
  })

  test('have a mark at the required time on book, and a total for each asset', () => {
    const markets = ['1', '2', '3', '4'].map((digit) => digit.repeat(64))
    const parties = ['a', 'b'].map((digit) => digit.repeat(64))
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
        parties.map((partyId, index) => {
          // If nobody has a score, only the shares count.
          const averageScore = market === 1 ? '0' : index === 0 ? '0.9' : '0.1'
          const equityLikeShare = index === 0 ? '0.25' : '0.75'
          const feeShare = { equityLikeShare, averageScore, virtualStake: `100000.${'1'.repeat(16)}` }
          return made({ marketId, partyId, sla: SLA, feeShare })
        }),
      ),
    )
    const row = (market: number, party: number) =>
      rowsOf(view).find((text) => text.includes(markets[market]!) && text.includes(parties[party]!))!
    const value = (market: number, name: string) => figureOf(row(market, 0), name)!.value
    // 0.25 x 0.9 and 0.75 x 0.1 have a sum of 0.3.
    assert.equal(value(0, 'fees'), '0.750000000000000000')
    assert.equal(value(0, 'net'), '0.600000000000000000')
    assert.equal(value(0, 'kept'), '0.8')
    assert.equal(value(1, 'fees'), '0.250000000000000000')
    const equal = withFees(['a', 'b', 'c'].map((partyId) => made({ partyId, sla: SLA })))
    assert.deepEqual(equal[0]!.fees, {
      share: `0.${'3'.repeat(18)}`,
      kept: '0.8',
      net: `0.2${'6'.repeat(17)}`,
    })
    const marks = (text: string) =>
      text.match(/class="bar-mark" data-least="0\.65" style="left:65%;?"/g)?.length
    assert.equal(marks(row(0, 0)), 2)
    assert.equal(marks(row(1, 0)), undefined)
    assert.match(textOf(row(0, 0)), /of at least 65 %/)
    // Below the minimum of 0.65 in this epoch; the other markets ask for none.
    assert.deepEqual(
      rowsOf(view).map((text) => text.includes('below minimum this epoch') === text.includes(markets[0]!)),
      Array(8).fill(true),
    )
    const text = textOf(view)
    assert.match(
      text,
      /Required liquidity 246\.90 EUR Virtual stake 2,000\.00 EUR Required liquidity 493\.80 USD Virtual stake 4,000\.00 USD/,
    )
    assert.match(text, /Amounts of 1 market are shown as sent, as whole numbers, and excluded from totals/)
    assert.doesNotMatch(text, /\.1{3}/)
  })

  test('are found by the beginning of a party id, and listed in pages', () => {
    const ids = Array.from(
      { length: 225 },
      (_, index) => `${(index * 7919).toString(16).padStart(6, '0')}${'e'.repeat(58)}`,
    )
    const all = ids.map((partyId, index) =>
      made({ partyId, feeShare: { equityLikeShare: `0.00${index + 100}` } }),
    )
    const highestFirst = ids.toReversed()
    for (const [page, first, last] of [
      [1, 0, 50],
      [2, 50, 100],
      [5, 200, 225],
      [9, 200, 225],
    ] as const) {
      go(`/?view=providers&market=${LIVE_MARKET}&sort=-share&page=${page}`)
      const view = viewOf(all)
      assert.deepEqual(idsOf(view), highestFirst.slice(first, last), `${page}`)
      assert.equal(figureOf(view, 'provisions')!.text, '225')
      assert.match(textOf(view), new RegExp(`Previous ${first + 1} to ${last} of 225 Next`))
      assert.equal(/<button [^>]*disabled>Next/.test(view), last === 225)
    }
    const start = ids[123]!.slice(0, 5)
    go(`/?view=providers&market=${LIVE_MARKET}&party=${start.toUpperCase()}`)
    const found = ids.filter((id) => id.startsWith(start))
    assert.ok(found.length < 10)
    assert.deepEqual(idsOf(viewOf(all)).sort(), found.sort())
    assert.ok(textOf(viewOf(all)).startsWith(`Parties whose id begins with ${start}`))
    // All ids end with it.
    go('/?view=providers&party=eeee')
    assert.match(textOf(viewOf(all)), /No provider's id begins with eeee/)
  })

  const epoch = (seq: number, fields: Partial<LiquidityProviderEpoch> = {}) =>
    ({
      ...{ marketId: LIVE_MARKET, partyId: 'b'.repeat(64), epoch: `${seq}`, atBlock: '1', timestamp: '0' },
      ...{ timeOnBook: '0.7', feePenalty: '0', bondPenalty: '0', equityLikeShare: null },
      ...{ requiredLiquidity: '12345', feesPaid: null, ...fields },
    }) as LiquidityProviderEpoch

  /** The terms of markets in which providers must be on the book 60 % of the time. */
  const TERMS: SlaParameters = {
    ...{ priceRange: '0.05', commitmentMinTimeFraction: '0.6' },
    ...{ performanceHysteresisEpochs: '2', slaCompetitionFactor: '0.4' },
  }

  /** The table of epochs at the page's address. */
  const tableOf = (rows: LiquidityProviderEpoch[], now: ProviderRow | null = null, first = 0, count = 20) => {
    const settlementAsset = { id: 'USD', symbol: 'USD', name: 'USD', decimals: '5' }
    instruments.value = new Map([[LIVE_MARKET, { settlementAsset, sla: TERMS } as unknown as Instrument]])
    return render(h(EpochsTable, { marketId: LIVE_MARKET, rows, now, first, count }))
  }

  test('have past epochs, as bars, in a table and in words, and those without figures as missing', () => {
    go('/?view=providers')
    const rows = [
      epoch(9, {
        ...{ timeOnBook: '0.25', feePenalty: '0.5', bondPenalty: '0.125', equityLikeShare: '0.4' },
        feesPaid: '1000000',
      }),
      ...[epoch(7, { feesPaid: '7' }), epoch(6, { timeOnBook: '0.6' }), epoch(2)],
    ]
    const least = '0.6'
    const chart = render(h(EpochsChart, { rows: rows.toReversed(), least }))
    const lane = (name: string) => chart.split('data-lane="').find((part) => part.startsWith(name))!
    const bars = [
      ...lane('book').matchAll(/<span class="lane-column[^>]*>(?:<span class="([^"]*)" style="([^"]*)">)?/g),
    ]
    assert.deepEqual(
      bars.map(([column, look, style]) => [/data-epoch="(\d+)"/.exec(column)?.[1], look, style]),
      [
        ['2', 'lane-bar', 'height:70%;'],
        ...Array(3).fill([undefined, undefined, undefined]),
        ['6', 'lane-bar', 'height:60%;'],
        ['7', 'lane-bar', 'height:70%;'],
        [undefined, undefined, undefined],
        ['9', 'lane-bar short', 'height:25%;'],
      ],
    )
    assert.match(lane('book'), /class="lane-least" style="bottom:60%;"/)
    // Without a natural limit, the greatest value has the full height.
    assert.match(lane('bondPenalty'), /style="height:100%;"/)
    assert.match(textOf(chart), /hatched: missing/)
    assert.match(
      textOf(chart),
      /Epoch 9: below SLA; time on book 25 %; fee penalty 50 %; bond penalty \(of bond\) 12\.5 %; equity-like share 40 %/,
    )
    const table = tableOf(rows)
    assert.deepEqual(
      cellsOf(table).map(([seq, , ...cells]) => [seq, ...cells]),
      [
        ['9', 'below SLA 25 % of at least 60 %', '50 %', '12.5 %', '40 %', '0.12', '10.00000', '5.00'],
        ['8'],
        ['7', '70 % of at least 60 %', '0 %', '0 %', '–', '0.12', '0.00007', '0.00'],
        ['6', '60 % of at least 60 %', '0 %', '0 %', '–', '0.12', '–', '–'],
        ['3 to 5'],
        ['2', '70 % of at least 60 %', '0 %', '0 %', '–', '0.12', '–', '–'],
      ],
    )
    assert.equal(cellsOf(table)[1]![1], 'missing: no figures of this provider')
    assert.match(textOf(table), /Sum of 4 epochs, 4 missing 10\.00000 5\.00$/)
    // The next page begins with what is missing before it.
    assert.deepEqual(
      cellsOf(tableOf(rows, null, 1, 2)).map(([seq]) => seq),
      ['8', '7', '6'],
    )
    // One who was paid without an SLA has no other figures.
    const none = {
      ...{ timeOnBook: null, feePenalty: null, bondPenalty: null, requiredLiquidity: null },
      feesPaid: '7',
    }
    assert.deepEqual(cellsOf(tableOf([epoch(9, none)]))[0]!.slice(2), [
      ...['–', '–', '–', '–', '–', '0.00007', '–'],
    ])
    assert.match(textOf(render(h(EpochsChart, { rows: [epoch(9, none)], least }))), /Epoch 9: no SLA figures/)
    // The core allocates fees before it takes the penalty.
    assert.equal(lostToPenalty(epoch(9, { feePenalty: '1', feesPaid: '26617260' })), '26617260')
    const values = ['epoch-book', 'epoch-feePenalty', 'epoch-bondPenalty', 'epoch-share', 'epoch-required']
    assert.deepEqual(
      values.map((name) => figureOf(table, name)!.value),
      ['0.25', '0.5', '0.125', '0.4', '12345'],
    )
  })

  test('have epochs sorted by each column, those without the figure last, and a row for the running one', () => {
    const DAY = 86_400_000_000_000n
    const rows = [
      epoch(12, { timestamp: `${12n * DAY}`, timeOnBook: '0.9', feePenalty: '0.1', feesPaid: '900' }),
      epoch(10, { timestamp: `${10n * DAY}`, timeOnBook: null, feePenalty: null, bondPenalty: null }),
      epoch(9, { timestamp: `${9n * DAY}`, timeOnBook: '0.5', feePenalty: '1', bondPenalty: '0.02' }),
      epoch(8, {
        timestamp: `${8n * DAY}`,
        feesPaid: '1000',
        requiredLiquidity: '5',
        equityLikeShare: '0.1',
      }),
    ]
    const orders = [
      ['-epoch', '12 11 10 9 8'],
      ['epoch', '8 9 10 11 12'],
      ['-ended', '12 11 10 9 8'],
      ['ended', '8 9 10 11 12'],
      ['-book', '12 8 9 10'],
      ['book', '9 8 12 10'],
      ['-feePenalty', '9 12 8 10'],
      ['-bondPenalty', '9 8 12 10'],
      ['-share', '8 9 10 12'],
      ['required', '8 9 10 12'],
      ['-fees', '8 12 9 10'],
      ['-lost', '12 8 9 10'],
      ['lost', '8 12 9 10'],
      // One that names no column.
      ['-x', '12 11 10 9 8'],
    ]
    for (const [order, expected] of orders) {
      go(`/?view=party&epochSort=${order}`)
      const table = tableOf(rows)
      assert.equal(
        cellsOf(table)
          .map(([seq]) => seq)
          .join(' '),
        expected,
        order,
      )
      const sorted = order === '-x' ? '-epoch' : order!
      const heads = table.split('</thead>')[0]!.match(/<th .*?<\/th>/gs)!
      assert.deepEqual(
        heads.flatMap((head, index) => {
          assert.match(head, /<button type="button" class="sort"/)
          const sort = /aria-sort="(\w+)"/.exec(head)![1]!
          return sort === 'none' ? [] : [`${sort === 'descending' ? '-' : ''}${EPOCH_COLUMNS[index]!.name}`]
        }),
        [sorted],
      )
      // Whatever the order, the sum is of all.
      assert.match(textOf(table), /Sum of 4 epochs, 1 missing/)
    }
    // The epoch that runs is above, in any order; its time on book is that of now.
    const sla = { ...SLA, lastEpochFractionOfTimeOnBook: '0.9' }
    const [now] = withFees([made({ sla })])
    const [running] = cellsOf(tableOf(rows, now!))
    assert.deepEqual(running, [
      ...['13', 'runs since 1970-01-13 00:00:00', 'below SLA 50 % of at least 60 %', 'known when it ends'],
    ])
    // If the newest row is not of the last epoch, the running one is not known.
    const [other] = withFees([made({ sla: { ...sla, lastEpochFractionOfTimeOnBook: '0.8' } })])
    assert.equal(cellsOf(tableOf(rows, other!))[0]![0], '12')
  })

  test('are told which epoch cost most, when that was, and why, as far as the figures prove it', () => {
    const at = (seq: number) => `${BigInt(seq) * 86_400_000_000_000n}`
    const rowsOf = (...list: [timeOnBook: string, feePenalty: string, more?: object][]) =>
      list
        .map(([timeOnBook, feePenalty, more], seq) =>
          epoch(seq, { timeOnBook, feePenalty, timestamp: at(seq), feesPaid: '500000', ...more }),
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
        'No penalty took fees in these 2 epochs. Not counted: 1 with unknown fees.',
      ],
    ]
    for (const [rows, expected] of cases) {
      const { what, why } = describeDearest(rows, TERMS, USD)
      assert.equal(`${what} ${why}`, expected)
    }
    assert.match(describeDearest(rowsOf(['0.8', '0.2']), null, null).why, /UTC\. Time on book 80 %\.$/)
  })
})
