import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe } from 'node:test'
import type { Auctions, Coverage, FundingEstimate, FundingPeriod, FundingPeriodDataPoint } from 'lyra-client'
import type { Download, Page } from 'playwright-core'
import type { MarketEvent } from '#core/events/event'
import { formatAmount, formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { parseDecimal, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatRate, groupDigits } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { annualised, cumulative, dueWithin, readPeriod, whoPays } from '../web/src/periods/period.ts'
import { momentsOf, readSeries } from '../web/src/series/series.ts'
import { eventually, eventuallyIs } from './fixtures/browser.ts'
import {
  BTC,
  cellsOf,
  ETH,
  exactFigure,
  FUNDING,
  figure,
  SOL,
  settled,
  explorerTest as test,
  watchRequests,
} from './fixtures/explorer.ts'
import { getJson, getPage } from './fixtures/http.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  timeOf,
} from './fixtures/live-store.ts'

const USD = { symbol: 'USD', decimals: 5 }

const PERIODS = `/api/v2/funding-periods/${BTC}`
const POINTS = `/api/v2/funding-periods/data-points/${BTC}`
const SERIES = `/api/v2/series/funding-period-data-points/${BTC}`

const percent = (text: string, places = 4) => formatRate(parseDecimal(text)!, places)

/** Reads all periods of a market, oldest first. */
async function periodsOf(base: string, path = PERIODS): Promise<FundingPeriod[]> {
  const { edges } = await getPage(base, path, 'pagination.first=5000&pagination.newestFirst=false')
  return edges.map(({ node }) => node as unknown as FundingPeriod)
}

