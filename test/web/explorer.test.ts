import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { groupDigits } from '../../web/src/figures/format-figure.ts'
import { formatTime } from '../../web/src/figures/format-time.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { eventually, eventuallyIs } from '../fixtures/explorer/browser.ts'
import {
  BTC,
  clipboard,
  downloadBy,
  ETH,
  exactFigure,
  FUNDING,
  figure,
  generate,
  replaceDelay,
  rowsOf,
  SOL,
  settled,
  explorerTest as test,
  watchRequests,
} from '../fixtures/explorer/explorer.ts'
import { getPage } from '../fixtures/requests/http.ts'
import { scaled } from '../fixtures/sampling.ts'
import { serveRecording, storeOf } from '../fixtures/services/service.ts'
import { createLiveStore, pointAt, timeOf } from '../fixtures/stores/live-store.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'

const RECORDING = 'perps-long-named'

/** The hash of the checkpoint of block 1,225. */
const CHECKPOINT = 'cac5a80579a852b1eb29ec51f2440603525918226d921b6228d389e28caa963c'

const POINTS = `/api/v2/funding-periods/data-points/${BTC}`

describe('the explorer', () => {
  test('shows the first view after a few requests and kilobytes, with data requested once, before its code', async ({
    t,
    openRecording,
  }) => {
    const page = await openRecording(RECORDING)
    const charts = '.chart-panel[aria-busy="false"] .notes'
    const cases: [path: string, early: string | null, shown: string, kilobytes: number][] = [
      ['/', null, '.heat-map', 75],
      ['/?view=providers', '/api/v2/export/', 'table.providers', 65],
      [`/?view=providers&market=${BTC}`, '/api/v2/liquidity/providers', 'table.providers', 65],
      ['/?view=funding', '/api/v2/series/', charts, 150],
      [FUNDING, '/api/v2/series/', charts, 150],
      ['/?view=checkpoints', null, 'table.checkpoints', 60],
      ['/?view=node', null, '.holdings', 60],
    ]
    // The other views follow after 4 s, before which a busy machine may not show the first one.
    await replaceDelay(page, 4_000, 60_000)
    // So does the list of summaries if their stream has not come in 2 s.
    await replaceDelay(page, 2_000, 60_000)
    // As on a slow network: a view's code arrives only after its data have been requested. Nothing is cached.
    let wanted: Promise<unknown> = Promise.resolve()
    await page.route(/\/assets\/(charts|\w+-view)-.*\.js/, async (route) => {
      await wanted
      await route.continue()
    })
    const asked = watchRequests(page)
    const sizes: Promise<{ responseBodySize: number }>[] = []
    page.on('requestfinished', (request) => sizes.push(request.sizes()))
    const bytesSoFar = async () =>
      (await Promise.all(sizes)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
    for (const [path, early, shown, kilobytes] of cases) {
      await page.goto('about:blank')
      asked.length = 0
      sizes.length = 0
      if (early !== null) {
        wanted = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith(early))
      }
      await page.goto(path)
      await page.waitForSelector(shown)
      await eventuallyIs(() => page.locator('.skeleton').count(), 0)
      await page.waitForLoadState('load')
      const before = asked.filter((name) => early !== null && name.startsWith(early))
      assert.equal(new Set(before).size, before.length, `requested twice: ${before}`)
      if (path === '/') {
        // One stream for the table, one request for the map, one for each visible line.
        await eventuallyIs(() => page.locator('.sparkline svg').count(), 3)
        const count = (part: string) => asked.filter((name) => name.startsWith(`/api/v2/${part}`)).length
        const parts = ['market-summaries', 'stream/', 'funding-rates', 'series/']
        await eventuallyIs(async () => parts.map(count).join(' '), '0 1 1 3')
      }
      const bytes = await eventually(bytesSoFar, (bytes) => bytes > 35_000)
      t.diagnostic(`${path}: ${asked.length} API requests, ${bytes} bytes`)
      assert.ok(asked.length <= 14, asked.join('\n'))
      assert.ok(bytes < kilobytes * 1_000, `${path}: ${bytes} bytes`)
    }
  })

  test(
    'says so if the code of a view cannot be loaded, and reloads the page',
    async ({ openRecording }) => {
      const page = await openRecording(RECORDING)
      const views = /\/assets\/\w+-view-.*\.js/
      // As after an upgrade, which renames the files.
      await page.route(views, (route) => route.fulfill({ status: 404 }))
      await page.goto('/?view=checkpoints')
      const again = page.getByRole('alert').getByRole('button', { name: 'Try again' })
      await again.waitFor()
      await page.unroute(views)
      await again.click()
      await page.waitForSelector('table.checkpoints')
    },
    /404|dynamically imported module/,
  )

  test('is usable by keyboard alone', async ({ openRecording }) => {
    const page = await openRecording(RECORDING)
    await page.goto('/')
    await page.waitForSelector('table.markets')
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const focused = () => page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''")
    const tabUntil = async (isThere: () => Promise<boolean>, what: string) => {
      for (let pressed = 0; !(await isThere()); pressed++) {
        assert.ok(pressed < 60, `${what} is never reached`)
        await press('Tab')
      }
    }
    const tabTo = (wanted: string) => tabUntil(async () => (await focused()) === wanted, wanted)
    const openView = async (name: string) => {
      await page.locator('.brand').focus()
      await tabTo(name)
      await press('Enter')
    }
    await press('Tab')
    assert.equal(await focused(), 'Skip to content')
    // A header sorts one way, then the other way round.
    await tabTo('Market↑')
    await press('Enter')
    assert.deepEqual(await page.locator('table.markets .market-code').allInnerTexts(), [
      'SOL/PERP',
      'ETH/PERP',
      'BTC/PERP',
    ])
    assertSays(page.url(), 'sort=-market')

    await openView('Checkpoints')
    await page.waitForSelector('table.checkpoints')
    assert.equal(await page.evaluate('document.activeElement?.id'), 'main')
    await page.getByLabel('Go to block').focus()
    await page.keyboard.type('1,226')
    await press('Enter')
    await eventuallyIs(async () => (await rowsOf(page, 'checkpoints'))[0]?.Block, '1,225')
    await page.locator('tr.marked').getByRole('button').first().focus()
    await press('Enter')
    await eventuallyIs(() => clipboard(page), CHECKPOINT)

    await openView('Funding')
    await settled(page)
    const picker = page.getByRole('combobox', { name: 'Market' })
    await picker.focus()
    await page.keyboard.type('eth')
    await eventuallyIs(() => page.locator('.choice').count(), 1)
    await press('Enter')
    await page.waitForURL(new RegExp(`market=${ETH}`))
    await eventuallyIs(() => picker.inputValue(), 'ETH/PERP')
    await picker.focus()
    await press('ArrowDown', 'Escape')
    await eventuallyIs(() => picker.inputValue(), 'ETH/PERP')
    await page.keyboard.type('nothing')
    await page.getByText('No market has that code, name or id.').waitFor()
    await press('Escape')
    await tabTo('all')
    await press('Enter')
    await settled(page)
    const isChart = () =>
      page.evaluate<boolean>("document.activeElement?.getAttribute('role') === 'application'")
    await tabUntil(isChart, 'the chart')
    await press('End')
    const said = () => page.locator('.charts [aria-live]').innerText()
    await eventually(said, (text) => /UTC, period \d+; .*; External [\d,.]+ USD, TWAP/.test(text))

    // The chosen point stays chosen while the range changes about it.
    await press('Home', ...Array(30).fill('ArrowRight'))
    const name = () => page.locator('.figures .figure-name').first().innerText()
    await eventuallyIs(name, 'At')
    const shown = () => page.locator('.time-value').innerText()
    const seconds = async () => Date.parse((await shown()).replace(' UTC', 'Z').replace(' ', 'T')) / 1_000
    const chosen = await seconds()
    for (const key of ['+', '+', '-', '+']) {
      await press(key)
      // After a pause the page requests the new range.
      await page.waitForTimeout(400)
      await settled(page)
      assert.equal(await name(), 'At')
      // The 5 s buckets become shorter: the last one within the chosen bucket is selected.
      const later = (await seconds()) - chosen
      assert.ok(later >= 0 && later < 5, `${key}: ${later} s`)
    }
    assert.match(page.url(), /from=\d+/)
    const point = await shown()
    await press('ArrowRight')
    await eventually(shown, (text) => text > point)
    assert.equal((await shown()).slice(0, 15), point.slice(0, 15), 'the next point is near')
    await tabTo('Older')
    await press('Enter')
    await page.waitForURL(/after=/)
  })

  test('has ranges, points, sizes and pages in its address, which back and reload bring again', async ({
    openRecording,
  }) => {
    const page = await openRecording(RECORDING)
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    await page.route(/\/series\//, async (route) => {
      await held
      await route.continue()
    })
    await page.goto(`${FUNDING}&bars=cumulative`)
    await page.getByText('Loading charts').waitFor({ state: 'attached' })
    assert.doesNotMatch(await page.locator('main').innerText(), /no point/)
    letGo()
    await settled(page)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const cumulative = page.getByRole('button', { name: 'Cumulative' })
    assert.equal(await cumulative.getAttribute('aria-pressed'), 'true')
    await press('Rate')
    await press('Internal price')
    await page.waitForURL((url) => !url.search.includes('bars') && url.search.includes('hide=internal-price'))
    await press('Internal price')

    // The period of the bar under the pointer.
    const rates = (await page.locator('[data-chart="rates"] .u-over').boundingBox())!
    await page.mouse.move(rates.x + rates.width / 2, rates.y + 40)
    await page.locator('.figures .figure-name', { hasText: /^At$/ }).waitFor()
    assert.match(await figure(page, 'period'), /^period 16: \+4\.4776 %, longs pay shorts$/)

    // Copies of a selection have the exact numbers, in whole units.
    const copied = async (node: string) => {
      await page.evaluate(`(() => {
        const range = document.createRange()
        range.selectNode(document.querySelector('${node}'))
        getSelection().removeAllRanges()
        getSelection().addRange(range)
      })()`)
      await page.keyboard.press('Control+c')
      return clipboard(page)
    }
    assert.equal(await copied('data[data-figure="external-twap"]'), await exactFigure(page, 'external-twap'))
    const [newest] = await rowsOf(page, 'points')
    const shown = ['Time (UTC)', 'Period', 'Source', 'Price', 'TWAP'].map((title) => newest![title])
    assert.equal(shown.join(' '), '2024-03-01 06:43:03 31 External 29,568.13 29,470.93')
    assert.deepEqual((await copied('table.points tbody tr')).split('\t').slice(-2), ['29568.13', '29470.93'])

    assert.match(await copied('data[data-figure="last-rate"]'), /^-3\.58598172447733 %$/)

    // Beside a size that is refused or not yet entered stands no result.
    const size = page.getByLabel(/^Position of/)
    const total = () => exactFigure(page, 'position-total')
    const enter = async (text: string) => {
      await size.fill(text)
      await size.press('Enter')
    }
    await enter('3')
    await eventuallyIs(total, '-45261.06729')
    const payments = page.locator('.figure', { has: size })
    await size.fill('2,5')
    for (const said of ['Enter shows its payments', 'Write 2.5, without a comma.']) {
      await payments.getByText(said).waitFor()
      assert.equal(await page.locator('[data-figure="position-total"]').count(), 0)
      await size.press('Enter')
    }
    assertSays(page.url(), 'units=3')
    await enter('-20')
    await eventuallyIs(total, '301740.4486')
    await page.goBack()
    await eventuallyIs(total, '-45261.06729')
    await page.goBack()
    await eventuallyIs(total, '-15087.02243')

    // A drag zooms in; tables and requests follow.
    const prices = page.locator('[data-chart="prices"] .u-over')
    await prices.scrollIntoViewIfNeeded()
    const plot = (await prices.boundingBox())!
    await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 60)
    await page.mouse.down()
    await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL(/from=\d+&to=\d+/)
    const [, from, to] = /from=(\d+)&to=(\d+)/.exec(page.url())!
    const range = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
    const request = page.locator('.request-url').last()
    assert.equal(await request.isVisible(), false)
    await page.locator('.request summary').last().click()
    await eventually(
      () => request.innerText(),
      (text) => text.includes(range),
    )
    const base = await serveRecording(RECORDING)
    const { edges } = await getPage(base, POINTS, range)
    const times = edges.map(({ node }) => formatTime(node.timestamp as string))
    const shows = (expected: string[]) =>
      eventuallyIs(
        async () => (await rowsOf(page, 'points')).map((row) => row['Time (UTC)']).join(),
        expected.join(),
      )
    await shows(times.slice(0, 25))
    await page.getByRole('button', { name: 'Older' }).click()
    await shows(times.slice(25, 50))
    await page.getByRole('button', { name: 'curl: copy the request as a curl command' }).last().click()
    assert.equal(await clipboard(page), `curl '${base}${await request.innerText()}'`)
    await page.reload()
    await settled(page)
    await shows(times.slice(25, 50))
    await page.goBack()
    await page.goBack()
    await page.waitForURL((url) => !url.searchParams.has('from'))

    // A range without points links to the nearest ones.
    const [first, last] = ['2024-03-01 05:59:49', '2024-03-01 06:43:03']
    const choose = async (from: string, to: string) => {
      await page.getByLabel('From, UTC').fill(from)
      await page.getByLabel('To, UTC').fill(to)
    }
    await choose('2023-09-01', '2023-09-02')
    await page.keyboard.press('Enter')
    await page.getByText(`This market's data are from ${first} to ${last} (UTC).`).waitFor()
    await page.getByRole('button', { name: `First after: ${first}` }).click()
    await settled(page)
    await eventuallyIs(() => page.getByText('No data points in this range').count(), 0)
    await choose('tomorrow', '2023-09-02')
    await press('Go')
    await page.getByText('"tomorrow" is not a time. Write 2026-01-31').waitFor()
    await choose('2025-01-01', '2025-01-02 10:01')
    await press('Go')
    await page.waitForURL(/to=1735812060000000000/)
    await page.getByRole('button', { name: `Last before: ${last}` }).click()
    await page.waitForSelector('table.points tbody tr')
  })

  test('compares markets in a chart that the address names, and reads a map of markets by arrow keys', async ({
    openRecording,
  }) => {
    const page = await openRecording(RECORDING)
    for (const width of [1_440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto('/?map=8h')
      await page.waitForSelector('.heat-map')
      // The newest columns are in sight, beside the markets.
      const map = page.getByLabel('Funding heat map')
      await eventually(
        () => map.evaluate((place) => place.scrollWidth - place.scrollLeft - place.clientWidth),
        (hidden) => hidden <= 1,
      )
      const places = [
        map,
        map.locator('tbody th').first(),
        map.locator('tbody tr').first().locator('td').last(),
      ]
      const [frame, market, newest] = await Promise.all(places.map((one) => one.boundingBox()))
      assert.ok(market!.x >= frame!.x && newest!.x >= market!.x + market!.width, `${width}`)
    }
    const reading = () => figure(page, 'map-reading')
    await page.locator('.heat-map [tabindex="0"]').focus()
    for (const [keys, code] of [
      [['ArrowLeft', 'ArrowDown'], 'ETH/PERP'],
      [['ArrowDown', 'ArrowDown'], 'SOL/PERP'],
      [['ArrowUp', 'Home'], 'ETH/PERP'],
    ] as const) {
      for (const key of keys) await page.keyboard.press(key)
      await eventually(reading, (text) => text.startsWith(`${code}, 8 hours from `))
      assert.equal(await page.locator('.heat-map td:focus').getAttribute('title'), await reading())
    }
    const choose = (group: string, name: string) =>
      page.getByRole('group', { name: group }).getByRole('button', { name }).click()
    await choose('Column length', 'Day')
    await page.waitForURL((url) => !url.searchParams.has('map'))
    await eventually(reading, (text) => /^BTC\/PERP, \d{4}-\d\d-\d\d: /.test(text))

    const box = page.getByLabel('Compare BTC/PERP')
    await box.scrollIntoViewIfNeeded()
    const before = await box.boundingBox()
    await box.check()
    await page.waitForSelector('[data-chart="compare"] canvas')
    // The row that was ticked stays where it was, below the chart that has appeared.
    assert.ok(Math.abs((await box.boundingBox())!.y - before!.y) <= 2)
    await page.getByLabel('Compare SOL/PERP').check()
    await page.waitForURL(new RegExp(`compare=${BTC}%2C${SOL}`))
    await page.reload()
    const line = () => page.locator(`[data-compared="${SOL}"]`).innerText()
    const money = await eventually(line, (text) =>
      /SOL\/PERP[\s\S]*[+-][\d,.]+ USD · period \d+, /.test(text),
    )
    assert.match(
      await page.locator('[data-compared="total"]').innerText(),
      /^Spread: BTC\/PERP − SOL\/PERP\s+[+-][\d,.]+ USD$/,
    )
    await page.getByRole('textbox', { name: 'Position worth' }).fill('-2000')
    await page.keyboard.press('Enter')
    await page.waitForURL(/worth=-2000/)
    // Twice as much, the other way round.
    const doubled = (text: string) => Number(/([+-][\d,.]+) USD/.exec(text)![1]!.replaceAll(',', ''))
    await eventually(line, (text) => Math.abs(doubled(text) + 2 * doubled(money)) < 0.02)
    await choose('Values of the lines', 'Cumulative')
    await eventually(line, (text) => /[+-][\d,.]+ % · period \d+, /.test(text))
    const { bytes } = await downloadBy(
      page.getByRole('button', { name: 'Save as PNG: funding rates compared' }),
    )
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG')
    await page.getByLabel('Compare BTC/PERP').uncheck()
    await page.waitForURL(new RegExp(`compare=${SOL}`))
  })

  test(
    'shows all of forty markets if the limit is 20 requests a second, and filters their providers',
    async ({ t, open }) => {
      const path = await generate(t, ['--blocks', '400', '--markets', '40', '--points', '20'])
      const page = await open(await storeOf(t, STORE_KINDS[0]!, path), { rateLimit: 20 })
      await page.goto('/')
      const rows = page.locator('table.markets tbody tr')
      await eventuallyIs(() => rows.count(), 40)
      await page.getByRole('link', { name: 'BTC/USDT-PERP', exact: true }).waitFor()
      // On a phone no name runs into the figure beside it.
      await page.setViewportSize({ width: 390, height: 800 })
      const overlaps = () =>
        rows.evaluateAll(
          (all) =>
            all.filter((row) => {
              const [name, rate] = [row.querySelector('.market-code')!, row.querySelector('td')!]
              return name.getBoundingClientRect().right > rate.getBoundingClientRect().left
            }).length,
        )
      await eventuallyIs(overlaps, 0)
      await page.setViewportSize({ width: 1280, height: 900 })
      await rows.last().scrollIntoViewIfNeeded()
      await rows.last().locator('.sparkline svg').waitFor()
      await page.goto('/?view=providers')
      await eventuallyIs(() => figure(page, 'markets'), '18')
      // The first columns fit; all columns scroll, and each choice is in the address.
      await eventuallyIs(() => page.locator('.scroll-hint').count(), 0)
      await page.getByRole('button', { name: 'All 15 figures' }).click()
      await page.locator('.scroll-hint').waitFor()
      await page.getByLabel('Penalised only').check()
      await page.getByLabel('Equity-like share below, %').fill('0.000001')
      await page.waitForURL(/columns=all&penalised=1&below=0.000001/)
      await page.getByRole('button', { name: 'Clear the filters' }).click()
      await page.waitForURL((url) => !/penalised|below/.test(url.search))
      await page.getByLabel('Party id, or its first digits').fill('A')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.waitForURL(/party=a/)
      await page.goto('/?view=funding&span=all')
      await settled(page)
      assert.equal(await page.locator('.failure').count(), 0)
    },
    // Browsers report refused requests, which the page repeats later.
    /429/,
  )

  test('shows every market of more than a thousand, in pages', async ({ t, open }) => {
    const path = await generate(t, ['--blocks', '40', '--markets', '1200', '--points', '4'])
    const page = await open(await storeOf(t, STORE_KINDS[0]!, path))
    await page.goto('/')
    const rows = page.locator('table.markets tbody tr')
    await eventuallyIs(() => rows.count(), 100)
    const pages = page.getByRole('navigation', { name: 'Pages of markets' })
    await pages.getByText('1 to 100 of 1,200').waitFor()
    await pages.getByRole('button', { name: 'Next' }).click()
    await page.waitForURL(/page=2/)
    await page.getByLabel('Find a market by code, name or id').fill('BTC/USDT')
    await page.waitForURL((url) => !url.searchParams.has('page'))
    // The rows of all markets are counted, and the last one by id is found by its name.
    await page.goto('/?view=node')
    const periods = page.locator('.facts.wide div', { hasText: 'Funding periods' }).locator('dd')
    await eventuallyIs(() => periods.innerText(), '1,200')
    assert.equal(await page.locator('table.holdings tbody tr').count(), 100)
    const { marketId, code } = await page.evaluate(async () => {
      const response = await fetch('/api/v2/instruments?pagination.first=1&pagination.newestFirst=true')
      return (await response.json()).instruments.edges[0].node
    })
    await page.goto('/?view=funding')
    const picker = page.getByRole('combobox', { name: 'Market' })
    await picker.fill(code)
    await page.getByRole('option', { name: code }).first().waitFor()
    await picker.fill(marketId)
    await picker.press('Enter')
    await page.waitForURL(new RegExp(marketId))
    await settled(page)
  })

  test('requests the data of a chart in at most four answers, and never again', async ({ t, open }) => {
    const [points, blocks] = [scaled(100_000, 1_000_000), scaled(100, 1_000)]
    const { store, live } = await createLiveStore(t)
    for (let height = 1; height <= blocks; height++) {
      const made = Array.from({ length: points / blocks }, (_, index) => ({
        ...pointAt(height, { source: index % 4 === 0 ? 1 : 2 }),
        timestamp: timeOf(height * 600) + BigInt(index) * 500_000_000n,
      }))
      await live.commit(height, made)
    }
    const page = await open(store, { rateLimit: 20 })
    const asked = watchRequests(page)
    const drawn = async () => {
      await settled(page)
      return asked
        .splice(0)
        .filter((path) => /\/(series|funding-estimates|auctions|funding-periods)\/(?!data-points)/.test(path))
    }
    await page.goto('/?view=funding&span=all')
    const first = await drawn()
    assert.ok(first.length <= 4, first.join())
    for (const part of ['/series/', '/auctions/']) {
      assert.equal(first.filter((path) => path.includes(part)).length, 1, part)
    }
    const [external, internal] = [points / 4, (points * 3) / 4].map((count) => groupDigits(`${count}`))
    await page.getByText(`from ${external} external and ${internal} internal points`).waitFor()
    // After a small move all data are loaded.
    await page.getByRole('application').focus()
    await page.keyboard.press('Shift+ArrowLeft')
    await page.waitForURL(/from=/)
    await page.waitForTimeout(500)
    assert.deepEqual(await drawn(), [])
    // Zoomed in, only the finer series is requested.
    for (let step = 0; step < 3; step++) await page.keyboard.press('+')
    await page.waitForTimeout(500)
    const closer = await drawn()
    assert.ok(closer.length >= 1 && closer.length <= 3, closer.join())
    assert.ok(
      closer.every((path) => path.includes('/series/')),
      closer.join(),
    )
  })
})
