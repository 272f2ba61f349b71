import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Coverage } from 'lyra-client'
import type { Locator, Page } from 'playwright-core'
import { formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { accessibilityFaults, eventually, eventuallyIs, openPage, overflow } from './fixtures/browser.ts'
import { dial } from './fixtures/core.ts'
import { joinRecords, readRecording, recordsOf } from './fixtures/event-stream.ts'
import {
  BTC,
  cellsOf,
  ETH,
  exactFigure,
  FUNDING,
  figure,
  generate,
  looksTest,
  SOL,
  settled,
  explorerTest as test,
} from './fixtures/explorer.ts'
import { getJson, getPage } from './fixtures/http.ts'
import { blocksOf, startLive, untilHeight } from './fixtures/live.ts'
import { createLiveStore, pointAt } from './fixtures/live-store.ts'
import { addressOf, startLyra } from './fixtures/program.ts'
import { inTurns, sampled } from './fixtures/sampling.ts'
import { ingest, ingestWhole, serve, storeOf } from './fixtures/service.ts'
import { recorded } from './fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const RECORDING = 'perps-calm-named'

/** The last block of the first part, and the blocks missing in it. The rest arrives while a page is open. */
const FIRST_PART = 600
const GAP = [301, 310] as const

const POINTS = `/api/v2/funding-periods/data-points/${ETH}`

const VIEWS = {
  markets: ['/', 'table.markets'],
  compare: [`/?view=markets&compare=${BTC},${ETH}`, '[data-chart="compare"] canvas'],
  funding: [FUNDING, '.notes'],
  providers: ['/?view=providers', '.request'],
  party: [`/?view=providers&market=${SOL}&columns=all`, '.request'],
  checkpoints: ['/?view=checkpoints', 'table.checkpoints'],
  node: ['/?view=node', '.holdings'],
} as const

/** Window widths at which every view must fit. */
const WIDTHS = [320, 375, 768, 820, 1024, 1440]

/** Writes the first part of the recording, with a gap, as an event file. */
function writeFirstPart(t: TestContext): string {
  return writePart(t, RECORDING, (height) => height <= FIRST_PART && (height < GAP[0] || height > GAP[1]))
}

/** Writes the blocks of a recording at some heights as an event file. */
function writePart(t: TestContext, recording: string, isPart: (height: number) => boolean): string {
  const records = recordsOf(readRecording(recorded(recording))).filter(({ height }) => isPart(height))
  const path = join(temporaryFolder(t), 'part.evts')
  writeFileSync(path, joinRecords(records))
  return path
}

/** Makes a page believe that it is hidden, like one in a background tab. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} })
     document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

/** The texts of a page about how current the data are. */
async function freshnessOf(page: Page): Promise<{ state: string | null; text: string }[]> {
  return page.locator('[data-freshness]').evaluateAll((found) =>
    found.map((element) => ({
      state: element.getAttribute('data-freshness'),
      text: (element as unknown as { innerText: string }).innerText.trim(),
    })),
  )
}

/** What a page has of the window, as far as a test needs it. */
type Styles = { getComputedStyle(element: unknown): { color: string } }

/** Waits until header, button and Node page show the same state, and returns its text. */
async function oneTruth(page: Page, state: string, places: number, ms = 40_000): Promise<string> {
  const found = await eventually(
    () => freshnessOf(page),
    (said) => said.length === places && said.every((one) => one.state === state),
    ms,
  )
  assert.equal(new Set(found.map(({ text }) => text)).size, 1, JSON.stringify(found))
  return found[0]!.text
}

/** Faults without the 503 of `/ready`, which browsers report each time. */
function besideNotReady(faults: readonly string[]): string[] {
  return faults.filter((fault) => !/503 .*\/(ready|api\/v2\/coverage)$/.test(fault))
}

describe('the explorer shows how current the data are', () => {
  test('as of a date, in the header, on the button and on the Node page alike', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.goto(FUNDING)
    assert.equal(await oneTruth(page, 'static', 2), 'as of 2023-10-05 10:15 UTC')
    await page.goto('/?view=node')
    assert.equal(await oneTruth(page, 'static', 2), 'as of 2023-10-05 10:15 UTC')
    await page.getByText(/^The last block is of 2023-10-05 10:15:04 UTC, \d+ y \d+ d ago/).waitFor()
  })

  test('live with the age, receiving old blocks, and not ready with the reason', async ({ t, browser }) => {
    const { store, live } = await createLiveStore(t)
    // Heights are seconds since the fixture's epoch.
    const now = () => Math.floor(Date.now() / 1000) - 1_700_000_000
    await live.commit(now() - 7_200, [pointAt(now() - 7_200)])
    const ingestion = {
      failure: null as string | null,
      live: null,
      maxBehindSeconds: null,
      threadsRun: () => true,
    }
    const base = await serve(t, store, { ingestion })
    const { page, faults } = await openPage(browser, base)
    await page.goto('/?view=node')
    assert.match(await oneTruth(page, 'static', 2), /^as of \d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
    // An old block arrives: the service catches up.
    await live.commit(live.height + 1, [pointAt(live.height + 1)])
    assert.match(await oneTruth(page, 'receiving', 2), /^receiving · \d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
    await oneTruth(page, 'static', 2, 40_000)
    const next = live.height + 1
    for (let height = next; height <= next; height++) await live.commit(height, [])
    ingestion.failure = 'the disk is full'
    await oneTruth(page, 'not-ready', 2)
    assert.match(
      await page.locator('.readiness').innerText(),
      /not ready: intake stopped[\s\S]*the disk is full/,
    )
    ingestion.failure = null
    await oneTruth(page, 'receiving', 2)
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('receiving while a core sends old blocks, whose periods and points appear without a reload', async ({
    t,
    browser,
  }) => {
    const blocks = await blocksOf(recorded(RECORDING))
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const { page, faults } = await openPage(browser, service.base)
    await page.goto(`/?view=funding&market=${ETH}&span=all`)
    await page.getByText('This store is empty').waitFor()
    const core = await dial(service.corePort)
    await core.send(blocks.slice(0, 400))
    await settled(page)
    await core.send(blocks.slice(400, 700))
    assert.match(await oneTruth(page, 'receiving', 2), /^receiving · 2023-10-05 \d\d:\d\d UTC$/)
    await untilHeight(service, 700)
    const { edges } = await getPage(service.base, `/api/v2/funding-periods/${ETH}`, 'pagination.first=5')
    const paid = edges.find(({ node }) => node.fundingRate !== undefined)!.node
    await eventuallyIs(() => exactFigure(page, 'last-rate'), paid.fundingRate)
    const { fundingEstimate } = await getJson<{ fundingEstimate: { fundingRate: string } }>(
      service.base,
      `/api/v2/funding-estimates/${ETH}`,
    )
    await eventuallyIs(() => exactFigure(page, 'estimate-rate'), fundingEstimate.fundingRate)
    await core.close()
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('behind: estimates and next payments are grey, with the time they are of, from the first load on', async ({
    t,
    browser,
  }) => {
    const path = await generate(t, ['--blocks', '400', '--markets', '2', '--points', '2'])
    const blocks = await blocksOf(path)
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t), ['--max-behind', '60'])
    const core = await dial(service.corePort)
    await core.send(blocks)
    await untilHeight(service, 400)
    // A store of the same blocks, into which nothing ingests.
    const still = await serve(t, await storeOf(t, STORE_KINDS[0]!, path))
    for (const [base, behind] of [
      [service.base, true],
      [still, false],
    ] as const) {
      const { coverage } = await getJson<{ coverage: Coverage }>(base, '/api/v2/coverage')
      const minute = (time: string) => `as of ${formatTime(time).slice(0, 16)} UTC`
      const asOfBlock = minute(coverage.blocks.lastTimestamp)
      const { edges } = await getPage(base, '/api/v2/market-summaries')
      const { page, faults } = await openPage(browser, base)
      await page.goto('/')
      const isGrey = async (figure: Locator) => {
        const [own, grey] = await Promise.all(
          [figure, page.locator('.footer')].map((one) =>
            one.evaluate((element) => (globalThis as unknown as Styles).getComputedStyle(element).color),
          ),
        )
        return own === grey
      }
      for (const { node } of edges) {
        const { marketId, estimate } = node as { marketId: string; estimate: { at: string } }
        const row = page.locator(`tr[data-market="${marketId}"]`)
        const [rate, due] = [row.locator('[data-figure="rate"]'), row.locator('[data-figure="due"]')]
        await rate.waitFor()
        assert.equal(await isGrey(rate), behind)
        assert.equal(await isGrey(due.locator('time')), behind)
        assert.equal(await isGrey(row.locator('[data-figure="paid"]')), false)
        assert.deepEqual(
          await row.locator('[data-figure="as-of"]').allInnerTexts(),
          behind ? [minute(estimate.at), asOfBlock] : [],
        )
        assert.equal((await due.innerText()).includes('in '), false)
      }
      const [said] = await freshnessOf(page)
      assert.equal(said!.state, behind ? 'lagging' : 'static')
      if (behind) assert.match(said!.text, /^lagging by /)
      else assert.equal(said!.text, asOfBlock)
      await page.goto(`/?view=funding&market=${(edges[0]!.node as { marketId: string }).marketId}&span=all`)
      await settled(page)
      const now = page.locator('.now-figures')
      assert.equal(await isGrey(now.locator('[data-figure="estimate-rate"]')), behind)
      // It is small and grey in any case.
      assert.equal(await now.locator('[data-figure="due"].stale').count(), behind ? 1 : 0)
      assert.equal(await isGrey(now.locator('[data-figure="last-rate"]')), false)
      const { fundingEstimate } = await getJson<{ fundingEstimate: { at: string } }>(
        base,
        `/api/v2/funding-estimates/${(edges[0]!.node as { marketId: string }).marketId}`,
      )
      assert.deepEqual(
        await now.locator('[data-figure="as-of"]').allInnerTexts(),
        behind ? [minute(fundingEstimate.at)] : [],
      )
      assert.equal(await page.locator('tr.estimate.stale').count(), behind ? 1 : 0)
      assert.deepEqual(await accessibilityFaults(page), [])
      assert.deepEqual(besideNotReady(faults), [])
    }
    await core.close()
  })

  test('live while blocks arrive, with the time of the latest point', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const now = () => Math.floor(Date.now() / 1000) - 1_700_000_000
    await live.commit(now() - 2, [pointAt(now() - 2)])
    const { page } = await open(store)
    await page.goto('/?view=funding')
    assert.match(await oneTruth(page, 'live', 2), /^live · \d+ s$/)
    await page.setViewportSize({ width: 390, height: 844 })
    const said = (await page.locator('.header .freshness-text').boundingBox())!
    assert.ok(said.width > 30, 'a phone shows the words, not a colour alone')
    const height = live.height + 1
    await settled(page)
    await live.commit(height, [pointAt(height), pointAt(height, { source: 1 })])
    await eventuallyIs(
      () => figure(page, 'internal-price'),
      formatAmountWithUnit(pointAt(height).price, null),
    )
  })

  test('not ready: an empty store shows the commands that fill it, then its data without a reload', async ({
    t,
    browser,
  }) => {
    const store = STORE_KINDS[0]!.create(t)
    const base = await serve(t, store, { storeName: "it's.db" })
    const { page, faults } = await openPage(browser, base)
    const word = `'it'\\''s.db'`
    for (const [path] of Object.values(VIEWS)) {
      await page.goto(path)
      await page.getByText("its store it's.db has no blocks yet").waitFor()
      assert.deepEqual(await page.locator('.command code').allInnerTexts(), [
        `lyra ingest --store ${word} events.evts.gz`,
        `lyra import --store ${word} segments/`,
        `lyra serve --store ${word} --listen 127.0.0.1:3005`,
      ])
      await page.getByText('Follow a running core: stop this service, and start it with --listen').waitFor()
    }
    assert.equal(await oneTruth(page, 'empty', 2), 'not ready: empty')
    await page.getByRole('button', { name: /Ingest event files/ }).click()
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      `lyra ingest --store ${word} events.evts.gz`,
    )
    await ingestWhole(store, recorded(RECORDING))
    await page.waitForSelector('.holdings')
    await oneTruth(page, 'static', 2)
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('a gap: its time on the chart, and its end once filled', async ({ t, browser }) => {
    const store = STORE_KINDS[0]!.create(t)
    await ingest(store, writeFirstPart(t), { allowGap: true })
    const base = await serve(t, store)
    const open = async (path: string) => {
      const opened = await openPage(browser, base)
      await opened.page.goto(path)
      return opened
    }
    const funding = await open(`/?view=funding&market=${ETH}&span=all`)
    const checkpoints = await open('/?view=checkpoints')
    const node = await open('/?view=node')
    await settled(funding.page)
    await checkpoints.page.waitForSelector('table.checkpoints')
    await node.page.getByText(`blocks ${GAP[0]} to ${GAP[1]}`).first().waitFor()
    await funding.page.getByText('Blocks are missing between').waitFor()

    // A hidden page follows nothing, and catches up when it is shown.
    await setHidden(checkpoints.page, true)
    await ingestWhole(store, recorded(RECORDING))
    const { edges } = await getPage(base, POINTS, 'source=SOURCE_INTERNAL&pagination.first=1')
    const usd = { symbol: 'USD', decimals: 5 }
    await eventuallyIs(
      () => figure(funding.page, 'internal-twap'),
      formatAmountWithUnit(edges[0]!.node.twap as string, usd),
    )
    await eventually(
      () => funding.page.locator('.notes').innerText(),
      (text) => !text.includes('Blocks are missing'),
    )
    await setHidden(checkpoints.page, false)
    const newest = (await getPage(base, '/api/v2/checkpoints', 'pagination.first=1')).edges[0]!.node
      .atBlock as string
    await eventually(
      () => cellsOf(checkpoints.page, 'checkpoints'),
      (rows) => rows[0]?.[0] === newest,
    )
    await node.page.getByText('Every block from 1 to 905').waitFor()
    // After the new blocks it becomes static only after a while without any.
    await oneTruth(node.page, 'static', 2, 60_000)
    for (const { faults } of [funding, checkpoints, node]) assert.deepEqual(besideNotReady(faults), [])
  })

  test('a gap of any market lies between its last price before and its first one after the missing blocks', async ({
    t,
    browser,
  }) => {
    const [from, to] = [1_001, 1_200]
    const store = STORE_KINDS[0]!.create(t)
    const path = writePart(t, 'perps-long-named', (height) => height < from || height > to)
    await ingest(store, path, { allowGap: true })
    const { page, faults } = await openPage(browser, await serve(t, store))
    // The first question about a gap is never answered: the page asks again.
    await page.route(/afterBlock=/, () => {}, { times: 1 })
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
      const before = lastBefore.get(market)!.time as string
      const after = firstAfter.get(market, BigInt(before))!.time as string
      assert.ok(BigInt(after) - BigInt(before) > 190_000_000_000n, market)
      await page.goto(`/?view=funding&market=${market}&span=all`)
      const [first, last] = [before, after].map((time) => formatTime(time).slice(0, 19))
      await page.getByText(`Blocks are missing between ${first} and ${last}.`).waitFor()
    }
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('down: keeps its data, and continues when the service is back', async ({ t, browser }) => {
    const store = STORE_KINDS[0]!.create(t)
    await ingest(store, writeFirstPart(t), { allowGap: true })
    const start = async (port: string) => {
      const program = startLyra(t, ['serve', '--store', store, '--port', port])
      const base = await addressOf(program)
      return { program, base: base }
    }
    const first = await start('0')
    const { page } = await openPage(browser, first.base)
    await page.goto(`/?view=funding&market=${ETH}&span=all`)
    await settled(page)
    const before = await figure(page, 'internal-twap')

    first.program.child.kill('SIGKILL')
    await first.program.outcome
    await page.getByText('The service does not respond.').waitFor()
    assert.equal(await oneTruth(page, 'down', 2), 'down')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('Next try in').waitFor()
    assert.equal(await figure(page, 'internal-twap'), before)
    await ingestWhole(store, recorded(RECORDING))

    const again = await start(new URL(first.base).port)
    await eventuallyIs(() => page.locator('.banner').count(), 0)
    const { edges } = await getPage(again.base, POINTS, 'source=SOURCE_INTERNAL&pagination.first=1')
    const usd = { symbol: 'USD', decimals: 5 }
    await eventuallyIs(
      () => figure(page, 'internal-twap'),
      formatAmountWithUnit(edges[0]!.node.twap as string, usd),
    )
  })
})

describe('the explorer in each state', () => {
  test('an empty range says where data are and links there; an invalid date or id is explained', async ({
    openRecording,
  }) => {
    const { page, base } = await openRecording(RECORDING)
    const ends = async (newestFirst: string) =>
      formatTime(
        (
          await getPage(
            base,
            `/api/v2/funding-periods/data-points/${BTC}`,
            `pagination.first=1&pagination.newestFirst=${newestFirst}`,
          )
        ).edges[0]!.node.timestamp as string,
      ).slice(0, 19)
    const [first, last] = [await ends('false'), await ends('true')]
    await page.goto(`/?view=funding&market=${BTC}&from=2023-09-01&to=2023-09-02`)
    await page.getByText('No data points in this range').waitFor()
    await page.getByText(`This market's data are from ${first} to ${last} (UTC).`).waitFor()
    await page.getByRole('button', { name: `First after: ${first}` }).click()
    await settled(page)
    await eventuallyIs(() => page.getByText('No data points in this range').count(), 0)
    await page.goto(`/?view=funding&market=${BTC}&from=2024-01-01&to=2024-01-02`)
    await page.getByRole('button', { name: `Last before: ${last}` }).click()
    await eventually(
      async () => (await cellsOf(page, 'points')).length,
      (count) => count > 0,
    )

    await page.goto(`/?view=funding&market=${BTC}&from=2023-02-30&to=2023-03-01`)
    await page.getByText('There is no 2023-02-30. Showing: all.').waitFor()
    await settled(page)
    await page.getByLabel('From, UTC').fill('tomorrow')
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.getByText('"tomorrow" is not a time. Write 2026-01-31').waitFor()
    await page.getByLabel('From, UTC').fill('10w')
    await page.getByLabel('To, UTC').fill('2023-10-05 10:01')
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.waitForURL(/to=1696500060000000000/)

    await page.goto('/?view=funding&market=BTC')
    await page.getByText('Invalid market id').waitFor()
    await page.goto(`/?view=funding&market=${'0'.repeat(64)}`)
    await page.getByText('No funding of this market').waitFor()
  })

  test('a market is picked by code, name or id, by keyboard alone', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.goto(FUNDING)
    const picker = page.getByRole('combobox', { name: 'Market' })
    await picker.waitFor()
    const shows = (code: string) => eventuallyIs(() => picker.inputValue(), code)
    await shows('BTC/PERP')
    for (const [typed, id, code] of [
      ['eth/', ETH, 'ETH/PERP'],
      ['solana', SOL, 'SOL/PERP'],
      [BTC.slice(20, 40), BTC, 'BTC/PERP'],
      [ETH.toUpperCase(), ETH, 'ETH/PERP'],
    ] as const) {
      await picker.focus()
      await page.keyboard.type(typed)
      await eventuallyIs(() => page.locator('.choice').count(), 1)
      await page.keyboard.press('Enter')
      await page.waitForURL(new RegExp(`market=${id}`))
      await shows(code)
    }
    await picker.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await shows('ETH/PERP')
    await page.keyboard.type('nothing')
    await page.getByText('No market has that code, name or id.').waitFor()
  })

  test('shows skeletons, not "no point", while an answer is pending', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    await page.route(/\/(series|funding-periods|market-summaries|liquidity|checkpoints)/, async (route) => {
      await held
      await route.continue()
    })
    for (const path of ['/', '/?view=providers', '/?view=checkpoints', FUNDING]) {
      await page.goto(path)
      await page.waitForSelector('.skeleton')
      assert.doesNotMatch(
        await page.locator('main').innerText(),
        /\bno\b.*(point|market|provider|checkpoint)/i,
      )
    }
    letGo()
    await settled(page)
    await eventuallyIs(() => page.locator('.skeleton').count(), 0)
  })

  test('does not mention funding periods while they are loading', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    await page.route(/\/funding-periods\/[0-9a-f]{64}/, async (route) => {
      await held
      await route.continue()
    })
    await page.goto(FUNDING)
    const spoken = page.locator('.charts [aria-live]')
    const readout = page.locator('[data-figure="period"]')
    await page.locator('[data-figure="external-price"]').waitFor()
    await page.locator('[role="application"]').press('End')
    await eventually(
      () => spoken.innerText(),
      (text) => / UTC; external price /.test(text),
    )
    assert.equal(await readout.innerText(), '')
    letGo()
    await eventually(
      () => readout.innerText(),
      (text) => /^period \d+:/.test(text),
    )
    await page.locator('[role="application"]').press('End')
    await eventually(
      () => spoken.innerText(),
      (text) => / UTC, period \d+; external price /.test(text),
    )
  })

  test('fits every width in both themes, and axe-core finds no violations', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    for (const [index, [name, [path, ready]]] of Object.entries(VIEWS).entries()) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await page.waitForSelector(ready)
      if (name === 'funding') await settled(page)
      for (const [place, width] of WIDTHS.entries()) {
        await page.setViewportSize({ width, height: 812 })
        // The next view starts with the other theme.
        for (const colorScheme of inTurns(index + place, ['dark', 'light'] as const)) {
          await page.emulateMedia({ colorScheme })
          await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
          await eventually(
            () => overflow(page),
            (pixels) => pixels === 0,
          ).catch((error) => {
            throw new Error(`${name}, ${width}: ${error.message}`)
          })
          if (!sampled('seconds', WIDTHS).includes(width)) continue
          assert.deepEqual(await accessibilityFaults(page), [], `${name}, ${colorScheme}, ${width}`)
        }
      }
    }
  })

  test('shows no amount before its unit is known', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.route('**/api/v2/instruments?*', async (route) => {
      await setTimeout(1_500)
      await route.continue()
    })
    await page.goto(FUNDING)
    await page.waitForSelector('[data-figure="last-payment"]')
    assert.match(await figure(page, 'last-payment'), / USD$/)
  })

  test('every view offers a link to itself and its rows as CSV', async ({ openRecording }) => {
    const { page, base } = await openRecording(RECORDING)
    for (const [name, [path, ready]] of Object.entries(VIEWS)) {
      await page.goto(path)
      await page.waitForSelector(ready)
      await page.getByRole('button', { name: /a link to this view$/ }).click()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${base}${path}`, name)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('.csv').last().click(),
      ])
      const lines = readFileSync(await download.path(), 'utf8')
        .trim()
        .split(/\r?\n/)
      const rows = lines.map((line) => line.replaceAll(/"[^"]*"/g, '').split(',').length)
      assert.ok(lines.length > 2, `${name}: ${lines.length} lines`)
      assert.ok(new Set(rows).size === 1, `${name}: ${lines[0]}`)
    }
  })

  looksTest(
    'a phone shows the chart in its upper half, explains gestures, and scrolls wide tables',
    async ({ openRecording }) => {
      const { page } = await openRecording(RECORDING, {
        viewport: { width: 375, height: 812 },
        hasTouch: true,
        isMobile: true,
      })
      await page.goto(FUNDING)
      await settled(page)
      const { y } = (await page.locator('[data-chart="rates"] canvas').boundingBox())!
      assert.ok(y < 812 / 2, `the chart begins at ${y}`)
      await page.getByText('Tap for values · one finger pans · two fingers zoom').waitFor()
      const table = page.locator('.table-frame', { has: page.locator('table.periods') })
      await table.getByText('Scroll sideways for more columns').waitFor()
      await table.locator('.table-place').evaluate((place) => place.scrollTo({ left: 10_000 }))
      await table.getByText('Scroll back').waitFor()
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.getByText('Tap for values').waitFor()
    },
  )

  test('is usable by keyboard alone', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.goto('/')
    await page.waitForSelector('table.markets')
    const focused = () => page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''")
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Skip to content')
    const tabTo = async (wanted: string) => {
      for (let pressed = 0; (await focused()) !== wanted; pressed++) {
        assert.ok(pressed < 60, `${wanted} is never reached`)
        await page.keyboard.press('Tab')
      }
    }
    await tabTo('Funding')
    await page.keyboard.press('Enter')
    await settled(page)
    assert.equal(await page.evaluate('document.activeElement?.id'), 'main')
    await tabTo('all')
    await page.keyboard.press('Enter')
    for (
      let pressed = 0;
      !(await page.evaluate("document.activeElement?.getAttribute('role') === 'application'"));
      pressed++
    ) {
      assert.ok(pressed < 40, 'the chart is never reached')
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('+')
    await page.waitForURL(/from=\d+/)
    // The announcement is written when a key is pressed; the range's periods may still be loading.
    await eventually(
      async () => {
        await page.keyboard.press('End')
        return page.locator('.charts [aria-live]').innerText()
      },
      (text) => /UTC, period \d+; external price [\d,.]+ USD, TWAP/.test(text),
    )
    await tabTo('Older')
    await page.keyboard.press('Enter')
    await page.waitForURL(/after=/)
  })
})
