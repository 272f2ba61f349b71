import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { Coverage, Readiness } from 'lyra-client'
import { h } from 'preact'
import { LyraApiError } from '../client/src/index.ts'
import { groupDigits } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { askPeriods, within } from '../web/src/periods/period.ts'
import { partOf } from './fixtures/event-stream.ts'
import { cellsOf, clientOf, figuresOf, go, render, rowsOf, textOf, visit } from './fixtures/render.ts'
import { BTC, ETH, HEIGHT, SOL } from './fixtures/sample.ts'
import { ingest, serve, serveRecording } from './fixtures/service.ts'
import { recorded } from './fixtures/shared.ts'
import { fileWith, STORE_KINDS } from './fixtures/stores.ts'

const { CheckpointsTable } = await import('../web/src/checkpoints/checkpoints-table.tsx')
const { CheckpointsView } = await import('../web/src/checkpoints/checkpoints-view.tsx')
const { FundingView } = await import('../web/src/funding/funding-view.tsx')
const { askGapTime } = await import('../web/src/funding/gap-times.ts')
const { NowFigures } = await import('../web/src/funding/now-figures.tsx')
const { PeriodsTable } = await import('../web/src/funding/periods-table.tsx')
const { MarketsTable } = await import('../web/src/markets/markets-table.tsx')
const { MarketsView } = await import('../web/src/markets/markets-view.tsx')
const { BlocksBar } = await import('../web/src/node/blocks-bar.tsx')
const { NodeView } = await import('../web/src/node/node-view.tsx')
const { now } = await import('../web/src/parts/clock.ts')
const { ProvidersView } = await import('../web/src/providers/providers-view.tsx')
const { connection } = await import('../web/src/service/connection.ts')
const { coverageError, coverageSamples, latestCoverage, readiness } = await import(
  '../web/src/service/coverage.ts'
)
const { freshness } = await import('../web/src/service/freshness.ts')
const { areInstrumentsAsked } = await import('../web/src/service/instruments.ts')
const { Header } = await import('../web/src/shell/header.tsx')

const recording = clientOf(await serveRecording('perps-calm-named'))

const FUNDING = `/?view=funding&market=${BTC}&span=all`

const VIEWS = [MarketsView, FundingView, ProvidersView, CheckpointsView, NodeView]

const READY = { status: 'ready' } as Readiness

const notReady = (reason: string, message: string, store?: string) =>
  ({ status: 'not ready', reasons: [{ reason, message }], store }) as Readiness

