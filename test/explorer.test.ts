import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { LiquidityProvider } from 'lyra-client'
import type { Browser, Page } from 'playwright-core'
import { groupDigits } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import {
  accessibilityFaults,
  eventually,
  openBrowser,
  openPage,
  overflow,
  type WatchedPage,
} from './fixtures/browser.ts'
import { joinRecords, readRecording, recordsOf } from './fixtures/event-stream.ts'
import { getPage } from './fixtures/http.ts'
import { LIVE_MARKET, openLiveStore, pointAt } from './fixtures/live-store.ts'
import { startLyra } from './fixtures/program.ts'
import { CHECKPOINTS, MARKET, POINTS, PROVIDERS } from './fixtures/sample.ts'
import { LONG } from './fixtures/scale.ts'
import { ingest, ingestWhole, serve } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

/** Widths and themes that the pages are looked at in; the first two hold each of them once. */
const SETTINGS = [
  [1280, 'light'],
  [375, 'dark'],
  [1280, 'dark'],
  [375, 'light'],
] as const

/** Where the recording is cut for what comes while a page is open, and the blocks left out before. */
const FIRST_PART = 600
const GAP = [301, 310] as const

type Edge = { node: Record<string, unknown> }

const VIEWS = {
  markets: '/',
  funding: `/?view=funding&market=${MARKET}`,
  providers: `/?view=providers&market=${MARKET}`,
  checkpoints: '/?view=checkpoints',
  node: '/?view=node',
}

/** The store of the whole recording, served, and a browser; null where there is no browser. */
async function setUp(t: TestContext): Promise<{ base: string; browser: Browser } | null> {
  const browser = await openBrowser(t)
  if (browser === null) return null
  const store = STORE_KINDS[0]!.create(t)
  await ingestWhole(store, SAMPLE)
  return { base: await serve(t, store), browser }
}

/** The first part of the recording, with a gap, as an event file. */
function writeFirstPart(t: TestContext): string {
  const records = recordsOf(readRecording(SAMPLE)).filter(
    ({ height }) => height <= FIRST_PART && (height < GAP[0] || height > GAP[1]),
  )
  const path = join(temporaryFolder(t), 'first-part.evts')
  writeFileSync(path, joinRecords(records))
  return path
}

/** Waits until the funding view has drawn what it loads. */
async function settled(page: Page): Promise<void> {
  await page.waitForSelector('.density')
  await page.locator('.progress-bar').waitFor({ state: 'detached' })
}

