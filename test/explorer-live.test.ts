import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { accessibilityFaults, eventually, eventuallyIs, openPage, overflow } from './fixtures/browser.ts'
import { dial } from './fixtures/core.ts'
import { partOf, readRecording } from './fixtures/event-stream.ts'
import {
  cellsOf,
  ETH,
  exactFigure,
  figure,
  settled,
  explorerTest as test,
  watchRequests,
} from './fixtures/explorer.ts'
import { getJson, getPage, metricsOf } from './fixtures/http.ts'
import { blocksOf as completeBlocksOf, importBlocks } from './fixtures/import-blocks.ts'
import { blocksOf, startLive, untilHeight } from './fixtures/live.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  perpetualMarket,
  pointAt,
  serveLive,
} from './fixtures/live-store.ts'
import { addressOf, startLyra } from './fixtures/program.ts'
import { TIMESTAMP } from './fixtures/sample.ts'
import { ingest, ingestWhole, serve, storeOf } from './fixtures/service.ts'
import { recorded } from './fixtures/shared.ts'
import { fileWith, STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const RECORDING = recorded('perps-calm-named')

/** The last block of the first part, and the blocks missing in it. The rest arrives while a page is open. */
const FIRST_PART = 600
const GAP = [301, 310] as const

const FUNDING = `/?view=funding&market=${ETH}&span=all`

/** A store of the first part of the recording. */
async function storeOfPart(t: TestContext): Promise<string> {
  const store = STORE_KINDS[0]!.create(t)
  const part = partOf(RECORDING, (height) => height <= FIRST_PART && (height < GAP[0] || height > GAP[1]))
  await ingest(store, fileWith(t, part), { allowGap: true })
  return store
}

/** The latest internal TWAP of a service, as it is shown. */
async function latestTwap(base: string): Promise<string> {
  const params = 'source=SOURCE_INTERNAL&pagination.first=1'
  const { edges } = await getPage(base, `/api/v2/funding-periods/data-points/${ETH}`, params)
  return formatAmountWithUnit(edges[0]!.node.twap as string, { symbol: 'USD', decimals: 5 })
}

/** Makes a page believe that it is hidden, like one in a background tab. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} })
     document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

/** Waits until a number of places of a page show the same state, and returns its text. */
async function oneTruth(page: Page, state: string, places: number): Promise<string> {
  const found = await eventually(
    () =>
      page.locator('[data-freshness]').evaluateAll((elements) =>
        elements.map((element) => ({
          state: element.getAttribute('data-freshness'),
          text: (element as HTMLElement).innerText.trim(),
        })),
      ),
    (said) => said.length === places && said.every((one) => one.state === state),
  )
  assert.equal(new Set(found.map(({ text }) => text)).size, 1, JSON.stringify(found))
  return found[0]!.text
}

/** Faults without the 503 of `/ready`, which browsers report each time. */
function besideNotReady(faults: readonly string[]): string[] {
  return faults.filter((fault) => !/503 .*\/(ready|api\/v2\/coverage)$/.test(fault))
}

describe('the explorer, while its service changes,', () => {
  test('says on each place whether blocks arrive, and shows the latest point', async ({ t, browser }) => {
    const { store, live } = await createLiveStore(t)
    // Heights are seconds since the fixture's epoch.
    const now = () => Math.floor(Date.now() / 1000) - 1_700_000_000
    const old = now() - 7_200
    await live.commit(old, [pointAt(old)])
    const ingestion = {
      ...{ failure: null as string | null, live: null, maxBehindSeconds: null },
      threadsRun: () => true,
    }
    const { page, faults } = await openPage(browser, await serve(t, store, { ingestion }))
    await page.goto('/?view=funding')
    assert.match(await oneTruth(page, 'static', 2), /^as of \d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
    await live.commit(old + 1, [pointAt(old + 1)])
    assert.match(await oneTruth(page, 'receiving', 2), /^receiving · \d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
    ingestion.failure = 'the disk is full'
    await oneTruth(page, 'not-ready', 2)
    await page.getByRole('link', { name: 'Node' }).click()
    const said = await page.locator('.readiness').innerText()
    assert.match(said, /not ready: intake stopped[\s\S]*the disk is full/)
    ingestion.failure = null
    await oneTruth(page, 'receiving', 2)
    await page.goBack()
    await settled(page)
    const height = now()
    await live.commit(height, [pointAt(height), pointAt(height, { source: 1 })])
    assert.match(await oneTruth(page, 'live', 2), /^live · \d+ s$/)
    const price = formatAmountWithUnit(pointAt(height).price, null)
    await eventuallyIs(() => figure(page, 'internal-price'), price)
    await page.setViewportSize({ width: 390, height: 844 })
    const words = (await page.locator('.header .freshness-text').boundingBox())!
    assert.ok(words.width > 30, 'a phone shows the words, not a colour alone')
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('fills without a reload once a core sends blocks to an empty store', async ({ t, browser }) => {
    const blocks = await blocksOf(RECORDING)
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const { page, faults } = await openPage(browser, service.base)
    await page.goto(FUNDING)
    await page.getByText('This store is empty').waitFor()
    assert.equal(await oneTruth(page, 'empty', 1), 'not ready: empty')
    const command = await page.locator('.command code').first().innerText()
    await page.getByRole('button', { name: /Ingest event files/ }).click()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), command)
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

  test('shows estimates in grey, with their time, if the service is behind when it is opened', async ({
    t,
    browser,
  }) => {
    const ingestion = { failure: null, live: null, maxBehindSeconds: 60, threadsRun: () => true }
    const base = await serve(t, await storeOf(t, STORE_KINDS[0]!, RECORDING), { ingestion })
    const { page, faults } = await openPage(browser, base)
    const colourOf = (element: Locator) => element.evaluate((found) => getComputedStyle(found).color)
    const isGrey = async (element: Locator) =>
      (await colourOf(element)) === (await colourOf(page.locator('.footer')))
    await page.goto('/')
    const row = page.locator(`tr[data-market="${ETH}"]`)
    await row.getByText(`as of ${formatTime(TIMESTAMP).slice(0, 13)}`).waitFor()
    assert.match(await oneTruth(page, 'lagging', 1), /^lagging by \d+ y/)
    assert.equal(await isGrey(row.locator('[data-figure="rate"]')), true)
    assert.equal(await isGrey(row.locator('[data-figure="paid"]')), false)
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.goto(FUNDING)
    await settled(page)
    assert.equal(await isGrey(page.locator('.now-figures [data-figure="estimate-rate"]')), true)
    assert.equal(await isGrey(page.locator('.now-figures [data-figure="last-rate"]')), false)
    assert.equal(await isGrey(page.locator('tr.estimate td').nth(2).locator('data')), true)
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.deepEqual(besideNotReady(faults), [])
  })

  test('marks missing blocks until they arrive, and catches up when a hidden page is seen', async ({
    t,
    browser,
  }) => {
    const store = await storeOfPart(t)
    const base = await serve(t, store)
    const [funding, checkpoints] = [await openPage(browser, base), await openPage(browser, base)]
    // The first question about a gap is never answered: the page asks again.
    await funding.page.route(/afterBlock=/, () => {}, { times: 1 })
    await funding.page.goto(FUNDING)
    await checkpoints.page.goto('/?view=checkpoints')
    await funding.page.getByText('Blocks are missing between').waitFor()
    await checkpoints.page.waitForSelector('table.checkpoints')
    const newest = async () => (await cellsOf(checkpoints.page, 'checkpoints'))[0]?.[0]
    const before = await newest()
    await setHidden(checkpoints.page, true)
    await ingestWhole(store, RECORDING)
    const twap = await latestTwap(base)
    await eventuallyIs(() => figure(funding.page, 'internal-twap'), twap)
    await eventually(
      () => funding.page.locator('.notes').innerText(),
      (text) => !text.includes('Blocks are missing'),
    )
    assert.equal(await newest(), before, 'a hidden page follows nothing')
    await setHidden(checkpoints.page, false)
    const { edges } = await getPage(base, '/api/v2/checkpoints', 'pagination.first=1')
    await eventuallyIs(newest, edges[0]!.node.atBlock as string)
    for (const { faults } of [funding, checkpoints]) assert.deepEqual(besideNotReady(faults), [])
  })

  test('follows the state of all markets over one connection while the page is seen', async ({
    t,
    browser,
  }) => {
    const { live, base } = await serveLive(t, STORE_KINDS[0]!, [
      perpetualMarket(LIVE_MARKET),
      pointAt(1),
      pointAt(1, { source: 1 }),
    ])
    const { page, faults } = await openPage(browser, base)
    const asked = watchRequests(page)
    const timesAsked = (path: string) => asked.filter((one) => one === `/api/v2/${path}`).length
    const streams = async () =>
      /lyra_streams\{resource="marketSummaries"\} (\d+)/.exec(await metricsOf(base))?.[1]
    const priceOf = async (marketId: string) => {
      const cell = page.locator(`tr[data-market="${marketId}"] data[data-figure="price"]`)
      return (await cell.count()) === 0 ? null : await cell.getAttribute('value')
    }
    const commit = (height: number, marketId: string) =>
      live.commit(height, [pointAt(height, { source: 1, marketId })])
    await page.goto('/')
    await eventuallyIs(() => priceOf(LIVE_MARKET), pointAt(1).price)
    await eventuallyIs(streams, '1')
    const lists = timesAsked('market-summaries')
    await commit(2, LIVE_MARKET)
    await eventuallyIs(() => priceOf(LIVE_MARKET), pointAt(2).price)
    await commit(3, OTHER_MARKET)
    await eventuallyIs(() => priceOf(OTHER_MARKET), pointAt(3).price)
    await setHidden(page, true)
    await eventuallyIs(streams, '0')
    await commit(4, LIVE_MARKET)
    await setHidden(page, false)
    await eventuallyIs(() => priceOf(LIVE_MARKET), pointAt(4).price)
    assert.equal(await streams(), '1')
    assert.deepEqual([timesAsked('market-summaries') - lists, timesAsked('stream/market-summaries')], [0, 2])
    assert.deepEqual(faults, [])
  })

  test('asks for all markets again with each block if the service has no stream of them', async ({
    t,
    browser,
  }) => {
    const { live, base } = await serveLive(t, STORE_KINDS[0]!, [pointAt(1, { source: 1 })])
    const { page } = await openPage(browser, base)
    await page.route('**/api/v2/stream/market-summaries*', (route) =>
      route.fulfill({ status: 404, body: '{"code":5,"message":"Not Found","details":[]}' }),
    )
    const price = () => page.locator('data[data-figure="price"]').first().getAttribute('value')
    await page.goto('/')
    await eventuallyIs(price, pointAt(1).price)
    for (const height of [2, 3]) {
      await live.commit(height, [pointAt(height, { source: 1 })])
      await eventuallyIs(price, pointAt(height).price)
    }
  })

  test('keeps its data while the service is down, and continues when it is back', async ({ t, browser }) => {
    const store = await storeOfPart(t)
    const start = async (port: string) => {
      const program = startLyra(t, ['serve', '--store', store, '--port', port])
      return { program, base: await addressOf(program) }
    }
    const first = await start('0')
    const { page } = await openPage(browser, first.base)
    await page.goto(FUNDING)
    await settled(page)
    const before = await figure(page, 'internal-twap')
    first.program.child.kill('SIGKILL')
    await first.program.outcome
    await page.getByText('The service does not respond.').waitFor()
    assert.equal(await oneTruth(page, 'down', 2), 'down')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('Next try in').waitFor()
    assert.equal(await figure(page, 'internal-twap'), before)
    await ingestWhole(store, RECORDING)
    const again = await start(new URL(first.base).port)
    await eventuallyIs(() => page.locator('.banner').count(), 0)
    await eventuallyIs(() => figure(page, 'internal-twap'), await latestTwap(again.base))
  })

  test('shows which blocks are imported, and explains it', async ({ t, open }) => {
    const store = STORE_KINDS[0]!.create(t)
    await importBlocks(store, completeBlocksOf(readRecording(RECORDING)), { from: 1n, to: 450n })
    await ingestWhole(
      store,
      fileWith(
        t,
        partOf(RECORDING, (height) => height > 450),
      ),
    )
    const { page } = await open(store)
    await page.goto('/?view=node')
    const said = await eventually(
      () => page.locator('.imported').last().innerText(),
      (text) => text.includes('450 blocks are imported'),
    )
    assert.match(said, /blocks 1 to 450/)
    assert.match(said, /last data point of each market, period and source/)
    assert.match(said, /funding cannot be verified/)
    assert.equal(await page.locator('.blocks-bar .imported').count(), 1)
    assert.match(await page.locator('.readiness').innerText(), /^(?!.*not ready)/)
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.equal(await overflow(page), 0)
  })
})
