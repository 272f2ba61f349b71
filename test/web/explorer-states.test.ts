import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Coverage, Readiness } from 'lyra-client'
import { LyraApiError } from '../../client/src/index.ts'
import { groupDigits } from '../../web/src/figures/format-figure.ts'
import { askPeriods } from '../../web/src/periods/period.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  clientOf,
  figuresOf,
  go,
  render,
  rowsOf,
  rowTexts,
  textOf,
  visit,
} from '../fixtures/explorer/render.ts'
import { serveRecording } from '../fixtures/services/service.ts'
import { BTC, ETH } from '../fixtures/shared.ts'

const { CheckpointsTable } = await import('../../web/src/checkpoints/checkpoints-table.tsx')
const { CheckpointsView } = await import('../../web/src/checkpoints/checkpoints-view.tsx')
const { FundingView } = await import('../../web/src/funding/funding-view.tsx')
const { describeGaps, gapShades } = await import('../../web/src/charts/gap-times.ts')
const { NowFigures } = await import('../../web/src/funding/now/now-figures.tsx')
const { MarketsTable } = await import('../../web/src/markets/markets-table.tsx')
const { MarketsView } = await import('../../web/src/markets/markets-view.tsx')
const { BlocksBar } = await import('../../web/src/node/blocks-bar.tsx')
const { NodeView } = await import('../../web/src/node/node-view.tsx')
const { now } = await import('../../web/src/service/clock.ts')
const { ProvidersView } = await import('../../web/src/providers/providers-view.tsx')
const { connection } = await import('../../web/src/service/connection.ts')
const { coverageError, coverageSamples, lastHeight, latestCoverage, noteCoverage, pollCoverage, readiness } =
  await import('../../web/src/service/coverage.ts')
const { freshness, isOutdated } = await import('../../web/src/service/freshness.ts')
const { areInstrumentsAsked } = await import('../../web/src/service/instruments.ts')

const recording = clientOf(await serveRecording('perps-calm-named'))

const FUNDING = `/?view=funding&market=${BTC}&span=all`

const VIEWS = [MarketsView, FundingView, ProvidersView, CheckpointsView, NodeView]

const SECOND = 1_000_000_000n

/** A coverage, and when it arrived, milliseconds. */
type Received = { coverage: Coverage; at: number }

const READY = { status: 'ready' } as Readiness

const notReady = (reason: string, message: string, store?: string) =>
  ({ status: 'not ready', reasons: [{ reason, message }], store }) as Readiness

