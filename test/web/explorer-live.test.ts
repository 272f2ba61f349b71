import assert from 'node:assert/strict'
import { get } from 'node:http'
import { describe, type TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { formatAmountWithUnit } from '../../web/src/figures/amount.ts'
import { formatTime } from '../../web/src/figures/format-time.ts'
import { partOf } from '../fixtures/events/event-stream.ts'
import { accessibilityFaults, eventually, eventuallyIs } from '../fixtures/explorer/browser.ts'
import {
  cellOf,
  clipboard,
  ETH,
  exactFigure,
  explorerTest,
  figure,
  replaceDelay,
  rowsOf,
  setHidden,
  settled,
  watchRequests,
} from '../fixtures/explorer/explorer.ts'
import { getPage, metricsOf } from '../fixtures/requests/http.ts'
import { dial } from '../fixtures/services/core.ts'
import { blocksOf, startLive, untilHeight } from '../fixtures/services/live.ts'
import { serveWith } from '../fixtures/services/port.ts'
import { addressOf, startLyra } from '../fixtures/services/program.ts'
import { ingest, serve, storeOf, tryIngest } from '../fixtures/services/service.ts'
import { recorded, TIMESTAMP } from '../fixtures/shared.ts'
import {
  checkpointAt,
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  perpetualMarket,
  pointAt,
  serveLive,
} from '../fixtures/stores/live-store.ts'
import { fileWith, openStore, STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const RECORDING = recorded('perps-calm-named')

/** The last block of the first part, and the blocks missing in it. The rest arrives while a page is open. */
const FIRST_PART = 600
const GAP = [301, 310] as const

const FUNDING = `/?view=funding&market=${ETH}&span=all`

/** A store of the first part of the recording. */
async function storeOfPart(t: TestContext): Promise<string> {
  const store = STORE_KINDS[0]!.create(t)
  const part = partOf(RECORDING, (height) => height <= FIRST_PART && (height < GAP[0] || height > GAP[1]))
  await tryIngest(store, fileWith(t, part), { allowGap: true })
  return store
}

/** A proxy before a service that may hold back what streams send. */
type Proxy = { base: string; holdsStreams: boolean }

async function startProxy(t: TestContext, base: string): Promise<Proxy> {
  const proxy = { base: '', holdsStreams: false }
  proxy.base = await serveWith(t, ({ url = '', headers }, answer) => {
    const asked = get(`${base}${url}`, { headers }, (from) => {
      answer.writeHead(from.statusCode!, from.headers)
      from.on('data', (piece) => {
        if (!proxy.holdsStreams || !url.includes('/stream/')) answer.write(piece)
      })
      from.on('end', () => answer.end())
    })
    asked.on('error', () => answer.destroy())
    answer.on('close', () => asked.destroy())
  })
  return proxy
}

/** The latest internal TWAP of the whole recording. */
const TWAP = '1,535.01 USD'

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

/** The 503 of `/ready` while a service is not ready, which browsers report each time. */
const NOT_READY = /503 .*\/(ready|api\/v2\/coverage)$/

/** A test of pages that look for blocks more often than every three seconds. */
const test = (name: string, run: Parameters<typeof explorerTest>[1], expected = NOT_READY) =>
  explorerTest(
    name,
    ({ openAt, ...tools }) =>
      run({
        ...tools,
        openAt: async (base) => {
          const page = await openAt(base)
          await replaceDelay(page, 3_000, 300)
          return page
        },
      }),
    expected,
  )

describe('the explorer, while its service changes,', () => {
  test('says on each place whether blocks arrive, and shows the latest point', async ({ t, openAt }) => {
    const { store, live } = await createLiveStore(t)
    // Heights are seconds since the fixture's epoch.
    const now = () => Math.floor(Date.now() / 1000) - 1_700_000_000
    const old = now() - 7_200
    await live.commit(old, [pointAt(old)])
    const ingestion = {
      failure: null as string | null,
      live: null,
      maxBehindSeconds: null,
      threadsRun: () => true,
    }
    const page = await openAt(await serve(t, store, { ingestion }))
    await page.goto('/?view=funding')
    await oneTruth(page, 'static', 2)
    await live.commit(old + 1, [pointAt(old + 1)])
    await oneTruth(page, 'receiving', 2)
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
    await oneTruth(page, 'live', 2)
    const price = formatAmountWithUnit(pointAt(height).price, null)
    await eventuallyIs(() => figure(page, 'internal-price'), price)
    await page.setViewportSize({ width: 390, height: 844 })
    const words = (await page.locator('.header .freshness-text').boundingBox())!
    assert.ok(words.width > 30, 'a phone shows the words, not a colour alone')
  })

  test('says how an empty store is filled that waits for no core', async ({ t, openAt }) => {
    const store = STORE_KINDS[0]!.create(t)
    await openStore(store).migrate()
    const page = await openAt(await serve(t, store))
    await page.goto(FUNDING)
    await page.getByText('This store is empty').waitFor()
    const command = await page.locator('.command code').first().innerText()
    await page.getByRole('button', { name: /Ingest event files/ }).click()
    assert.equal(await clipboard(page), command)
  })

  test('fills without a reload once a core sends blocks to an empty store', async ({ t, openAt }) => {
    const blocks = await blocksOf(RECORDING)
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const page = await openAt(service.base)
    await page.goto(FUNDING)
    await page.getByText('Waiting for a core to connect').waitFor()
    assert.equal(await oneTruth(page, 'empty', 1), 'not ready: empty')
    const core = await dial(service.corePort)
    await page.getByText('Waiting for the first block').waitFor()
    await core.send(blocks.slice(0, 400))
    await settled(page)
    await core.send(blocks.slice(400, 700))
    await oneTruth(page, 'receiving', 2)
    await untilHeight(service, 700)
    await eventuallyIs(() => exactFigure(page, 'last-rate'), '-0.0000850231786901')
    await eventuallyIs(() => exactFigure(page, 'estimate-rate'), '0.0003196543235345')
    await core.close()
  })

  test('shows estimates in grey, with their time, if the service is behind when it is opened', async ({
    t,
    openAt,
  }) => {
    const ingestion = { failure: null, live: null, maxBehindSeconds: 60, threadsRun: () => true }
    const base = await serve(t, await storeOf(t, STORE_KINDS[0]!, RECORDING), { ingestion })
    const page = await openAt(base)
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
    assert.equal(await isGrey((await cellOf(page.locator('tr.estimate'), 'Rate')).locator('data')), true)
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('marks missing blocks until they arrive, and catches up when a hidden page is seen', async ({
    t,
    openAt,
  }) => {
    const store = await storeOfPart(t)
    const base = await serve(t, store)
    const [funding, checkpoints] = [await openAt(base), await openAt(base)]
    await funding.goto(FUNDING)
    await checkpoints.goto('/?view=checkpoints')
    await funding.getByText('Blocks are missing or incomplete between').waitFor()
    await checkpoints.waitForSelector('table.checkpoints')
    const newest = async () => (await rowsOf(checkpoints, 'checkpoints'))[0]?.Block
    const before = await newest()
    await setHidden(checkpoints, true)
    await ingest(store, RECORDING)
    await eventuallyIs(() => figure(funding, 'internal-twap'), TWAP)
    await eventually(
      () => funding.locator('.notes').innerText(),
      (text) => !text.includes('Blocks are missing'),
    )
    assert.equal(await newest(), before, 'a hidden page follows nothing')
    await setHidden(checkpoints, false)
    const { edges } = await getPage(base, '/api/v2/checkpoints', 'pagination.first=1')
    await eventuallyIs(newest, edges[0]!.node.atBlock as string)
  })

  test(
    'follows the state of all markets over one connection while the page is seen, or asks with each block if there is no stream',
    async ({ t, openAt }) => {
      const { live, base } = await serveLive(t, STORE_KINDS[0]!, [
        perpetualMarket(LIVE_MARKET),
        pointAt(1),
        pointAt(1, { source: 1 }),
      ])
      const [page, without] = [await openAt(base), await openAt(base)]
      await without.route('**/api/v2/stream/market-summaries*', (route) =>
        route.fulfill({ status: 404, body: '{"code":5,"message":"Not Found","details":[]}' }),
      )
      const asked = watchRequests(page)
      const timesAsked = (path: string) => asked.filter((one) => one === `/api/v2/${path}`).length
      const streams = async () =>
        /lyra_streams\{resource="marketSummaries"\} (\d+)/.exec(await metricsOf(base))?.[1]
      const shows = async (height: number, marketId = LIVE_MARKET, pages = [page, without]) => {
        for (const one of pages) {
          const price = one.locator(`tr[data-market="${marketId}"] data[data-figure="price"]`)
          await eventuallyIs(
            async () => ((await price.count()) === 0 ? null : price.getAttribute('value')),
            pointAt(height).price,
          )
        }
      }
      const commit = (height: number, marketId = LIVE_MARKET) =>
        live.commit(height, [pointAt(height, { source: 1, marketId })])
      for (const one of [page, without]) await one.goto('/')
      await shows(1)
      await eventuallyIs(streams, '1')
      const lists = timesAsked('market-summaries')
      await commit(2)
      await shows(2)
      await commit(3, OTHER_MARKET)
      await shows(3, OTHER_MARKET)
      await setHidden(page, true)
      await eventuallyIs(streams, '0')
      await commit(4)
      await setHidden(page, false)
      await shows(4)
      assert.equal(await streams(), '1')
      assert.deepEqual(
        [timesAsked('market-summaries') - lists, timesAsked('stream/market-summaries')],
        [0, 2],
      )
    },
    /404 .*\/stream\/market-summaries/,
  )

  test(
    'says that the service is down if a proxy answers in its place, and shows nothing of what that says',
    async ({ t, openAt }) => {
      const { live, base } = await serveLive(t, STORE_KINDS[0]!, [
        perpetualMarket(LIVE_MARKET),
        pointAt(1),
        pointAt(1, { source: 1 }),
      ])
      const pages = [await openAt(base), await openAt(base)] as const
      for (const [index, path] of ['/', `/?view=funding&market=${LIVE_MARKET}`].entries()) {
        const page = pages[index]!
        await page.goto(path)
        await page.locator('[data-freshness="static"]').first().waitFor()
        await eventuallyIs(() => page.locator('[aria-busy="true"]').count(), 0)
        // As deploy/nginx/lyra.conf has it.
        await page.route(/\/(api|ready|health)/, (route) =>
          route.request().url().includes('/stream/')
            ? route.fulfill({ contentType: 'text/event-stream', body: 'retry: 2000\n\n' })
            : route.fulfill({ status: 502, contentType: 'text/html', body: '<html>502 Bad Gateway</html>' }),
        )
        // The streams are cut.
        for (const hidden of [true, false]) await setHidden(page, hidden)
        await page.getByText('The service does not respond.').waitFor()
        // It stays so, while streams are answered.
        for (let second = 0; second < 5; second++) {
          await page.waitForTimeout(1_000)
          assert.equal(await page.locator('[data-freshness="down"]').count(), index + 1)
        }
        assert.doesNotMatch(await page.locator('body').innerText(), /502|html/)
        assert.ok((await page.locator('.stale').count()) > 0)
      }
      await live.commit(2, [pointAt(2), pointAt(2, { source: 1 })])
      for (const page of pages) {
        await page.unroute(/\/(api|ready|health)/)
        await eventuallyIs(() => page.locator('.banner').count(), 0)
      }
      const price = pages[0].locator('data[data-figure="price"]')
      await eventuallyIs(() => price.getAttribute('value'), pointAt(2).price)
    },
    /502/,
  )

  test('asks with each block while streams do not come through, from the beginning or from then on', async ({
    t,
    openAt,
  }) => {
    const events = (height: number) => [pointAt(height), pointAt(height, { source: 1 }), checkpointAt(height)]
    const { live, base } = await serveLive(t, STORE_KINDS[0]!, [perpetualMarket(LIVE_MARKET), ...events(1)])
    const proxy = await startProxy(t, base)
    const shows = async (page: Page, height: number) => {
      const price = page.locator('data[data-figure="price"]')
      const newest = page.locator('table.checkpoints tbody tr').first()
      if (page.url().includes('checkpoints')) {
        await eventuallyIs(async () => (await newest.innerText()).split(/\s/)[0], `${height}`)
      } else await eventuallyIs(() => price.getAttribute('value'), pointAt(height).price)
    }
    const open = async (path: string) => {
      const page = await openAt(proxy.base)
      await replaceDelay(page, 10_000, 1_000)
      await page.goto(path)
      return page
    }
    let height = 1
    for (const path of ['/', '/?view=checkpoints']) {
      proxy.holdsStreams = false
      const page = await open(path)
      await shows(page, height)
      await live.commit(++height, events(height))
      await shows(page, height)
      proxy.holdsStreams = true
      const late = await open(path)
      for (let block = 0; block < 2; block++) {
        await live.commit(++height, events(height))
        await shows(page, height)
        await shows(late, height)
      }
      assert.equal(await page.locator('.stale').count(), 0)
    }
    // Another program answers, such as one that wants a login.
    const other = await openAt(base)
    await other.route('**/api/v2/stream/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<html>Log in</html>' }),
    )
    await other.goto('/?view=checkpoints')
    await shows(other, height)
    await live.commit(++height, events(height))
    await shows(other, height)
  })

  test('takes each answer that takes longer than the next block, and asks once more after it', async ({
    t,
    openAt,
  }) => {
    const { live, base } = await serveLive(t, STORE_KINDS[0]!, [perpetualMarket(LIVE_MARKET), pointAt(1)])
    const page = await openAt(base)
    const series = { asked: 0, underWay: 0, most: 0, aborted: 0 }
    page.on('requestfailed', (request) => {
      if (request.url().includes('/series/')) series.aborted++
    })
    await page.route('**/api/v2/series/**', async (route) => {
      series.asked++
      series.most = Math.max(series.most, ++series.underWay)
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      series.underWay--
      await route.continue()
    })
    let height = 1
    const blocks = setInterval(() => void live.commit(++height, [pointAt(height)]), 300)
    t.after(() => clearInterval(blocks))
    await page.goto(`/?view=funding&market=${LIVE_MARKET}`)
    await page.locator('.figures .time-value').first().waitFor({ timeout: 15_000 })
    await eventually(
      async () => series.asked,
      (asked) => asked > 3,
    )
    clearInterval(blocks)
    assert.deepEqual([series.most, series.aborted], [1, 0])
    await eventuallyIs(
      () => figure(page, 'internal-price'),
      formatAmountWithUnit(pointAt(height).price, null),
    )
  })

  test(
    'keeps its data while the service is down, and continues when it is back',
    async ({ t, openAt }) => {
      const store = await storeOfPart(t)
      const start = async (port: string) => {
        const program = startLyra(t, `serve --store ${store} --port ${port}`)
        return { program, base: await addressOf(program) }
      }
      const first = await start('0')
      const page = await openAt(first.base)
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
      await ingest(store, RECORDING)
      await start(new URL(first.base).port)
      await eventuallyIs(() => page.locator('.banner').count(), 0)
      await eventuallyIs(() => figure(page, 'internal-twap'), TWAP)
    },
    /ERR_|503/,
  )
})
