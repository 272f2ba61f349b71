import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { groupDigits } from '../web/src/figures/format-figure.ts'
import { eventually, eventuallyIs, openPage } from './fixtures/browser.ts'
import { BTC, cellsOf, FUNDING, explorerTest as test, watchRequests } from './fixtures/explorer.ts'
import { getPage, send } from './fixtures/http.ts'
import { CHECKPOINTS, HEIGHT } from './fixtures/sample.ts'

const RECORDING = 'perps-calm-named'

describe('the explorer', () => {
  test('lists checkpoints, with hashes to copy, and goes to a height', async ({ openRecording }) => {
    const { page, base } = await openRecording(RECORDING)
    await page.goto('/?view=checkpoints')
    const { edges } = await getPage(base, CHECKPOINTS)
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
    assert.match((await page.locator('.csv').getAttribute('href'))!, /\/api\/v2\/checkpoints\?format=csv$/)

    const wanted = edges[20]!.node.atBlock as string
    await page.getByLabel('Go to block').fill(`${BigInt(wanted) + 1n}`)
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await eventually(heights, (shown) => shown[0] === groupDigits(wanted))
    assert.deepEqual(await page.locator('tr.marked td:first-child').allInnerTexts(), [groupDigits(wanted)])
  })

  test('shows the position of the node, and its rows and blocks', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.goto('/?view=node')
    await page.waitForSelector('.holdings')
    const text = await page.locator('main').innerText()
    for (const shown of [HEIGHT, 'core-scenarios', 'Every block from 1 to 905', '2,298', '36', '93']) {
      assert.ok(text.includes(shown), `${shown} in ${text}`)
    }
    await eventually(
      () => cellsOf(page, 'holdings'),
      (rows) => rows.map(([name]) => name!.trim()).join() === 'BTC/PERP,ETH/PERP,SOL/PERP',
    )
  })

  test('shows the first view after a few requests and kilobytes', async ({ t, browser, openRecording }) => {
    const { base } = await openRecording(RECORDING)
    for (const path of ['/', '/?view=funding', '/?view=providers', '/?view=checkpoints', '/?view=node']) {
      const { page, close, faults } = await openPage(browser, base)
      // The other views follow after 4 s, before which a busy machine may not show the first one.
      await page.addInitScript(() => {
        const { setTimeout } = globalThis
        Object.assign(globalThis, {
          setTimeout: (run: () => void, ms: number) => (ms === 4_000 ? 0 : setTimeout(run, ms)),
        })
      })
      const asked = watchRequests(page)
      const scripts: string[] = []
      page.on('request', (request) => {
        const { pathname } = new URL(request.url())
        if (pathname.endsWith('.js')) scripts.push(pathname)
      })
      let bytes = 0
      page.on('response', async (response) => {
        const sizes = await response
          .request()
          .sizes()
          .catch(() => null)
        bytes += sizes?.responseBodySize ?? 0
      })
      await page.goto(path)
      await page.waitForSelector('.request')
      await eventuallyIs(() => page.locator('.skeleton').count(), 0)
      await page.waitForLoadState('load')
      let scriptBytes = 0
      for (const script of scripts.splice(0)) {
        scriptBytes += (await send(base, script, { headers: { 'accept-encoding': 'gzip' } })).body.length
      }
      t.diagnostic(`${path}: ${asked.length} API requests, ${bytes} bytes, ${scriptBytes} of scripts`)
      assert.ok(asked.length <= 14, asked.join('\n'))
      assert.ok(bytes < 200_000, `${path}: ${bytes} bytes`)
      assert.ok(scriptBytes > 10_000 && scriptBytes <= 75_000, `${path}: ${scriptBytes} bytes of scripts`)
      assert.deepEqual(faults, [])
      await close()
    }
  })

  test('requests the data of the first view before its code is loaded', async ({
    browser,
    openRecording,
  }) => {
    const { base } = await openRecording(RECORDING)
    const cases: [path: string, needs: string, shown: string][] = [
      ['/', '/api/v2/market-summaries', 'table.markets'],
      ['/?view=providers', '/api/v2/export/', 'table.providers'],
      [`/?view=providers&market=${BTC}`, '/api/v2/liquidity/providers', 'table.providers'],
      ['/?view=funding', '/api/v2/series/', '.chart-panel[aria-busy="false"] .notes'],
      [FUNDING, '/api/v2/series/', '.chart-panel[aria-busy="false"] .notes'],
    ]
    for (const [path, needs, shown] of cases) {
      const { page, close, faults } = await openPage(browser, base)
      const asked = watchRequests(page)
      // As on a slow network: the code arrives only after the data have been requested.
      const wanted = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith(needs))
      await page.route(/\/assets\/(charts|\w+-view)-.*\.js/, async (route) => {
        await wanted
        await route.continue()
      })
      await page.goto(path)
      await page.waitForSelector(shown)
      const before = asked.filter((name) => name.startsWith(needs))
      assert.equal(new Set(before).size, before.length, `requested twice: ${before}`)
      assert.deepEqual(faults, [])
      await close()
    }
  })

  test('says so if the code of a view cannot be loaded, and reloads the page', async ({
    browser,
    openRecording,
  }) => {
    const { base } = await openRecording(RECORDING)
    const { page } = await openPage(browser, base)
    const views = /\/assets\/\w+-view-.*\.js/
    // As after an upgrade, which renames the files.
    await page.route(views, (route) => route.fulfill({ status: 404 }))
    await page.goto('/')
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.unroute(views)
    await again.click()
    await page.waitForSelector('table.markets')
  })
})