describe('the explorer says how current the data are', () => {
  test('in a word or two for every state', () => {
    now.value = Date.parse('2023-10-06T10:15:04Z')
    /** The coverage so many seconds ago of a service whose last block has a height and an age in seconds. */
    const sample = (ago: number, height: number, age: number): Received => {
      const lastTimestamp = `${BigInt(now.value - age * 1_000) * 1_000_000n}`
      const blocks = { ranges: [{ from: '1', to: `${height}` }], gaps: [], imported: [], lastTimestamp }
      const rows = { checkpoints: { count: '0' }, fundingPeriodDataPoints: [], next: null }
      return { at: now.value - ago * 1_000, coverage: { blocks, ...rows } as unknown as Coverage }
    }
    const old = 26 * 3_600
    const still = [sample(10, 5, old), sample(1, 5, old)]
    const grown = [sample(10, 5, old), sample(1, 6, old)]
    const behind = notReady('behind', 'behind by 26 h')
    const asOf = '2023-10-05 08:15:04 UTC, 1 d 2 h ago.'
    for (const [ready, samples, ...expected] of [
      [null, [], 'connecting', 'connecting', 'The service has not responded yet.'],
      [READY, [sample(1, 5, 7)], 'live', 'live · 7 s', 'Live: the last block is 7 s old.'],
      // Clocks differ a little, not by days.
      [READY, [sample(1, 5, -7)], 'live', 'live · 0 s', 'Live: the last block is 0 s old.'],
      [
        READY,
        [sample(1, 5, -old)],
        'static',
        'as of 2023-10-07 12:15 UTC',
        "The last block is from 2023-10-07 12:15:04 UTC, 1 d 2 h after this browser's time.",
      ],
      [
        READY,
        grown,
        'receiving',
        'receiving · 2023-10-05 08:15 UTC',
        `Receiving blocks. The last one is from ${asOf}`,
      ],
      [READY, still, 'static', 'as of 2023-10-05 08:15 UTC', `The last block is from ${asOf}`],
      // Blocks that arrived longer ago do not count.
      [
        READY,
        [sample(30, 5, old), sample(1, 6, old)],
        'static',
        'as of 2023-10-05 08:15 UTC',
        `The last block is from ${asOf}`,
      ],
      [behind, still, 'lagging', 'lagging by 1 d 2 h', `Lagging: the last block is from ${asOf}`],
      [
        behind,
        [sample(1, 5, 7)],
        'lagging',
        'lagging by 7 s',
        'Lagging: the last block is from 2023-10-06 10:14:57 UTC, 7 s ago.',
      ],
      [
        behind,
        grown,
        'receiving',
        'receiving · 2023-10-05 08:15 UTC',
        `Receiving blocks. The last one is from ${asOf}`,
      ],
      [
        notReady('intake stopped', 'the disk is full'),
        still,
        'not-ready',
        'not ready: intake stopped',
        'Not ready: the disk is full.',
      ],
      [notReady('empty store', ''), [], 'empty', 'not ready: empty', 'The store has no blocks yet.'],
    ] as [Readiness | null, Received[], ...string[]][]) {
      readiness.value = ready
      noteCoverage(null, 0)
      for (const { coverage, at } of samples) noteCoverage(coverage, at)
      const { state, text, more } = freshness.value
      assert.deepEqual([state, text, more], expected)
    }
    connection.value = { state: 'down', since: now.value }
    assert.deepEqual([freshness.value.state, freshness.value.text], ['down', 'down'])
    connection.value = { state: 'up' }
    readiness.value = null
    noteCoverage(null, 0)
    coverageError.value = new LyraApiError(503, new Headers(), '')
    assert.equal(freshness.value.text, 'not ready')
    // It has refused to say so for a while; what another program says instead is not repeated.
    readiness.value = READY
    for (const [age, ...expected] of [
      [10, 'static', 'as of 2023-10-05 08:15 UTC', false],
      [30, 'not-ready', 'not ready', true],
    ] as const) {
      noteCoverage(sample(age, 5, old).coverage, now.value - age * 1_000)
      coverageError.value = new LyraApiError(429, new Headers(), '<html>Too many</html>')
      const { state, text, more } = freshness.value
      assert.deepEqual([state, text, isOutdated.value], expected)
      assert.doesNotMatch(more, /html/)
    }
    assert.equal(freshness.value.more, '429: not an answer of Lyra')
    coverageError.value = null
    noteCoverage(null, 0)
  })

  test('with the time of estimates and next payments, in grey, if the service is behind', async () => {
    await visit(recording, '/')
    const coverage = latestCoverage()!
    const last = BigInt(coverage.blocks.lastTimestamp)
    const due = last + 3_600_000_000_000n
    const { rows } = await recording.client.marketSummariesPage({ marketId: ETH })
    const [{ node: summary } = {}] = rows
    // The recorded markets have no schedule.
    summary!.instrument!.funding!.schedule = { initial: `${due}`, every: '1' }
    summary!.estimate!.at = `${last - 3_600_000_000_000n}`
    const { list } = await askPeriods(recording.client, { marketId: ETH }, 5_000)
    const table = { basis: '8h' as const, summaries: [summary!], compared: [], onCompare: () => {} }
    const figures = { periods: list, estimate: summary!.estimate, summary: summary!, due, unit: null, last }
    const shown = () => [
      rowsOf(render(MarketsTable, table))[0]!,
      render(NowFigures, { ...figures, children: null }),
    ]
    for (const html of shown()) assert.doesNotMatch(html, /stale|as of/)
    // Blocks arrive.
    const before = { ...coverage, blocks: { ...coverage.blocks, ranges: [] } }
    noteCoverage(null, 0)
    for (const one of [before, coverage]) noteCoverage(one, Date.now())
    readiness.value = notReady('behind', 'behind by 26 h')
    const [asOf, dueTime] = ['as of 2023-10-05 09:15 UTC', '11:15 UTC 2023-10-05']
    for (const [index, names, times] of [
      [0, ['rate', 'price', 'due', 'Active'], [asOf, 'as of 2023-10-05 10:15 UTC']],
      [1, ['estimate-rate', 'due'], [asOf]],
    ] as const) {
      const html = shown()[index]!
      assert.deepEqual(
        figuresOf(html, 'as-of').map(({ text }) => text),
        times,
      )
      const stale = html.split(/class="(?:figure )?stale"/).slice(1)
      assert.deepEqual(
        stale.map((part) => /data-figure="([\w-]+)"|(Active)/.exec(part)!.slice(1).join('')),
        names,
      )
      assert.ok(textOf(html).includes(dueTime), textOf(html))
      assertSays(textOf(html), `${dueTime} overdue by `)
    }
    // Of a service that does not answer nobody knows whether it has been paid.
    readiness.value = READY
    connection.value = { state: 'down', since: now.value }
    for (const html of shown()) {
      assert.match(html, /class="(?:figure )?stale"/)
      assertSays(textOf(html), 'as of 2023-10-05 09:15 UTC')
      assert.doesNotMatch(textOf(html), /overdue/)
    }
    connection.value = { state: 'up' }
    // The time that is left, once it keeps up.
    readiness.value = READY
    assertSays(textOf(shown()[0]!), ' UTC in 1 h')
  })
})