describe('the explorer says how current the data are', () => {
  /** The coverage of a service whose last block has a height and an age in seconds. */
  const sample = (at: number, height: number, ageSeconds: number) => ({
    at,
    coverage: {
      blocks: {
        ...{ ranges: [{ from: '1', to: `${height}` }], gaps: [], imported: [] },
        lastTimestamp: `${BigInt(now.value - ageSeconds * 1_000) * 1_000_000n}`,
      },
    } as unknown as Coverage,
  })

  test('in a word or two for every state', () => {
    now.value = Date.parse('2023-10-06T10:15:04Z')
    const old = 26 * 3_600
    const [early, late] = [now.value - 10_000, now.value - 1_000]
    const still = [sample(early, 5, old), sample(late, 5, old)]
    const grown = [sample(early, 5, old), sample(late, 6, old)]
    const [failed, silent] = [
      notReady('intake stopped', 'the disk is full'),
      { state: 'down', since: now.value },
    ]
    const behind = notReady('behind', 'behind by 26 h')
    const cases: [Readiness | null, typeof still, state: string, text: string, more: RegExp][] = [
      [null, [], 'connecting', 'connecting', /has not responded yet/],
      [READY, [sample(late, 5, 7)], 'live', 'live · 7 s', /last block is 7 s old/],
      [
        READY,
        grown,
        'receiving',
        'receiving · 2023-10-05 08:15 UTC',
        /is from 2023-10-05 08:15:04 UTC, 1 d 2 h ago/,
      ],
      [READY, still, 'static', 'as of 2023-10-05 08:15 UTC', /is from 2023-10-05 08:15:04 UTC, 1 d 2 h ago/],
      // Blocks that arrived longer ago do not count.
      [
        READY,
        [sample(now.value - 30_000, 5, old), sample(late, 6, old)],
        'static',
        'as of 2023-10-05 08:15 UTC',
        /^The last/,
      ],
      [behind, still, 'lagging', 'lagging by 1 d 2 h', /^Lagging/],
      [behind, [sample(late, 5, 7)], 'lagging', 'lagging by 7 s', /^Lagging/],
      [behind, grown, 'receiving', 'receiving · 2023-10-05 08:15 UTC', /^Receiving/],
      [failed, still, 'not-ready', 'not ready: intake stopped', /the disk is full/],
      [notReady('empty store', ''), [], 'empty', 'not ready: empty', /no blocks yet/],
    ]
    for (const [ready, samples, state, text, more] of cases) {
      readiness.value = ready
      coverageSamples.value = samples
      assert.deepEqual([freshness.value.state, freshness.value.text], [state, text])
      assert.match(freshness.value.more, more)
    }
    connection.value = silent as typeof connection.value
    assert.deepEqual([freshness.value.state, freshness.value.text], ['down', 'down'])
    connection.value = { state: 'up' }
    readiness.value = null
    coverageSamples.value = []
    coverageError.value = new LyraApiError(503, new Headers(), '')
    assert.equal(freshness.value.text, 'not ready')
    coverageError.value = null
  })

  test('in the header, on the button and on the Node page alike', async () => {
    now.value = Date.now()
    await visit(recording, FUNDING)
    for (const View of [FundingView, NodeView]) {
      const said = [render(h(Header, {})), render(h(View, {}))].map((html) =>
        [...html.matchAll(/data-freshness="static">.*?class="freshness-text">([^<]*)</gs)].map(
          ([, text]) => text,
        ),
      )
      assert.deepEqual(said, Array(2).fill(['as of 2023-10-05 10:15 UTC']))
    }
    assert.match(
      textOf(render(h(NodeView, {}))),
      /The last block is from 2023-10-05 10:15:04 UTC, \d+ y \d+ d ago/,
    )
    readiness.value = notReady('intake stopped', 'no block for 90 seconds')
    assert.match(textOf(render(h(NodeView, {}))), /intake stopped: no block for 1 min 30 s/)
  })

  test('with the time of estimates and next payments, in grey, if the service is behind', async () => {
    await visit(recording, '/')
    const { client } = recording
    const coverage = latestCoverage()!
    const last = BigInt(coverage.blocks.lastTimestamp)
    const due = last + 3_600_000_000_000n
    const [summary] = (await client.marketSummariesPage({ marketId: ETH })).rows.map(({ node }) => node)
    // The recorded markets have no schedule.
    summary!.instrument!.funding!.schedule = { initial: `${due}`, every: '1' }
    const at = `${last - 3_600_000_000_000n}`
    summary!.estimate!.at = at
    const estimate = { ...(await client.fundingEstimate(ETH))!, at }
    const { list } = await askPeriods(client, { marketId: ETH }, 5_000)
    const table = { basis: '8h' as const, summaries: [summary!], compared: [], onCompare: () => {} }
    const now = { periods: list, estimate, summary: summary!, due, unit: null, last, children: null }
    const periods = { data: { list, more: false }, error: null, loading: false, reload: () => {} }
    const range = { from: 0n, to: last + 1n }
    const rest = { marketId: ETH, firstListed: null, unit: null, shown: within(list, range) }
    const shown = () => [
      render(h(MarketsTable, table)),
      render(h(NowFigures, now)),
      render(h(PeriodsTable, { periods, range, estimate, ...rest })),
    ]
    for (const html of shown()) assert.doesNotMatch(html, /stale|as of/)
    // Blocks arrive.
    const before = { ...coverage, blocks: { ...coverage.blocks, ranges: [] } }
    coverageSamples.value = [before, coverage].map((coverage) => ({ coverage, at: Date.now() }))
    readiness.value = notReady('behind', 'behind by 26 h')
    const [row, figures, rows] = shown() as [string, string, string]
    const asOf = (time: string | bigint) => `as of ${formatTime(time).slice(0, 16)} UTC`
    const stated = (html: string) => figuresOf(html, 'as-of').map(({ text }) => text)
    assert.deepEqual(stated(row), [asOf(at), asOf(last)])
    assert.deepEqual([stated(figures), stated(rows)], Array(2).fill([asOf(at)]))
    assert.match(row, /<span class="stale"><data class="amount" [^>]* data-figure="rate"/)
    assert.match(row, /<td [^>]*><data class="amount" [^>]* data-figure="paid"/)
    assert.match(figures, /class="figure stale"><span class="figure-name">Period #\d+, estimate/)
    assert.match(figures, /class="figure"><span class="figure-name">Last paid/)
    assert.match(rows, /<tr class="estimate stale">/)
    for (const html of [row, figures]) {
      assert.match(html, /class="stale" data-figure="due"/)
      assert.doesNotMatch(textOf(html), / in \d/)
    }
    // The time that is left, once it keeps up.
    readiness.value = READY
    assert.match(textOf(shown()[0]!), / UTC in 1 h/)
  })
})

describe('the views of the explorer', () => {
  test('show the commands that fill an empty store', async () => {
    readiness.value = notReady('empty store', '', "it's.db")
    coverageSamples.value = []
    const word = `'it'\\''s.db'`
    for (const View of VIEWS) {
      const html = render(h(View, {}))
      const text = textOf(html)
      assert.match(text, /This store is empty .* its store it's\.db has no blocks yet/)
      for (const command of [
        `lyra ingest --store ${word} events.evts.gz`,
        `lyra import --store ${word} segments/`,
        `Follow a core, which connects to --listen lyra serve --store ${word} --listen 127.0.0.1:3005`,
      ]) {
        assert.ok(text.includes(command), text)
      }
    }
  })

  test('show skeletons, not "no point", while an answer is pending, and no amount before its unit is known', async () => {
    await visit(recording, '/')
    for (const [View, path] of [
      [MarketsView, '/'],
      [FundingView, FUNDING],
      [ProvidersView, '/?view=providers'],
      [CheckpointsView, '/?view=checkpoints'],
    ] as const) {
      for (const asked of [true, false]) {
        go(path)
        areInstrumentsAsked.value = asked
        const html = render(h(View, {}))
        assert.match(html, /class="skeleton/)
        assert.doesNotMatch(html, /<data /)
        // A chart's place is hidden while it waits (explorer.test.ts).
        const [before, waiting = ''] = html.split('<div class="chart-place waiting">')
        assert.doesNotMatch(textOf(before!), /\bno\b.*(point|market|provider|checkpoint)/i)
        assert.equal(waiting !== '', View === FundingView && asked)
      }
    }
  })

  test('explain an invalid range or market', async () => {
    await visit(recording, `/?view=funding&market=${BTC}&from=2023-02-30&to=2023-03-01`)
    const shown = () => textOf(render(h(FundingView, {})))
    assert.match(shown(), /There is no 2023-02-30\. Showing: all\./)
    go('/?view=funding&market=BTC')
    assert.match(shown(), /Invalid market id btc is in the page's address/)
    go(`/?view=funding&market=${'0'.repeat(64)}`)
    assert.match(shown(), /No funding of this market/)
  })

  test("show the service's blocks and rows", async () => {
    await visit(recording, '/?view=node')
    const html = render(h(NodeView, {}))
    const text = textOf(html)
    for (const shown of [
      `Last block ${HEIGHT}`,
      'core-scenarios',
      'Every block from 1 to 905',
      '2,298',
      '36',
      '93',
    ]) {
      assert.ok(text.includes(shown), `${shown} in ${text}`)
    }
    assert.deepEqual(
      cellsOf(html).map(([name]) => name),
      ['BTC/PERP', 'ETH/PERP', 'SOL/PERP'],
    )
    const points = latestCoverage()!.fundingPeriodDataPoints.find(({ marketId }) => marketId === BTC)!
    assert.deepEqual(cellsOf(html)[0]!.slice(2, 5), [
      groupDigits(points.count),
      ...[points.firstTimestamp, points.lastTimestamp].map(formatTime),
    ])
    const gap = { from: '301', to: '310', kind: 'missing' as const }
    const ranges = [
      { from: '1', to: '300' },
      { from: '311', to: '600' },
    ]
    const { blocks } = latestCoverage()!
    assert.match(
      textOf(render(h(BlocksBar, { blocks: { ...blocks, ranges, gaps: [gap] } }))),
      /1 gap between block 1 and block 600: blocks 301 to 310 missing/,
    )
  })

  test('list checkpoints with whole hashes, and mark the one of a height', async () => {
    const { rows } = await recording.client.checkpointsPage({}, { first: 30 })
    const checkpoints = rows.map(({ node }) => node)
    const wanted = checkpoints[20]!
    const table = render(h(CheckpointsTable, { checkpoints, height: `${BigInt(wanted.atBlock) + 1n}` }))
    assert.deepEqual(
      cellsOf(table).map(([height]) => height),
      checkpoints.map(({ atBlock }) => groupDigits(atBlock)),
    )
    for (const [index, { hash, blockHash }] of checkpoints.entries()) {
      const row = rowsOf(table)[index]!
      assert.ok(row.includes(`title="${hash}"`) && row.includes(`title="${blockHash}"`))
      assert.equal(row.startsWith('<tr class="marked"'), index === 20)
    }
  })

  test("place a gap between a market's last price before and its first one after the missing blocks", async (t) => {
    const [from, to] = [1_001, 1_200]
    const store = STORE_KINDS[0]!.create(t)
    const part = partOf(recorded('perps-long-named'), (height) => height < from || height > to)
    await ingest(store, fileWith(t, part), { allowGap: true })
    const { client } = clientOf(await serve(t, store))
    using database = new DatabaseSync(store, { readOnly: true })
    const internal = `from funding_period_data_points join markets using (market) where source = 2 and market_id = ?`
    const lastBefore = database.prepare(
      `select cast(max(timestamp) as text) as time ${internal} and height < ${from}`,
    )
    const firstAfter = database.prepare(
      `select cast(timestamp as text) as time ${internal} and height > ${to} and timestamp > ?
      order by height, event_index limit 1`,
    )
    for (const market of [BTC, ETH, SOL]) {
      const before = BigInt(lastBefore.get(market)!.time as string)
      const after = BigInt(firstAfter.get(market, before)!.time as string)
      assert.ok(after - before > 190_000_000_000n, market)
      const gap = { from: `${from}`, to: `${to}` }
      const shade = await askGapTime(client, market, gap, new AbortController().signal)
      assert.deepEqual(shade, { kind: 'gap', from: before, to: after })
    }
  })
})