/** Makes a page believe that it is not seen, as one in another tab is. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} })
     document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

const figure = (page: Page, name: string) => page.locator(`[data-figure="${name}"]`).innerText()

describe('the explorer', () => {
  test('shows what the API answers, and keeps its state in the address', async (t) => {
    const setting = await setUp(t)
    if (setting === null) return
    const { base, browser } = setting
    const { page, faults } = await openPage(browser, base, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const newest = async (source: string) =>
      (
        await getPage(base, POINTS, [
          ['source', source],
          ['pagination.first', '1'],
        ])
      ).edges[0]!.node as Record<string, string>
    const external = await newest('SOURCE_EXTERNAL')
    const internal = await newest('SOURCE_INTERNAL')
    const difference = BigInt(internal.twap!) - BigInt(external.twap!)

    await t.test(
      'markets: the latest point of each source, their difference, the period, the providers',
      async () => {
        await page.goto('/')
        const market = page.locator('.market', { hasText: MARKET.slice(0, 8) })
        await market.locator('.figure-value').first().waitFor()
        assert.equal(await page.locator('.market').count(), 3)
        const text = await market.innerText()
        for (const shown of [
          external.twap,
          external.price,
          internal.twap,
          internal.price,
          `${difference}`,
          external.seq,
        ]) {
          assert.ok(text.includes(groupDigits(shown!)), `${shown} in ${text}`)
        }
        const { edges } = await getPage(base, PROVIDERS, [['marketId', MARKET]])
        assert.match(text, new RegExp(`Liquidity providers\\s+${edges.length}\\b`))
      },
    )

    await t.test('funding: figures, hover by mouse and by keys, zoom, table, request, lines', async () => {
      await page
        .locator('.market', { hasText: MARKET.slice(0, 8) })
        .getByRole('link', { name: 'Funding' })
        .click()
      await settled(page)
      assert.equal(await figure(page, 'external-twap'), groupDigits(external.twap!))
      assert.equal(await figure(page, 'internal-price'), `price ${groupDigits(internal.price!)}`)
      assert.equal(
        await figure(page, 'difference'),
        (difference > 0n ? '+' : '') + groupDigits(`${difference}`),
      )
      assert.match(
        await page.locator('.density').innerText(),
        /^all [\d,]+ external points; all [\d,]+ internal points\.$/i,
      )

      // The moment that the keys point at is told in full.
      await page.getByRole('application').focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('ArrowRight')
      const time = await page.locator('.time-value').innerText()
      const shownAt = `${BigInt(Date.parse(`${time.replace(' ', 'T')}Z`)) * 1_000_000n}`
      const { edges } = await getPage(base, POINTS, [
        ['dateRange.endTimestamp', `${BigInt(shownAt) + 1n}`],
        ['pagination.newestFirst', 'true'],
      ])
      for (const source of ['external', 'internal'] as const) {
        const point = edges.find(({ node }) => node.dataPointType === `SOURCE_${source.toUpperCase()}`)?.node
        const shown = await figure(page, `${source}-twap`)
        assert.equal(
          shown,
          point === undefined ? '–' : groupDigits(point.twap as string),
          `${source} at ${time}`,
        )
      }
      await page.keyboard.press('Escape')

      // By mouse: the figures of the place beneath it are of one of the market's points.
      const plot = (await page.locator('.u-over').first().boundingBox())!
      await page.mouse.move(plot.x + plot.width / 2, plot.y + 50)
      const pointed = await eventually(
        () => page.locator('.figures .figure-name').first().innerText(),
        (name) => name === 'At',
      )
      assert.equal(pointed, 'At')
      const hovered = (await figure(page, 'external-twap')).replaceAll(',', '')
      const all = await getPage(base, POINTS, [['pagination.first', '5000']])
      assert.ok(
        all.edges.some(({ node }) => node.twap === hovered),
        hovered,
      )

      // A drag zooms in; the table and its request are of that range then.
      await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 60)
      await page.mouse.down()
      await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60, { steps: 5 })
      await page.mouse.up()
      await page.waitForURL(/from=\d+&to=\d+/)
      await settled(page)
      const params = new URL(page.url()).searchParams
      const [from, to] = [params.get('from')!, params.get('to')!]
      const request = page.locator('.request-url')
      await eventually(
        () => request.innerText(),
        (text) =>
          text.includes(`dateRange.startTimestamp=${from}`) && text.includes(`dateRange.endTimestamp=${to}`),
      )
      await page.getByRole('button', { name: 'curl: copy the request as a curl command' }).click()
      assert.equal(
        await page.evaluate('navigator.clipboard.readText()'),
        `curl '${base}${await request.innerText()}'`,
      )
      const zoomed = await getPage(base, POINTS, [
        ['dateRange.startTimestamp', from],
        ['dateRange.endTimestamp', to],
      ])
      const counted = (source: string) =>
        zoomed.edges.filter(({ node }) => node.dataPointType === source).length
      assert.match(
        await page.locator('.density').innerText(),
        new RegExp(
          `^all ${counted('SOURCE_EXTERNAL')} external points; all ${counted('SOURCE_INTERNAL')} internal points`,
          'i',
        ),
      )
      const expected = (edges: Edge[]) =>
        edges
          .slice(0, 25)
          .map(({ node }) => [
            formatTime(node.timestamp as string),
            groupDigits(node.price as string),
            groupDigits(node.twap as string),
          ])
      const rows = () =>
        page
          .locator('table.points tbody tr')
          .evaluateAll((found) =>
            found.map((row) => [0, 3, 4].map((cell) => row.children[cell]!.textContent)),
          )
      await eventually(rows, (seen) => JSON.stringify(seen) === JSON.stringify(expected(zoomed.edges)))
      await page.getByRole('button', { name: 'Older' }).click()
      await eventually(
        rows,
        (seen) => JSON.stringify(seen) === JSON.stringify(expected(zoomed.edges.slice(25))),
      )

      // The address alone gives the same again, and back goes back.
      const address = page.url()
      await page.reload()
      await settled(page)
      await eventually(
        rows,
        (seen) => JSON.stringify(seen) === JSON.stringify(expected(zoomed.edges.slice(25))),
      )
      await page.goBack()
      await page.goBack()
      await page.waitForURL((url) => !url.searchParams.has('from'))
      assert.notEqual(page.url(), address)
      await page.getByRole('button', { name: 'Internal price' }).click()
      await page.waitForURL(/hide=internal-price/)
    })

    await t.test('providers: figures, shares in order, sorted by any column, meanings', async () => {
      await page.goto(VIEWS.providers)
      const { edges } = await getPage(base, PROVIDERS, [['marketId', MARKET]])
      const nodes = edges.map(({ node }) => node as unknown as LiquidityProvider)
      const parties = () =>
        page
          .locator('table.providers tbody .id')
          .evaluateAll((ids) => ids.map((id) => id.getAttribute('title')))
      await page.waitForSelector('table.providers')
      const by = (read: (node: (typeof nodes)[number]) => string) =>
        [...nodes]
          .sort((left, right) => Number(read(right)) - Number(read(left)))
          .map(({ partyId }) => partyId)
      assert.deepEqual(
        await parties(),
        by(({ feeShare }) => feeShare.equityLikeShare),
      )
      await page.getByRole('button', { name: 'Virtual stake' }).click()
      assert.match(page.url(), /sort=-stake/)
      assert.deepEqual(
        await parties(),
        by(({ feeShare }) => feeShare.virtualStake),
      )
      await page.getByRole('button', { name: 'Virtual stake' }).click()
      assert.deepEqual(await parties(), by(({ feeShare }) => feeShare.virtualStake).reverse())
      const text = await page.locator('table.providers').innerText()
      for (const { feeShare, sla } of nodes) {
        assert.ok(text.includes(groupDigits(feeShare.virtualStake)), feeShare.virtualStake)
        assert.ok(text.includes(groupDigits(sla!.requiredLiquidity)), sla!.requiredLiquidity)
      }
      await page.getByText('What the figures mean').click()
      assert.match(
        await page.locator('.meanings').innerText(),
        /Bond penalty, last epoch\s+The part of its bond/,
      )

      await page.getByLabel('or party').fill(nodes[0]!.partyId)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForURL(new RegExp(`party=${nodes[0]!.partyId}`))
      const own = await getPage(base, PROVIDERS, [['partyId', nodes[0]!.partyId]])
      await eventually(
        () => page.locator('table.providers tbody tr').count(),
        (count) => count === own.edges.length,
      )
    })

    await t.test('checkpoints: the list, a hash to copy, a height to go to', async () => {
      await page.goto(VIEWS.checkpoints)
      const { edges } = await getPage(base, CHECKPOINTS, [])
      const heights = () => page.locator('table.checkpoints tbody tr td:first-child').allInnerTexts()
      await page.waitForSelector('table.checkpoints')
      assert.deepEqual(
        await heights(),
        edges.map(({ node }) => groupDigits(node.atBlock as string)),
      )
      const { hash } = edges[0]!.node
      await page
        .getByRole('button', { name: /^Copy the checkpoint hash/ })
        .first()
        .click()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), hash)

      const wanted = edges[20]!.node.atBlock as string
      await page.getByLabel('Go to block').fill(`${BigInt(wanted) + 1n}`)
      await page.getByRole('button', { name: 'Go', exact: true }).click()
      await eventually(heights, (shown) => shown[0] === groupDigits(wanted))
      assert.deepEqual(await page.locator('tr.marked td:first-child').allInnerTexts(), [groupDigits(wanted)])
    })

    await t.test('node: position, rows held, blocks held', async () => {
      await page.goto(VIEWS.node)
      await page.getByText('Ready: it serves current data').waitFor()
      const text = await page.locator('main').innerText()
      for (const shown of ['905', 'core-scenarios', 'Every block from 1 to 905', '2,298', '36']) {
        assert.ok(text.includes(shown), `${shown} in ${text}`)
      }
    })
    assert.deepEqual(faults, [])
  })

  test('says that there is no SLA, and shows every digit of what no double can hold', async (t) => {
    const browser = await openBrowser(t)
    if (browser === null) return
    const store = STORE_KINDS[0]!.create(t)
    const live = await openLiveStore(t, store)
    const party = 'b'.repeat(64)
    const great = '1234567890123456789012345678'
    const share = {
      party,
      averageEntryValuation: great,
      averageScore: '0.5',
      virtualStake: `${great}.0000000000000001`,
    }
    const external = pointAt(1, { source: 1 })
    const internal = pointAt(1, { source: 2 })
    await live.commit(1, [
      { kind: 'liquidity-provision', provisionId: 'p', marketId: LIVE_MARKET, partyId: party, status: 1 },
      {
        kind: 'market-data',
        marketId: LIVE_MARKET,
        feeShares: [{ ...share, equityLikeShare: '0.1234567890123456789' }],
        slas: [],
      },
      { ...external, twap: great },
      { ...internal, twap: `${BigInt(great) + 1n}` },
    ])
    const base = await serve(t, store)
    const { page, faults } = await openPage(browser, base)
    await page.goto(`/?view=providers&market=${LIVE_MARKET}`)
    await page.waitForSelector('table.providers')
    const row = await page.locator('table.providers tbody').innerText()
    assert.match(row, /No SLA figures/)
    const shown = groupDigits(great)
    assert.equal(shown, '1,234,567,890,123,456,789,012,345,678')
    for (const text of ['12.34567890123456789 %', shown, `${shown}.0000000000000001`]) {
      assert.ok(row.includes(text), `${text} in ${row}`)
    }
    await page.setViewportSize({ width: 375, height: 812 })
    assert.equal(await overflow(page), 0)
    assert.match(await page.locator('.card').innerText(), /No SLA figures/)

    await page.goto(`/?view=funding&market=${LIVE_MARKET}`)
    await settled(page)
    assert.equal(await overflow(page), 0)
    assert.equal(await figure(page, 'external-twap'), shown)
    assert.equal(await figure(page, 'difference'), '+1')
    assert.deepEqual(faults, [])
  })

  test('follows what comes in: points, checkpoints, providers, a gap that is filled', async (t) => {
    const browser = await openBrowser(t)
    if (browser === null) return
    const store = STORE_KINDS[0]!.create(t)
    await ingest(store, writeFirstPart(t), { allowGap: true })
    const base = await serve(t, store)
    const open = async (path: string) => {
      const opened = await openPage(browser, base)
      await opened.page.goto(path)
      return opened
    }
    const [funding, checkpoints, node] = (await Promise.all(
      [VIEWS.funding, VIEWS.checkpoints, VIEWS.node].map(open),
    )) as [WatchedPage, WatchedPage, WatchedPage]
    await settled(funding.page)
    await funding.page.getByRole('button', { name: 'Live' }).waitFor()
    await checkpoints.page.waitForSelector('table.checkpoints')
    await node.page.getByText(`blocks ${GAP[0]} to ${GAP[1]}`).waitFor()
    assert.match(await node.page.locator('.readiness').innerText(), /Not ready[\s\S]*301 to 310 missing/)
    const drawn = await funding.page.locator('.density').innerText()

    // A page that is not seen follows nothing, and catches up when it is seen.
    await setHidden(checkpoints.page, true)
    await ingestWhole(store, SAMPLE)

    const { edges } = await getPage(base, POINTS, [
      ['source', 'SOURCE_INTERNAL'],
      ['pagination.first', '1'],
    ])
    const latest = edges[0]!.node as Record<string, string>
    await eventually(
      () => figure(funding.page, 'internal-twap'),
      (text) => text === groupDigits(latest.twap!),
    )
    const count = (
      await getPage(base, POINTS, [
        ['source', 'SOURCE_INTERNAL'],
        ['pagination.first', '5000'],
      ])
    ).edges.length
    await eventually(
      () => funding.page.locator('.density').innerText(),
      (text) => text.includes(`all ${groupDigits(`${count}`)} internal points`),
    )
    assert.notEqual(await funding.page.locator('.density').innerText(), drawn)
    await setHidden(checkpoints.page, false)
    const newest = (await getPage(base, CHECKPOINTS, [['pagination.first', '1']])).edges[0]!.node
      .atBlock as string
    await eventually(
      () => checkpoints.page.locator('table.checkpoints tbody td').first().innerText(),
      (text) => text === groupDigits(newest),
    )
    await node.page.getByText('Every block from 1 to 905').waitFor()
    await node.page.getByText('Ready: it serves current data').waitFor()
    assert.deepEqual([...funding.faults, ...checkpoints.faults], [])
    // Browsers report the 503 with which the service says that it is not ready.
    assert.deepEqual(
      node.faults.filter((fault) => !fault.includes('503')),
      [],
    )
  })

  test('says that the service is away, keeps what it knows, and goes on when it is back', async (t) => {
    const browser = await openBrowser(t)
    if (browser === null) return
    const store = STORE_KINDS[0]!.create(t)
    await ingest(store, writeFirstPart(t), { allowGap: true })
    const start = async (port: string) => {
      const program = startLyra(t, ['serve', '--store', store, '--port', port])
      const [, base] = await program.printed(/serving .* on (http:\/\/127\.0\.0\.1:\d+)/)
      return { program, base: base! }
    }
    const first = await start('0')
    const { page } = await openPage(browser, first.base)
    await page.goto(VIEWS.funding)
    await settled(page)
    const before = await figure(page, 'internal-twap')

    first.program.child.kill('SIGKILL')
    await first.program.outcome
    await page.getByText('The service does not answer.').waitFor()
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('Next try in').waitFor()
    assert.equal(await figure(page, 'internal-twap'), before)
    await ingestWhole(store, SAMPLE)

    const again = await start(new URL(first.base).port)
    await eventually(
      () => page.locator('.banner').count(),
      (count) => count === 0,
    )
    const { edges } = await getPage(again.base, POINTS, [
      ['source', 'SOURCE_INTERNAL'],
      ['pagination.first', '1'],
    ])
    await eventually(
      () => figure(page, 'internal-twap'),
      (text) => text === groupDigits(edges[0]!.node.twap as string),
    )
  })

  test('is legible and reachable for everybody: axe-core, both themes, 375 pixels, keys alone', async (t) => {
    const setting = await setUp(t)
    if (setting === null) return
    const { base, browser } = setting
    const { page, faults } = await openPage(browser, base)
    for (const [name, path] of Object.entries(VIEWS)) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(path)
      await page.waitForSelector(
        name === 'funding' ? '.density' : name === 'markets' ? '.latest' : '.request',
      )
      for (const [width, colorScheme] of LONG ? SETTINGS : SETTINGS.slice(0, 2)) {
        await page.setViewportSize({ width, height: 812 })
        await page.emulateMedia({ colorScheme })
        await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
        await eventually(
          () => overflow(page),
          (pixels) => pixels === 0,
        )
        assert.deepEqual(await accessibilityFaults(page), [], `${name}, ${colorScheme}, ${width}`)
      }
    }

    // By keys alone: past the header, to a view, over the chart, through the table.
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto('/')
    const focused = () => page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''")
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Skip to the content')
    const tabTo = async (wanted: string) => {
      for (let pressed = 0; (await focused()) !== wanted; pressed++) {
        assert.ok(pressed < 40, `${wanted} is never reached`)
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
    await page.keyboard.press('End')
    assert.match(
      await page.locator('.charts [aria-live]').innerText(),
      /UTC, period \d+; external price [\d,]+, TWAP/,
    )
    await tabTo('Older')
    await page.keyboard.press('Enter')
    await page.waitForURL(/after=/)
    assert.deepEqual(faults, [])
  })
})