describe('the views of the explorer', () => {
  test('compute rates from a few figures of ten minutes, and keep only the last coverage', async () => {
    await visit(recording, '/?view=node')
    const coverage = latestCoverage()!
    for (let at = 0; at < 500; at++) noteCoverage(coverage, at)
    assert.equal(coverageSamples.value.length, 200)
    assert.deepEqual(coverageSamples.value.at(-1), {
      at: 499,
      height: 905n,
      points: 2_298n,
    })
  })

  test('ask for the coverage once at a time, so that an older answer never follows a newer one', async (t) => {
    await visit(recording, '/?view=node')
    const coverage = latestCoverage()!
    const atHeight = (to: string) =>
      Response.json({
        coverage: { ...coverage, blocks: { ...coverage.blocks, ranges: [{ from: '1', to }] } },
      })
    /** The answers to the questions for the coverage, in their order. */
    const answers: PromiseWithResolvers<Response>[] = []
    t.mock.method(globalThis, 'fetch', async (target: string) => {
      if (!target.includes('/coverage')) return Response.json(READY)
      const answer = Promise.withResolvers<Response>()
      answers.push(answer)
      return answer.promise
    })
    noteCoverage(null, 0)
    const calls = [pollCoverage(), pollCoverage()]
    await setImmediate()
    // The second question, if there is one, is answered first.
    for (const [index, answer] of [...answers.entries()].reverse()) {
      answer.resolve(atHeight(`${1_000 + index}`))
      await setImmediate()
    }
    await Promise.all(calls)
    assert.deepEqual([answers.length, coverageSamples.value.length], [1, 1])
    const later = pollCoverage()
    await setImmediate()
    answers.at(-1)!.resolve(atHeight('1100'))
    await later
    assert.deepEqual([answers.length, lastHeight(latestCoverage()!)], [2, '1100'])
  })

  test('show the commands that fill an empty store', async () => {
    readiness.value = notReady('empty store', '', "it's.db")
    noteCoverage(null, 0)
    const word = `'it'\\''s.db'`
    // Its code is loaded once it is shown.
    render(VIEWS[0]!, {})
    await import('../../web/src/parts/states/greeting.tsx')
    await setImmediate()
    for (const View of VIEWS) {
      const html = render(View, {})
      const text = textOf(html)
      assert.match(text, /This store is empty .* its store it's\.db has no blocks yet/)
      for (const command of [
        `lyra ingest --store ${word} events.evts.gz`,
        `lyra import --store ${word} segments/`,
        `Follow a core, which connects to --listen lyra serve --store ${word} --listen 127.0.0.1:3005`,
      ]) {
        assertSays(text, command)
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
        const html = render(View, {})
        assertSays(html, 'class="skeleton')
        assert.doesNotMatch(html, /<data /)
        // A chart's place is hidden while it waits (explorer.test.ts).
        const [before, waiting = ''] = html.split('<div class="answer chart-place waiting"')
        assert.doesNotMatch(textOf(before!), /\bno\b.*(point|market|provider|checkpoint)/i)
        assert.equal(waiting !== '', View === FundingView && asked)
      }
    }
  })

  test('explain an invalid range or market', async () => {
    await visit(recording, `/?view=funding&market=${BTC}&from=2023-02-30&to=2023-03-01`)
    const shown = () => textOf(render(FundingView, {}))
    assertSays(shown(), 'There is no 2023-02-30. Showing: all.')
    go('/?view=funding&market=BTC')
    assertSays(shown(), "Invalid market id btc is in the page's address")
    go(`/?view=funding&market=${'0'.repeat(64)}`)
    assertSays(shown(), 'No funding of this market')
  })

  test("show the service's blocks and rows", async () => {
    await visit(recording, '/?view=node')
    const html = render(NodeView, {})
    const text = textOf(html)
    for (const shown of [
      'as of 2023-10-05 10:15 UTC The last block is from 2023-10-05 10:15:04 UTC, ',
      'Chain core-scenarios Last block 905 2023-10-05 10:15:04 UTC ',
      'Every block from 1 to 905, without a gap.',
      'Checkpoints 36 Funding period data points 2,298 Liquidity providers 9 Past epochs of providers 0 Funding periods 48 Funding payments 0 Instruments 3 ',
    ]) {
      assert.ok(text.includes(shown), `${shown} in ${text}`)
    }
    const titles = [
      'Periods',
      'Data points',
      'First point (UTC)',
      'Last point (UTC)',
      'Providers',
      'Provider epochs',
    ]
    assert.deepEqual(rowTexts(html, titles), [
      'BTC/PERP 11 921 2023-10-05 10:00:03 2023-10-05 10:15:03 3 0',
      'ETH/PERP 16 931 2023-10-05 10:00:03 2023-10-05 10:15:03 4 0',
      'SOL/PERP 21 446 2023-10-05 10:00:03 2023-10-05 10:15:03 2 0',
    ])
    readiness.value = notReady('intake stopped', 'no block for 90 seconds')
    assertSays(textOf(render(NodeView, {})), 'intake stopped: no block for 1 min 30 s')
  })

  test('show which blocks are imported, which are missing, and what that means', async () => {
    await visit(recording, '/')
    const bar = render(BlocksBar, {
      blocks: {
        ...latestCoverage()!.blocks,
        imported: [{ from: '1', to: '300' }],
        gaps: [{ from: '301', to: '310', kind: 'missing', start: null, end: null }],
        ranges: [{ from: '311', to: '600' }],
      },
    })
    assert.deepEqual(
      [...bar.matchAll(/<span class="(\w+)" style="flex-grow:(\d+)/g)].map(([, ...part]) => part.join(' ')),
      ['imported 500000', 'missing 16666', 'stored 483333'],
    )
    assert.equal(
      textOf(bar),
      "1 600 1 gap between block 1 and block 600: blocks 301 to 310 missing 300 blocks are imported from a data node's tables: blocks 1 to 300 Each has only the last data point of each market, period and source, with times in microseconds; the order of its rows is unknown, and its funding cannot be verified. Only a new store made from event files has them complete.",
    )
  })

  test('list checkpoints with whole hashes, and mark the one of a height', async () => {
    const { rows } = await recording.client.checkpointsPage({}, { first: 30 })
    const checkpoints = rows.map(({ node }) => node)
    const height = `${BigInt(checkpoints[20]!.atBlock) + 1n}`
    const view = render(CheckpointsTable, { checkpoints, height })
    const shown = rowsOf(view)
    assertSays(
      textOf(view),
      `Block ${groupDigits(height)} has no checkpoint. Marked is the last stored one before it, of block ${groupDigits(checkpoints[20]!.atBlock)}.`,
    )
    const exact = render(CheckpointsTable, { checkpoints, height: checkpoints[20]!.atBlock })
    assert.doesNotMatch(textOf(exact), /has no checkpoint/)
    for (const [index, { hash, blockHash, atBlock }] of checkpoints.entries()) {
      const [block] = textOf(shown[index]!).split(' ')
      assert.equal(block, groupDigits(atBlock))
      assert.ok(shown[index]!.includes(`title="${hash}"`) && shown[index]!.includes(`title="${blockHash}"`))
      assert.equal(shown[index]!.startsWith('<tr class="marked"'), index === 20)
    }
  })

  test('shade a gap between the times of the blocks before and after it, and to the edge where none is known', () => {
    const gap = (start: string | null, end: string | null) => ({
      from: '6',
      to: '8',
      kind: 'missing' as const,
      start,
      end,
    })
    const time = (second: number) => String(1_709_273_798n * SECOND + BigInt(second) * SECOND)
    const said = (...gaps: ReturnType<typeof gap>[]) => describeGaps(gapShades(gaps))
    assert.deepEqual(gapShades([gap('100', '120')]), [{ kind: 'gap', from: 100n, to: 120n }])
    const [open] = gapShades([gap('100', null)])
    assert.ok(open!.to > 9_000_000_000n * SECOND)
    assert.equal(
      said(gap(time(0), time(60))),
      'Blocks are missing or incomplete between 2024-03-01 06:16:38 and 2024-03-01 06:17:38',
    )
    assert.equal(said(gap(null, time(60))), 'Blocks are missing or incomplete before 2024-03-01 06:17:38')
    assert.equal(
      said(gap(null, null), gap(time(0), null)),
      'Blocks are missing or incomplete after 2024-03-01 06:16:38, and in 1 earlier gap',
    )
    assert.equal(said(gap(null, null)), 'Blocks are missing or incomplete at times that are not known')
  })
})
