import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { groupDigits } from '../web/src/figures/format-figure.ts'
import { eventually, eventuallyIs, openPage } from './fixtures/browser.ts'
import { cellsOf, explorerTest as test, watchRequests } from './fixtures/explorer.ts'
import { getPage } from './fixtures/http.ts'
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

  test('shows the position of the node, and the rows and blocks that it holds', async ({ openRecording }) => {
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
      const asked = watchRequests(page)
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
      const paint = await page.evaluate<number>(
        "performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint').startTime",
      )
      t.diagnostic(
        `${path}: ${asked.length} API requests, ${bytes} bytes, first paint ${Math.round(paint)} ms`,
      )
      assert.ok(asked.length <= 14, asked.join('\n'))
      assert.ok(bytes < 200_000, `${path}: ${bytes} bytes`)
      // Below half a second on a machine that does nothing else; here several tests run at once.
      assert.ok(paint < 2_000, `${path}: ${paint} ms`)
      assert.deepEqual(faults, [])
      await close()
    }
  })
})
