import assert from 'node:assert/strict'
import { before } from 'node:test'
import type { Page } from 'playwright-core'
import { SAMPLE_MARKET, SAMPLE_PARTY } from '../../scripts/sample.ts'
import { partOf } from '../fixtures/events/event-stream.ts'
import { accessibilityFaults } from '../fixtures/explorer/browser.ts'
import { rowsOf, explorerTest as test } from '../fixtures/explorer/explorer.ts'
import { FILE, serve, tryIngest } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { fileWith, STORE_KINDS } from '../fixtures/stores/stores.ts'

/** The blocks that are left out of `month`: 17 September and parts of the days about it, and some hours later on. */
const isMissing = (height: number) => (height >= 1500 && height <= 1700) || (height >= 2900 && height <= 2910)

const FIRST = 'Blocks 1,500 to 1,700 (2024-09-16'

let base: string

before(async () => {
  const store = STORE_KINDS[0]!.create(FILE)
  const path = fileWith(
    FILE,
    partOf(MONTH, (height) => !isMissing(height)),
  )
  const { failure } = await tryIngest(store, path, { allowGap: true })
  assert.equal(failure, null)
  base = await serve(FILE, store)
})

/** What a part of a page says is missing. */
async function missingOn(page: Page, within: string): Promise<string> {
  return page.locator(within).locator('[data-figure="missing"]').first().innerText()
}

const mainText = (page: Page) => page.locator('main').innerText()

test("a party's total names the blocks that are missing in its range, and its days, and gives no reason that is not known", async ({
  openAt,
}) => {
  const page = await openAt(base)
  const party = `${base}/?view=party&party=${SAMPLE_PARTY}`
  await page.goto(`${party}&from=2024-09-16&to=2024-09-23`)
  await page.waitForSelector('[data-figure="payments-total"]')
  assert.match(
    await missingOn(page, 'main'),
    /^Blocks 1,500 to 1,700 \(2024-09-16 \d\d:\d\d to 2024-09-18 \d\d:\d\d UTC\) are missing or incomplete\. If there were funding payments in them, they are not in the figures here\.$/,
  )
  const days = (await rowsOf(page, 'days')).map(({ 'Day (UTC)': day, ...cells }) => [
    day!,
    ...Object.values(cells),
  ])
  assert.deepEqual(
    days.map(([day, ...cells]) => [day, cells.includes('unknown')]),
    [
      ['2024-09-22', false],
      ['2024-09-21', false],
      ['2024-09-20', false],
      ['2024-09-19', false],
      ['2024-09-18 blocks missing', days[4]!.includes('unknown')],
      ['2024-09-17 blocks missing', true],
      ['2024-09-16 blocks missing', days[6]!.includes('unknown')],
    ],
  )
  assert.deepEqual(await accessibilityFaults(page), [])

  await page.goto(`${party}&from=2024-09-17&to=2024-09-18`)
  const empty = page.locator('.empty', { hasText: 'No funding payments of this party' })
  assert.match(await empty.innerText(), /Whether it had any is not known: blocks are missing\./)
  assert.doesNotMatch(await mainText(page), /had a position/)

  await page.goto(`${party}&from=2024-09-20&to=2024-09-23`)
  await page.waitForSelector('[data-figure="payments-total"]')
  const payments = page.locator('section', { has: page.locator('#payments-title') })
  assert.equal(await payments.locator('[data-figure="missing"]').count(), 0)

  const provisions = page.locator('section', { has: page.locator('#provisions-title') })
  assert.match(
    await provisions.locator('[data-figure="missing"]').innerText(),
    /^Blocks 1,500 to 1,700 .* and 2,900 to 2,910 .* If there were epochs of providers in them,/,
  )
})

test('providers are counted, and said to be none, with the blocks in which there may be others', async ({
  openAt,
}) => {
  const page = await openAt(base)
  await page.goto(`${base}/?view=providers`)
  await page.waitForSelector('table.providers')
  assert.match(
    await missingOn(page, 'section[aria-label="Providers"]'),
    /^Blocks 1,500 to 1,700 .* and 2,900 to 2,910 .* If there were liquidity provisions in them, they are not in the figures here\.$/,
  )
  assert.deepEqual(await accessibilityFaults(page), [])
  await page.goto(`${base}/?view=providers&market=${SAMPLE_MARKET}&party=${SAMPLE_PARTY}`)
  await page.getByText(/^No provision of \S+ on this market is stored$/).waitFor()
  await page.goto(`${base}/?view=party&party=${SAMPLE_PARTY}`)
  await page.getByText('Whether it provides liquidity is not known: blocks are missing.').waitFor()
  assert.doesNotMatch(await mainText(page), /provides no liquidity/)
})