/** Whether a pixel of a chart has a colour, given as a variable of the style sheet. */
function isDrawn(page: Page, chart: string, colour: string): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const chart = document.querySelector('[data-chart="${chart}"] canvas')
    const canvas = document.createElement('canvas')
    canvas.width = chart.width
    canvas.height = chart.height
    const context = canvas.getContext('2d', { willReadFrequently: true })
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--chart-${colour}').trim()
    context.fillRect(0, 0, 1, 1)
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data
    context.clearRect(0, 0, 1, 1)
    context.drawImage(chart, 0, 0)
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    for (let at = 0; at < data.length; at += 4)
      if (data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] === 255) return true
    return false
  })()`)
}

async function bytesOf(download: Download): Promise<Buffer> {
  return readFileSync(await download.path())
}

describe("the explorer's funding", () => {
  test('shows rates, payments and who pays whom as the core sent them, in the asset of the market', async ({
    t,
    openRecording,
  }) => {
    const { page, base } = await openRecording('perps-long-named')
    const asked = watchRequests(page)
    await page.goto(FUNDING)
    await settled(page)
    const charts = asked.filter((path) => /series|funding-estimates/.test(path) || path === PERIODS)
    assert.deepEqual(
      charts.sort(),
      [`/api/v2/funding-estimates/${BTC}`, PERIODS, SERIES],
      'requests of the charts',
    )

    const periods = await periodsOf(base)
    const paid = periods.filter(({ fundingRate }) => fundingRate !== undefined)
    const last = paid.at(-1)!

    await t.test('the last paid period, all that are shown, and the running one as an estimate', async () => {
      assert.equal(await figure(page, 'last-rate'), percent(last.fundingRate!))
      assert.equal(await exactFigure(page, 'last-rate'), last.fundingRate)
      assert.equal(await exactFigure(page, 'last-payment'), last.fundingPayment!.replace('-', ''))
      assert.equal(
        await figure(page, 'last-payment'),
        formatAmountWithUnit(last.fundingPayment!.replace('-', ''), USD),
      )
      const text = await page.locator('.now-figures').innerText()
      assert.ok(text.includes(whoPays(last.fundingPayment!)), text)
      const length = BigInt(last.end!) - BigInt(last.start)
      assert.equal(
        await figure(page, 'last-annualised'),
        formatRate(annualised(last.fundingRate!, length)!, 2),
      )
      assert.equal(await exactFigure(page, 'cumulative'), writeDecimal(cumulative(paid.map(readPeriod))))
      assert.match(text, new RegExp(`Cumulative \\(${paid.length} periods due\\)`))

      const { fundingEstimate } = await getJson<{ fundingEstimate: FundingEstimate }>(
        base,
        `/api/v2/funding-estimates/${BTC}`,
      )
      assert.match(text, new RegExp(`Period #${fundingEstimate.seq}, estimate`))
      assert.equal(await exactFigure(page, 'estimate-rate'), fundingEstimate.fundingRate)
      assert.equal(
        await exactFigure(page, 'estimate-payment'),
        fundingEstimate.fundingPayment.replace('-', ''),
      )
      // The data are static: after watching for a while the page shows dates instead of ages.
      await page
        .getByText(`began ${formatTime(periods.at(-1)!.start)} UTC; periods are not regular`)
        .waitFor()
      for (const colour of ['longs', 'shorts']) assert.ok(await isDrawn(page, 'rates', colour), colour)
    })

    await t.test('the amount that a position of any size received or paid in the range', async () => {
      const sum = paid.reduce((total, { fundingPayment }) => total - BigInt(fundingPayment!), 0n)
      const shown = (total: bigint) => formatAmountWithUnit(`${total}`, USD, { signed: true })
      assert.equal(await exactFigure(page, 'position-total'), `${sum}`)
      assert.equal(await figure(page, 'position-total'), shown(sum))
      const size = page.getByLabel(/^Position of/)
      for (const units of [-20n, 3n]) {
        await size.fill(`${units}`)
        await size.press('Enter')
        await eventuallyIs(() => exactFigure(page, 'position-total'), `${sum * units}`)
        assert.equal(await figure(page, 'position-total'), shown(sum * units))
        assert.ok(page.url().includes(`units=${units}`), page.url())
        const text = await page.locator('.now-figures').innerText()
        assert.match(text, sum * units < 0n ? /paid for \d+ periods/ : /received for \d+ periods/)
      }
      // Beside a size that is refused or not yet entered stands no result, least of all the earlier one.
      const payments = page.locator('.figure', { has: size })
      for (const [text, fault] of [
        ['2,5', 'Write 2.5, without a comma.'],
        ['1,234', 'Write 1234 or 1.234, without a comma.'],
        ['many', 'Write a decimal number, such as 2.5, or -2.5 for a short position.'],
        ['1e3', 'Write a decimal number, such as 2.5, or -2.5 for a short position.'],
        ['0', 'A position of 0 units has no payments. Write another size.'],
      ] as const) {
        await size.fill(text)
        assert.equal(await page.locator('[data-figure="position-total"]').count(), 0, text)
        await size.press('Enter')
        await eventuallyIs(() => payments.locator('.fault').innerText(), fault)
        assert.equal(await page.locator('[data-figure="position-total"]').count(), 0, text)
        assert.equal(await size.getAttribute('aria-invalid'), 'true')
        assert.ok(page.url().includes('units=3'), page.url())
      }
      await page.goto(`${FUNDING}&units=0,5`)
      await payments.getByText('Write 0.5, without a comma.').waitFor()
      assert.equal(await page.locator('[data-figure="position-total"]').count(), 0)
      await page.goBack()
      await settled(page)
      await eventuallyIs(() => exactFigure(page, 'position-total'), `${sum * 3n}`)
      const save = page.locator('.now-figures').getByRole('link', { name: 'CSV' })
      const [csv] = await Promise.all([page.waitForEvent('download'), save.click()])
      assert.equal(csv.suggestedFilename(), 'fundingPayments.csv')
      assert.equal(
        (await bytesOf(csv)).toString(),
        [
          'seq,end,fundingRate,amount',
          ...paid
            .toReversed()
            .map(({ seq, end, fundingRate, fundingPayment }) =>
              [seq, end, fundingRate, -3n * BigInt(fundingPayment!)].join(','),
            ),
          '',
        ].join('\r\n'),
      )
      await size.fill('1')
      await size.press('Enter')
      await eventuallyIs(() => exactFigure(page, 'position-total'), `${sum}`)
    })

    await t.test('every period in the table: rates and payments equal the events, all of them', async () => {
      await page.getByRole('button', { name: `All ${periods.length} periods of this range` }).click()
      const rows = await eventually(
        () => cellsOf(page, 'periods'),
        (found) => found.length === periods.length,
      )
      for (const [index, period] of [...periods].reverse().entries()) {
        const row = rows[index]!
        assert.equal(row[0], groupDigits(period.seq))
        assert.equal(row[1], formatTime(period.start))
        if (period.fundingRate === undefined) {
          if (period.end === undefined) {
            const { fundingEstimate } = await getJson<{
              fundingEstimate: { internalTwap: string; externalTwap: string }
            }>(base, `/api/v2/funding-estimates/${BTC}`)
            assert.match(row[3]!, /^estimate/)
            // Those of its own row are opening prices.
            assert.equal(row[7], formatAmount(fundingEstimate.internalTwap, USD))
            assert.equal(row[8], formatAmount(fundingEstimate.externalTwap, USD))
          } else assert.equal(row[3], 'no payment: it had no length', `period ${period.seq}`)
          continue
        }
        assert.equal(row[3]!.trim(), percent(period.fundingRate), `period ${period.seq}`)
        assert.equal(row[5], whoPays(period.fundingPayment!))
        assert.equal(row[6], formatAmount(period.fundingPayment!, USD, { signed: true }))
        assert.equal(row[7], formatAmount(period.internalTwap!, USD))
        assert.equal(row[8], formatAmount(period.externalTwap!, USD))
      }
      const exact = await page
        .locator('table.periods tbody tr:not(.estimate) td:nth-child(4) data')
        .evaluateAll((found) => found.map((data) => data.getAttribute('value')))
      assert.deepEqual(exact, paid.map(({ fundingRate }) => fundingRate).reverse())
      for (const other of [ETH, SOL]) {
        await page.goto(`/?view=funding&market=${other}&span=all&periods=all`)
        const rates = (await periodsOf(base, `/api/v2/funding-periods/${other}`))
          .flatMap(({ fundingRate }) => fundingRate ?? [])
          .reverse()
        await eventually(
          () =>
            page
              .locator('table.periods tbody tr:not(.estimate) td:nth-child(4) data')
              .evaluateAll((found) => found.map((data) => data.getAttribute('value'))),
          (seen) => JSON.stringify(seen) === JSON.stringify(rates),
        )
      }
      await page.goto(FUNDING)
      await settled(page)
      // A period's number shows that period alone.
      await page.locator('table.periods').getByRole('link', { name: last.seq, exact: true }).click()
      await page.waitForURL(new RegExp(`from=${last.start}&to=${last.end}`))
      await eventually(
        () => cellsOf(page, 'periods'),
        (found) => found.length === 1 && found[0]![0] === last.seq,
      )
      await page.goto(FUNDING)
      await settled(page)
    })

    await t.test(
      'prices at a time, by keys and by mouse, and the exact integer on hover and in copies',
      async () => {
        const newest = async (source: string) =>
          (await getPage(base, POINTS, `source=${source}&pagination.first=1`)).edges[0]!
            .node as unknown as FundingPeriodDataPoint
        const [external, internal] = [await newest('SOURCE_EXTERNAL'), await newest('SOURCE_INTERNAL')]
        assert.equal(await figure(page, 'external-twap'), formatAmountWithUnit(external.twap, USD))
        assert.equal(await exactFigure(page, 'external-twap'), external.twap)
        assert.equal(await exactFigure(page, 'internal-price'), internal.price)
        const difference = `${BigInt(internal.twap) - BigInt(external.twap)}`
        assert.equal(await exactFigure(page, 'difference'), difference)
        const hover = await page.locator('data[data-figure="external-twap"]').getAttribute('title')
        assert.equal(hover, `${external.twap} × 10⁻⁵ USD`)

        await page.evaluate(`(() => {
        const range = document.createRange()
        range.selectNodeContents(document.querySelector('data[data-figure="external-twap"]'))
        getSelection().removeAllRanges()
        getSelection().addRange(range)
      })()`)
        await page.keyboard.press('Control+c')
        assert.equal(await page.evaluate('navigator.clipboard.readText()'), external.twap)
        await page.evaluate(`(() => {
        const range = document.createRange()
        range.selectNode(document.querySelector('table.points tbody tr'))
        getSelection().removeAllRanges()
        getSelection().addRange(range)
      })()`)
        await page.keyboard.press('Control+c')
        const copied = (await page.evaluate<string>('navigator.clipboard.readText()')).split('\t')
        const [first] = (await getPage(base, POINTS, 'pagination.first=1')).edges
        assert.deepEqual(copied.slice(-2), [first!.node.price, first!.node.twap])

        // The chosen bucket is shown with all figures of the series.
        await page.getByRole('application').focus()
        await page.keyboard.press('Home')
        for (let step = 0; step < 40; step++) await page.keyboard.press('ArrowRight')
        const time = await page.locator('.time-value').innerText()
        const start = BigInt(Date.parse(time.replace(' ', 'T').replace(' UTC', 'Z'))) * 1_000_000n
        const interval = /in steps of (\w+)/.exec(await page.locator('.figures').innerText())![1]!
        const { series } = await getJson<{ series: Parameters<typeof readSeries>[0] }>(
          base,
          `${SERIES}?interval=${interval}`,
        )
        const moments = momentsOf(readSeries(series))
        const moment = moments.findLast((one) => one.start <= start)!
        for (const source of ['external', 'internal'] as const) {
          assert.equal(await exactFigure(page, `${source}-twap`), moment[source]?.twap.last ?? null, time)
          assert.equal(await exactFigure(page, `${source}-price`), moment[source]?.price.last ?? null, time)
        }
        assert.match(
          await page.locator('.charts [aria-live]').innerText(),
          /UTC, period \d+; external price [\d,.]+ USD/,
        )
        await page.keyboard.press('Escape')

        const plot = (await page.locator('[data-chart="rates"] .u-over').boundingBox())!
        await page.mouse.move(plot.x + plot.width / 2, plot.y + 40)
        await page.locator('.figures .figure-name', { hasText: /^At$/ }).waitFor()
        const pointed = /period (\d+): (\S+ %)/.exec(await figure(page, 'period'))!
        const period = periods.find(({ seq }) => seq === pointed[1])!
        assert.equal(pointed[2], percent(period.fundingRate!))
        await page.mouse.move(0, 0)
      },
    )

    await t.test('annualised and cumulative bars, lines to hide, and both in the address', async () => {
      await page.getByRole('button', { name: 'Cumulative' }).click()
      await page.waitForURL(/bars=cumulative/)
      await page.getByRole('button', { name: 'Internal price' }).click()
      await page.waitForURL(/hide=internal-price/)
      await page.reload()
      await settled(page)
      assert.equal(
        await page.getByRole('button', { name: 'Cumulative' }).getAttribute('aria-pressed'),
        'true',
      )
      await page.getByRole('button', { name: 'Internal price' }).click()
    })

    await t.test('labels of periods keep their place after a zoom', async () => {
      await page.evaluate(`(() => {
        const { fillText } = CanvasRenderingContext2D.prototype
        window.labels = []
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          if (/^#\\d+$/.test(text)) window.labels.push(this.textAlign + ' ' + text)
          return fillText.call(this, text, x, y)
        }
      })()`)
      for (const name of ['Zoom in', 'Zoom out', 'Earlier', 'Later']) {
        await page.evaluate('window.labels.length = 0')
        await page.getByRole('button', { name, exact: true }).click()
        const labels = await eventually(
          () => page.evaluate<string[]>('window.labels'),
          (drawn) => drawn.length > 2,
        )
        assert.deepEqual(
          labels.filter((label) => !label.startsWith('left ')),
          [],
          name,
        )
      }
      await page.goto(FUNDING)
      await settled(page)
    })

    await t.test('a drag zooms in, the tables and their requests follow, back goes back', async () => {
      const over = page.locator('[data-chart="prices"] .u-over')
      await over.scrollIntoViewIfNeeded()
      const plot = (await over.boundingBox())!
      await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 60)
      await page.mouse.down()
      await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60, { steps: 5 })
      await page.mouse.up()
      await page.waitForURL(/from=\d+&to=\d+/)
      const params = new URL(page.url()).searchParams
      const [from, to] = [params.get('from')!, params.get('to')!]
      const request = page.locator('.request-url').last()
      await eventually(
        () => request.innerText(),
        (text) =>
          text.includes(`dateRange.startTimestamp=${from}`) && text.includes(`dateRange.endTimestamp=${to}`),
      )
      const { edges } = await getPage(
        base,
        POINTS,
        `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`,
      )
      const expected = (rows: typeof edges) =>
        rows
          .slice(0, 25)
          .map(({ node }) => [
            formatTime(node.timestamp as string),
            formatAmount(node.price as string, USD),
            formatAmount(node.twap as string, USD),
          ])
      const rows = async () =>
        (await cellsOf(page, 'points')).map((row) => [0, 3, 4].map((cell) => row[cell]!))
      await eventually(rows, (seen) => JSON.stringify(seen) === JSON.stringify(expected(edges)))
      await page.getByRole('button', { name: 'Older' }).click()
      await eventually(rows, (seen) => JSON.stringify(seen) === JSON.stringify(expected(edges.slice(25))))
      const shown = (await periodsOf(base)).filter(
        ({ start, end }) => BigInt(start) < BigInt(to) && (end === undefined || BigInt(end) > BigInt(from)),
      )
      assert.match(
        await page.locator('.now-figures').innerText(),
        new RegExp(
          `Cumulative \\(${dueWithin(shown.map(readPeriod), { from: BigInt(from), to: BigInt(to) }).length} periods due\\)`,
        ),
      )
      await page.getByRole('button', { name: 'curl: copy the request as a curl command' }).last().click()
      assert.equal(
        await page.evaluate('navigator.clipboard.readText()'),
        `curl '${base}${await request.innerText()}'`,
      )
      await page.reload()
      await settled(page)
      await eventually(rows, (seen) => JSON.stringify(seen) === JSON.stringify(expected(edges.slice(25))))
      await page.goBack()
      await page.goBack()
      await page.waitForURL((url) => !url.searchParams.has('from'))
    })

    await t.test('offers a link, each table as CSV and each chart as PNG', async () => {
      await page.goto(FUNDING)
      await settled(page)
      await page.getByRole('button', { name: /a link to this view$/ }).click()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), page.url())
      const saved = async (click: () => Promise<void>) =>
        (await Promise.all([page.waitForEvent('download'), click()]))[0]
      for (const name of ['funding rates', 'prices and TWAPs', 'premium']) {
        const download = await saved(() => page.getByRole('button', { name: `Save as PNG: ${name}` }).click())
        assert.match(download.suggestedFilename(), /^BTC-PERP.*\.png$/)
        const png = await bytesOf(download)
        assert.equal(png.subarray(1, 4).toString(), 'PNG')
        assert.ok(png.readUInt32BE(16) > 500 && png.length > 4_000, `${png.length} bytes`)
      }
      const chart = await saved(() => page.locator('.chart-panel .csv').click())
      const lines = (await bytesOf(chart)).toString().trim().split('\r\n')
      assert.match(lines[0]!, /^start,intervalNanoseconds,externalSeq,externalCount,externalPriceFirst/)
      assert.ok(lines.length > 100)
      const points = await getJson<{ series: Parameters<typeof readSeries>[0] }>(base, `${SERIES}?buckets=1`)
      const count = (column: number) =>
        lines.slice(1).reduce((sum, line) => sum + BigInt(line.split(',')[column] || 0), 0n)
      const internal = points.series.sources.find(({ dataPointType }) => dataPointType === 'SOURCE_INTERNAL')!
      const column = lines[0]!.split(',').indexOf('internalCount')
      assert.equal(
        count(column),
        internal.buckets.reduce((sum, bucket) => sum + BigInt(bucket.count), 0n),
      )
      const csv = await saved(() => page.locator('section[aria-labelledby="periods-title"] .csv').click())
      const rows = (await bytesOf(csv)).toString().trim().split(/\r?\n/)
      assert.equal(rows.length - 1, periods.length)
    })
  })

  test('does not draw a difference in auction, shades it, and explains why a period paid nothing', async ({
    openRecording,
  }) => {
    const { page, base } = await openRecording('perps-long-named')
    await page.goto(`/?view=funding&market=${ETH}&span=all`)
    await settled(page)
    const { series } = await getJson<{ series: Parameters<typeof readSeries>[0] }>(
      base,
      `/api/v2/series/funding-period-data-points/${ETH}?interval=2s`,
    )
    const moments = momentsOf(readSeries(series))
    const without = moments.find(({ external, internal }) =>
      [external, internal].some((of) => of !== null && /^0+$/.test(of.twap.last)),
    )
    assert.ok(without !== undefined, 'the recording has a period that begins in auction')
    const { auctions } = await getJson<{ auctions: Auctions }>(base, `/api/v2/auctions/${ETH}`)
    const { lastTimestamp } = (await getJson<{ coverage: Coverage }>(base, '/api/v2/coverage')).coverage
      .blocks
    const spelt = ({ start, end }: { start: string; end?: string }) =>
      `from ${formatTime(start).slice(0, 19)} to ${formatTime(end ?? lastTimestamp).slice(0, 19)}`
    const others = auctions.intervals.length - 1
    assert.match(
      await page.locator('.notes').innerText(),
      new RegExp(`In auction ${spelt(auctions.intervals.at(-1)!)} and ${others} earlier auctions`),
    )
    await page.evaluate(`(() => {
      const { fillRect } = CanvasRenderingContext2D.prototype
      window.shaded = []
      CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
        window.shaded.push([this.fillStyle, x, width])
        return fillRect.call(this, x, y, width, height)
      }
    })()`)
    await page.getByRole('button', { name: 'Zoom in', exact: true }).click()
    const colour = await page.evaluate<string>(`(() => {
      const { ctx } = { ctx: document.createElement('canvas').getContext('2d') }
      ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--chart-auction').trim()
      return ctx.fillStyle
    })()`)
    // An auction within a period, and one that a period begins in, are shaded over their whole length.
    const shaded = await eventually(
      () => page.evaluate<[string, number, number][]>('window.shaded'),
      (rects) => rects.some(([style]) => style === colour),
    )
    const params = new URL(page.url()).searchParams
    const seen = auctions.intervals.filter(
      ({ start, end }) =>
        BigInt(start) < BigInt(params.get('to')!) &&
        BigInt(end ?? lastTimestamp) > BigInt(params.get('from')!),
    )
    const places = new Set(shaded.filter(([style]) => style === colour).map(([, x]) => Math.round(x)))
    assert.ok(places.size >= seen.length && seen.length > 0, `${places.size} of ${seen.length}`)
    await page.goto(
      `/?view=funding&market=${ETH}&from=${without.start - 5_000_000_000n}&to=${without.start + 1_000_000_000n}`,
    )
    await settled(page)
    assert.equal(await figure(page, 'difference'), '–')
    assert.match(await figure(page, 'basis-points'), /in auction since the start of the period/)
  })

  test('shows when a regular period ends, and integers with the reason if no asset is known', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const great = '1234567890123456789012345678'
    const period = (seq: number, end: number | null) => ({
      kind: 'funding-period' as const,
      marketId: LIVE_MARKET,
      seq: BigInt(seq),
      start: timeOf(seq * 10),
      end: end === null ? null : timeOf(end),
      fundingPayment: end === null ? null : '12345',
      fundingRate: end === null ? null : '0.0001',
      internalTwap: great,
      externalTwap: great,
    })
    for (let height = 1; height <= 114; height++) {
      const seq = Math.floor(height / 10)
      await live.commit(height, [
        ...(height % 10 === 0 && seq > 1 ? [period(seq - 1, seq * 10)] : []),
        ...(height % 10 === 0 ? [period(seq, null)] : []),
        { ...pointAt(height), seq: BigInt(seq), twap: `${BigInt(great) + 1n}` },
        { ...pointAt(height, { source: 1 }), seq: BigInt(seq), twap: great },
      ])
    }
    const { page } = await open(store)
    await page.goto(`/?view=funding&market=${LIVE_MARKET}&span=all`)
    await settled(page)
    await page.getByText(`due ${formatTime(timeOf(120))} UTC`).waitFor()
    assert.match(
      await page.locator('.now-figures').innerText(),
      /No estimate: the store has no market data of this market/,
    )
    assert.equal(await figure(page, 'external-twap'), '1,234,567,890,123,456,789,012,345,678')
    assert.equal(await figure(page, 'difference'), '+1')
    assert.match(
      await page.locator('.notes').innerText(),
      /Prices are shown as sent, as whole numbers: the store has no market event for this market/,
    )
    // The number of 10-second periods in 365 days.
    assert.equal(await figure(page, 'last-annualised'), '+31,536.00 %')
  })

  test('give the true reason for no estimate, and count no running period as missing', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const data = (height: number, state: number): MarketEvent => ({
      ...{ kind: 'market-data', marketId: LIVE_MARKET, feeShares: [], slas: [] },
      figures: {
        ...{ timestamp: timeOf(height), markPrice: '100', openInterest: 0n, state, tradingMode: 1 },
        ...{ perpetual: null, isMalformed: false },
      },
    })
    const paid = { fundingPayment: '1', fundingRate: '0.1', internalTwap: '5', externalTwap: '6' }
    await live.commit(1, [
      perpetualMarket(LIVE_MARKET),
      periodEvent({ seq: 1n, start: timeOf(0), end: timeOf(1), ...paid }),
      periodEvent({ seq: 2n, start: timeOf(1), internalTwap: '7', externalTwap: '8' }),
      { ...pointAt(1), seq: 2n },
    ])
    const { page } = await open(store)
    for (const [height, events, reason] of [
      [2, [], 'the store has no market data of this market'],
      [3, [data(3, 5)], "the market's latest data contain none for this period"],
      [4, [{ ...pointAt(4), seq: 3n }], 'a later period has begun, whose first block is missing'],
      [5, [data(5, 9)], 'the market has ended'],
    ] as const) {
      await live.commit(height, events)
      await page.goto(`/?view=funding&market=${LIVE_MARKET}&span=all`)
      await page.getByText(`No estimate: ${reason}`).waitFor()
      // Its opening prices are no averages.
      const [running] = await cellsOf(page, 'periods')
      assert.deepEqual([running![0], ...running!.slice(-2)], ['2', '–', '–'])
      // From block 4 on, period 3 is known.
      if (height >= 4) await page.getByText('1 period is missing').first().waitFor()
      else assert.equal(await page.getByText('1 period is missing').count(), 0)
    }
    for (const [bars, title] of [
      ['rate', 'Funding rate of each period'],
      ['cumulative', 'Cumulative funding rate'],
    ] as const) {
      await page.goto(`/?view=funding&market=${LIVE_MARKET}&span=all&bars=${bars}`)
      await page.getByRole('heading', { name: title, exact: true }).waitFor()
    }
  })
})
