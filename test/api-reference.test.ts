import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { curlSample, typescriptSample } from '../web/reference/samples.ts'
import { accessibilityFaults, eventually, openBrowser, openPage, overflow } from './fixtures/browser.ts'
import { send } from './fixtures/http.ts'
import { CHECKPOINTS, MARKET, POINTS } from './fixtures/sample.ts'
import { LONG } from './fixtures/scale.ts'
import { ingestWhole, serve } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const DATA_POINTS = '/api/v2/funding-periods/data-points/{marketId}'
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

type Document = { paths: Record<string, { get: { operationId: string; responses: Record<string, object> } }> }

describe('the API reference', () => {
  test('lists every operation, tries requests, gives them as code, shows every error', async (t) => {
    const browser = await openBrowser(t)
    if (browser === null) return
    const store = STORE_KINDS[0]!.create(t)
    await ingestWhole(store, SAMPLE)
    const base = await serve(t, store)
    const { page, faults } = await openPage(browser, base, { colorScheme: 'light' })
    const document = JSON.parse((await send(base, '/openapi.json')).text) as Document
    await page.goto('/docs')
    await page.waitForSelector('.opblock')
    const paths = await page
      .locator('.opblock-summary-path')
      .evaluateAll((found) => found.map((path) => path.getAttribute('data-path')))
    assert.deepEqual(paths.sort(), Object.keys(document.paths).sort())

    const { operationId, responses } = document.paths[DATA_POINTS]!.get
    const operation = page.locator(`.opblock[id$="-${operationId}"]`)
    await operation.locator('.opblock-summary-control').click()
    await operation.getByPlaceholder('marketId').fill(MARKET)
    await operation.getByPlaceholder('pagination.first').fill('2')
    await eventually(
      () => operation.locator('.sample').innerText(),
      (sample) => sample === `curl '${base}${POINTS}?pagination.first=2'`,
    )
    await operation.getByRole('button', { name: 'TypeScript' }).click()
    assert.match(
      await operation.locator('.sample').innerText(),
      /lyra\.fundingPeriodDataPointsPage\(\{\n {2}marketId: '[0-9a-f]{64}',\n\}, \{ first: 2 \}\)/,
    )

    await operation.getByRole('button', { name: 'Execute' }).click()
    const shown = operation.locator('.live-responses-table .response-col_description .microlight').first()
    await shown.waitFor()
    const answered = JSON.parse((await send(base, `${POINTS}?pagination.first=2`)).text)
    assert.deepEqual(JSON.parse(await shown.innerText()), answered)

    const statuses = await operation
      .locator('.responses-table:not(.live-responses-table) .response')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-code')))
    assert.deepEqual(statuses.sort(), Object.keys(responses).sort())
    const malformed = operation.locator('.response[data-code="400"]')
    assert.ok((await malformed.locator('.examples-select-element option').count()) > 3)
    assert.match(await malformed.innerText(), /"code": 3/)

    await page.setViewportSize({ width: 375, height: 812 })
    assert.equal(await overflow(page), 0)
    for (const colorScheme of LONG ? (['light', 'dark'] as const) : (['dark'] as const)) {
      await page.emulateMedia({ colorScheme })
      await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
      assert.deepEqual(await accessibilityFaults(page, WCAG), [], colorScheme)
    }
    assert.deepEqual(faults, [])
  })

  test('writes requests as a shell and TypeScript take them', () => {
    const base = 'http://127.0.0.1:3008'
    const asked = { base, path: CHECKPOINTS, given: [] }
    assert.equal(curlSample(asked), `curl '${base}${CHECKPOINTS}'`)
    const quoted = { ...asked, given: [{ in: 'header', name: 'X-Request-Id', value: "it's" }] }
    assert.equal(curlSample(quoted), `curl '${base}${CHECKPOINTS}' \\\n  -H 'X-Request-Id: it'\\''s'`)
    const cases: [path: string, given: [place: string, name: string, value: string][], code: RegExp][] = [
      [CHECKPOINTS, [], /lyra\.checkpointsPage\(\{\}, \{\}\)/],
      [CHECKPOINTS, [['query', 'pagination.after', 'AagU']], /checkpointsPage\(\{\}, \{ after: 'AagU' \}\)/],
      [DATA_POINTS, [], /DataPointsPage\(\{ marketId: '\{marketId\}' \}, \{\}\)/],
      [DATA_POINTS, [['path', 'marketId', "'"]], /DataPointsPage\(\{ marketId: '\\'' \}, \{\}\)/],
      [
        DATA_POINTS,
        [
          ['path', 'marketId', 'aa'],
          ['query', 'dateRange.startTimestamp', '5'],
          ['query', 'pagination.newestFirst', 'false'],
        ],
        /DataPointsPage\(\{ marketId: 'aa', from: '5' \}, \{ newestFirst: false \}\)/,
      ],
      [
        CHECKPOINTS,
        [['query', 'format', 'csv']],
        /fetch\('http:\/\/127\.0\.0\.1:3008\/api\/v2\/checkpoints\?format=csv'\)/,
      ],
      ['/api/v2/coverage', [], /await lyra\.coverage\(\)/],
      [
        '/api/v2/stream/checkpoints',
        [['query', 'after', 'x']],
        /for await \(const \{ row \} of lyra\.streamCheckpoints\(\{\}, \{ after: 'x' \}\)\)/,
      ],
      ['/metrics', [], /fetch\(.*\/metrics'\)/],
    ]
    for (const [path, given, code] of cases) {
      const parameters = given.map(([place, name, value]) => ({ in: place, name, value }))
      assert.match(typescriptSample({ base, path, given: parameters }), code, path)
    }
  })
})