test('the funding of a range without its blocks is not said to be none', async ({ openAt }) => {
  const page = await openAt(base)
  const funding = `${base}/?view=funding&market=${SAMPLE_MARKET}`
  await page.goto(`${funding}&from=2024-09-17&to=2024-09-18`)
  await page.getByText('No payment of this range is stored').waitFor()
  await page.getByText('no paid period that ended in this range is stored').waitFor()
  await page.getByText(', and blocks are missing. This market').waitFor()
  await page.getByText('No stored points match the range and filters').waitFor()
  assert.ok((await missingOn(page, 'main')).startsWith(FIRST))
  const text = await mainText(page)
  assert.doesNotMatch(text, /No payment was due|no period that was paid ended|there are no data points/)
  assert.match(text, /No stored points match the range and filters, and blocks of this range are missing\./)
  // Nothing is read from before the range.
  assert.match(await page.locator('.figures .time-value').innerText(), /^–$/)

  await page.goto(`${funding}&span=30d`)
  await page.waitForSelector('[data-figure="cumulative"]')
  assert.match(await mainText(page), /of [\d,]+ periods that ended in this range and are stored/)
  assert.match(await missingOn(page, 'main'), /1,500 to 1,700 .* and 2,900 to 2,910/)
  const rows = page.locator('table.periods tbody tr')
  await page.getByRole('button', { name: /^All \d+ stored periods of this range$/ }).click()
  await page.locator('table.periods tr.missing-rows').waitFor()
  assert.ok((await rows.allInnerTexts()).some((row) => /^47 to 52\s+missing$/.test(row)))
  for (const [paid, why] of [
    ['50', 'it is not among the stored periods of this range'],
    ['46', 'no end of it is stored'],
  ]) {
    await page.goto(`${funding}&span=30d&paid=${paid}`)
    await page.getByText(`Who paid for period ${paid} cannot be shown: ${why}.`).waitFor()
  }
  await page.goto(`${funding}&from=2024-09-19&to=2024-09-22`)
  await page.waitForSelector('[data-figure="cumulative"]')
  assert.equal(await page.locator('[data-figure="missing"]').count(), 0)
})

test('the map of funding hatches the days of which blocks are missing, and compared rates name them', async ({
  openAt,
}) => {
  const page = await openAt(base)
  await page.goto(`${base}/?view=markets`)
  const map = page.locator('section', { has: page.locator('#map-title') })
  await map.locator('td').first().waitFor()
  const heads = await map.locator('th.gap').allInnerTexts()
  assert.deepEqual(heads.slice(0, 3), ['09-16', '09-17', '09-18'])
  assert.match(await missingOn(page, 'section[aria-labelledby="map-title"]'), /^Blocks 1,500/)
  const titles = await map
    .locator('td.gap')
    .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('title')!))
  assert.ok(
    titles.every((title) => title.endsWith('; blocks are missing')),
    titles.join('\n'),
  )
  assert.ok(titles.some((title) => title.includes('2024-09-17: no payment is stored; ')))
  assert.ok(titles.some((title) => /2024-09-16: .* in [12] payments?, .*; blocks/.test(title)))
  assert.deepEqual(await accessibilityFaults(page), [])

  // Its days stay hatched while the shorter columns load, which do not reach back to the missing blocks.
  const loaded = Promise.withResolvers<void>()
  await page.route(/interval=8h/, async (route) => {
    await loaded.promise
    await route.continue()
  })
  await map.getByRole('button', { name: '8 hours' }).click()
  await map.locator('.answer.other').waitFor()
  assert.deepEqual(await map.locator('th.gap').allInnerTexts(), heads)
  loaded.resolve()
  await map.getByText(/ 16h/).first().waitFor()

  await page.goto(`${base}/?view=markets&compare=${SAMPLE_MARKET}&span=30d`)
  await page.waitForSelector('[data-chart="compare"] canvas')
  assert.match(await missingOn(page, 'section[aria-labelledby="compare-title"]'), /^Blocks 1,500/)
})

test('a height can be gone to once it is known which there are', async ({ openAt }) => {
  const page = await openAt(base)
  const coverage = Promise.withResolvers<void>()
  await page.route('**/api/v2/coverage*', async (route) => {
    await coverage.promise
    await route.continue()
  })
  await page.goto(`${base}/?view=checkpoints`)
  await page.getByLabel('Go to block').fill('1600')
  const go = page.getByRole('button', { name: 'Go', exact: true })
  assert.equal(await go.isDisabled(), true)
  coverage.resolve()
  await go.click()
  await page.waitForURL('**height=1600**')

  // A link written by hand, without the place in the list.
  await page.goto(`${base}/?view=checkpoints&height=1600`)
  await page.locator('tr.marked').waitFor()
  assert.match(await page.locator('tr.marked').innerText(), /^1,489/)
  assert.match(page.url(), /height=1600&after=/)
})

test('a checkpoint in missing blocks is not said not to be', async ({ openAt }) => {
  const page = await openAt(base)
  await page.goto(`${base}/?view=checkpoints`)
  const goTo = async (height: string) => {
    await page.getByLabel('Go to block').fill(height)
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.waitForURL(`**height=${height}**`)
    await page.locator('tr.marked').waitFor()
    return page.locator('main .notice').allInnerTexts()
  }
  const [missing, notice] = await goTo('1600')
  assert.match(missing!, /^Blocks 1,500 to 1,700 .* If there were checkpoints in them,/)
  assert.equal(
    notice,
    'No checkpoint of block 1,600 is stored, and blocks up to it are missing. Marked is the last stored one before it, of block 1,489.',
  )
  assert.ok((await page.locator('tr.missing-rows').allInnerTexts()).includes('blocks 1,500 to 1,700 missing'))
  assert.match((await goTo('1490'))[1]!, /^Block 1,490 has no checkpoint\. Marked is the last stored one/)
  assert.match((await goTo('5000'))[1]!, /^Block 5,000 is after the last stored block, 2,975\. /)
})

test('compared markets without stored payments are not said to have none', async ({ openAt }) => {
  const page = await openAt(base)
  await page.goto(`${base}/?view=markets&compare=${SAMPLE_MARKET}&from=2024-09-17&to=2024-09-18`)
  await page.getByText('no payment is stored').waitFor()
})
