import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Locator } from 'playwright-core'
import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { exportPath, streamPath } from '#service/http/paths'
import { openApiDocument } from '#service/openapi/openapi'
import { curlSample, pythonSample, typescriptSample } from '../../web/reference/samples.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  accessibilityFaults,
  eventually,
  eventuallyIs,
  openBrowser,
  openPage,
  overflow,
} from '../fixtures/explorer/browser.ts'
import { coverageOf } from '../fixtures/requests/coverage.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { inTurns } from '../fixtures/sampling.ts'
import { ended } from '../fixtures/services/program.ts'
import { skipsWithoutPython, startPython } from '../fixtures/services/python.ts'
import { serve, serveRecording } from '../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, POINTS } from '../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const DATA_POINTS = '/api/v2/funding-periods/data-points/{marketId}'
const ESTIMATES = '/api/v2/funding-estimates/{marketId}'
const PAYMENTS = '/api/v2/position-funding/{marketId}'
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

type Document = { paths: Record<string, { get: { operationId: string; responses: Record<string, object> } }> }

/** The height limit of an open operation in pixels: a few windows, not ten. */
const MAX_HEIGHT = 1_900

/** A request: parameters of a path, and headers, are in the query of its target, too. */
function requested(target: string, base: string) {
  const [path, query] = target.split('?') as [string, string?]
  const placeOf = (name: string) =>
    path.includes(`{${name}}`) ? 'path' : /^[A-Z]/.test(name) ? 'header' : 'query'
  const given = [...new URLSearchParams(query)].map(([name, value]) => ({ in: placeOf(name), name, value }))
  return { base, path, given }
}

/** Starts a service on a recording with names, and a browser on its API reference. */
async function openReference(t: TestContext, colorScheme: 'light' | 'dark' = 'light') {
  const browser = await openBrowser(t)
  if (browser === null) return null
  const base = await serveRecording('perps-calm-named')
  const opened = await openPage(browser, base, { colorScheme })
  const document = await getJson<Document>(base, '/openapi.json')
  await opened.page.goto('/docs')
  await opened.page.waitForSelector('.operation')
  return { ...opened, base, document }
}

const eventuallySays = (place: Locator, words: string) =>
  eventually(
    () => place.innerText(),
    (text) => text.includes(words),
  )

/** The paths of resources of which a service has no rows. */
async function emptyPaths(base: string): Promise<string[]> {
  const coverage: Record<string, unknown> = await coverageOf(base)
  const isEmpty = ({ name }: Resource) => {
    const part = coverage[name] as { count: string } | unknown[]
    return Array.isArray(part) ? part.length === 0 : part.count === '0'
  }
  return RESOURCES.filter(isEmpty).flatMap((resource) => [
    resource.path.replace(/:(\w+)/g, '{$1}'),
    exportPath(resource),
    streamPath(resource),
  ])
}

describe('the API reference', () => {
  test('lists every operation, tries requests, shows them as code, lists every error', async (t) => {
    const opened = await openReference(t)
    if (opened === null) return
    const { page, faults, base, document } = opened
    const paths = await page
      .locator('.operation .path')
      .evaluateAll((found) => found.map((path) => path.getAttribute('data-path')))
    assert.deepEqual(paths.sort(), Object.keys(document.paths).sort())

    const { operationId, responses } = document.paths[DATA_POINTS]!.get
    const operation = page.locator(`#${operationId}`)
    await operation.locator('summary').first().click()
    await page.waitForURL(`**/docs#${operationId}`)
    const fill = (name: string, value: string) => operation.locator(`[data-parameter="${name}"]`).fill(value)
    await fill('marketId', MARKET)
    await fill('pagination.first', '2')
    const sample = operation.locator('.sample')
    await eventuallyIs(() => sample.innerText(), `curl '${base}${POINTS}?pagination.first=2'`)
    const press = (name: string) => operation.getByRole('button', { name }).click()
    await press('TypeScript')
    const call = `lyra.fundingPeriodDataPointsPage({\n  marketId: '${MARKET}',\n}, { first: 2 })`
    assertSays(await sample.innerText(), call)
    await press('Python')
    assertSays(await sample.innerText(), "urllib.request.urlopen('...pagination.first=2'")
    await press('TypeScript')
    // A boolean is chosen from a list; if none is chosen, it is not sent.
    const order = operation.locator('[data-parameter="pagination.newestFirst"]')
    assert.deepEqual(await order.locator('option').allInnerTexts(), ['not sent', 'true', 'false'])
    await order.selectOption('false')
    await eventuallySays(sample, '{ first: 2, newestFirst: false }')
    await order.selectOption('')

    await press('Execute')
    const shown = operation.locator('.try .answer')
    await shown.waitFor()
    const answered = JSON.parse((await send(base, `${POINTS}?pagination.first=2`)).text)
    assert.deepEqual(JSON.parse(await shown.innerText()), answered)
    assertSays(await operation.locator('.try-bar').innerText(), '200')
    await operation.getByText('Response headers').click()
    assertSays(await operation.locator('.headers').innerText(), 'x-block-height')
    // A file of bytes is not shown as text.
    const file = page.locator('#exportFundingPeriodDataPoints')
    await file.locator('summary').first().click()
    await file.locator('[data-parameter="format"]').selectOption('parquet')
    await file.getByRole('button', { name: 'Execute' }).click()
    const answer = file.locator('.try .answer')
    await eventuallyIs(() => answer.innerText(), 'A Parquet file, which the code above downloads.')
    await file.locator('summary').first().click()

    // Responses are folded; opened, they show the document's description.
    const folded = operation.locator('.response')
    assert.deepEqual(
      (await folded.evaluateAll((all) => all.map((one) => one.getAttribute('data-code')))).sort(),
      Object.keys(responses).sort(),
    )
    assert.equal(await operation.locator('.response[open]').count(), 0)
    const malformed = operation.locator('.response[data-code="400"]')
    await malformed.locator('summary').click()
    await malformed.locator('select').waitFor()
    assert.ok((await malformed.locator('select option').count()) > 3)
    assertSays(await malformed.innerText(), '"code": 3')
    const success = operation.locator('.response[data-code="200"]')
    await success.locator('summary').click()
    await eventuallySays(success, 'dataPointType SOURCE_UNSPECIFIED | SOURCE_EXTERNAL')

    await page.setViewportSize({ width: 375, height: 812 })
    assert.equal(await overflow(page), 0)
    for (const colorScheme of inTurns(0, ['dark', 'light'] as const)) {
      await page.emulateMedia({ colorScheme })
      await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
      assert.deepEqual(await accessibilityFaults(page, WCAG), [], colorScheme)
    }
    assert.deepEqual(faults, [])
  })

  test('shows rows of an existing market on the first Execute, in little space', async (t) => {
    const opened = await openReference(t, 'dark')
    if (opened === null) return
    const { page, faults, base, document } = opened
    const empty = await emptyPaths(base)
    for (const [path, { get }] of Object.entries(document.paths)) {
      const operation = page.locator(`#${get.operationId}`)
      await operation.locator('summary').first().click()
      const { height } = (await operation.boundingBox())!
      assert.ok(height < MAX_HEIGHT, `${path} is ${height} px tall`)
      await operation.getByRole('button', { name: 'Execute' }).click()
      const status = operation.locator('.try-bar strong')
      await status.waitFor()
      // There is no party of which it is known that it has payments.
      const needsParty =
        /\/(?:funding-payments|party-(?:funding|statements)\/\{partyId\})$/.test(path) &&
        !/stream|export/.test(path)
      assert.equal(await status.innerText(), needsParty ? '400' : '200', path)
      if (needsParty) {
        assert.match(faults.splice(0).join(), /^console: .* status of 400 [^,]*$/)
        continue
      }
      const isStream = path.includes('/stream/')
      const hasRows = !empty.includes(path)
      if (isStream) await operation.getByRole('button', { name: 'Stop' }).click()
      else {
        await operation.locator('.try .answer').waitFor()
        const text = await eventually(
          () => operation.locator('.try .answer').innerText(),
          (found) => !hasRows || found !== '',
        )
        if (hasRows) assert.doesNotMatch(text, /"edges": \[\]|^\{\n\s*"\w+": (?:\[\]|null)/, path)
        // A list of a million rows would keep the browser busy for minutes.
        assert.ok(text.length <= 20_000, path)
      }
      assert.ok((await operation.boundingBox())!.height < MAX_HEIGHT + 700, path)
      await operation.locator('summary').first().click()
    }
    assert.deepEqual(faults, [])
  })

  test('opens the operation named in the URL, and explains failed requests', async (t) => {
    const opened = await openReference(t)
    if (opened === null) return
    const { page, document } = opened
    const { operationId } = document.paths['/api/v2/liquidity/providers']!.get
    await page.goto(`/docs#${operationId}`)
    const operation = page.locator(`#${operationId}`)
    const execute = operation.getByRole('button', { name: 'Execute' })
    await execute.waitFor()
    const market = operation.locator('[data-parameter="marketId"]')
    assert.match(await market.inputValue(), /^[0-9a-f]{64}$/)
    await market.fill('abc')
    await execute.click()
    for (const part of ['400', 'invalid market ID']) await eventuallySays(operation.locator('.try'), part)
    await page.route('**/api/**', (route) => route.abort())
    await execute.click()
    await eventuallySays(operation.locator('.try'), 'No response')
  })

  test('is available on an empty store', async (t) => {
    const browser = await openBrowser(t)
    if (browser === null) return
    const base = await serve(t, STORE_KINDS[0]!.create(t))
    const { page } = await openPage(browser, base)
    await page.goto('/docs')
    await page.locator('#listFundingPeriods summary').first().click()
    assert.equal(await page.locator('#listFundingPeriods [data-parameter="marketId"]').inputValue(), '')
  })

  test('needs no package with install scripts or telemetry', () => {
    const lock = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')
    assert.doesNotMatch(lock, /"node_modules\/.*(?:scarf|swagger-ui)/)
  })

  test('writes requests as Python that runs without a library', async (t) => {
    if (skipsWithoutPython(t)) return
    const base = await serveRecording('perps-calm')
    const cwd = temporaryFolder(t)
    const run = (target: string) => startPython(t, pythonSample(requested(target, base)), { cwd })
    const asked = `${DATA_POINTS}?marketId=${MARKET}&pagination.first=2&X-Request-Id=it's\\`
    const page = await ended(run(asked))
    const { text } = await send(base, `${POINTS}?pagination.first=2`)
    assert.deepEqual(JSON.parse(page.stdout), JSON.parse(text))
    const lines = await run('/api/v2/export/checkpoints?format=csv').outcome
    const { text: exported } = await send(base, '/api/v2/export/checkpoints?format=csv')
    assert.deepEqual(lines.stdout.split(/\r?\n/), exported.split('\r\n'))
    for (const path of ['/api/v2/export/checkpoints', CHECKPOINTS]) {
      await ended(run(`${path}?format=parquet`))
      const { body } = await send(base, `${path}?format=parquet`)
      assert.ok(readFileSync(join(cwd, 'rows.parquet')).equals(body), path)
    }
    assert.match((await run('/metrics').outcome).stdout, /^lyra_\w+ /m)
    const stream = run('/api/v2/stream/checkpoints?afterBlock=0')
    await stream.printed(/^data: \{"hash"/m)
    stream.child.kill()
    const refused = await run(DATA_POINTS).outcome
    assertSays(refused.stderr, 'HTTP Error 400')
  })

  test('writes requests as valid shell and TypeScript', () => {
    const stream = '/api/v2/stream/checkpoints'
    const shell = (target: string) => curlSample(requested(target, 'http://lyra'))
    assert.equal(shell(CHECKPOINTS), `curl 'http://lyra${CHECKPOINTS}'`)
    const quoted = `curl 'http://lyra${CHECKPOINTS}' \\\n  -H 'X-Request-Id: it'\\''s'`
    assert.equal(shell(`${CHECKPOINTS}?X-Request-Id=it's`), quoted)
    assert.equal(shell(stream), `curl -N 'http://lyra${stream}'`)
    const parquet = `${CHECKPOINTS}?format=parquet`
    assert.equal(shell(parquet), `curl -OJ 'http://lyra${parquet}'`)
    const cases: [target: string, ...code: string[]][] = [
      [CHECKPOINTS, 'lyra.checkpointsPage({}, {})'],
      [`${CHECKPOINTS}?pagination.after=AagU`, "checkpointsPage({}, { after: 'AagU' })"],
      [DATA_POINTS, "DataPointsPage({ marketId: '{marketId}' }, {})"],
      [`${DATA_POINTS}?marketId='`, String.raw`DataPointsPage({ marketId: '\'' }, {})`],
      [
        `${DATA_POINTS}?marketId=aa&dateRange.startTimestamp=5&pagination.newestFirst=false`,
        "DataPointsPage({ marketId: 'aa', from: '5' }, { newestFirst: false })",
      ],
      [`${CHECKPOINTS}?format=csv`, "fetch('http://lyra/api/v2/checkpoints?format=csv')"],
      [
        `${CHECKPOINTS}?X-Request-Id=a&If-None-Match="b"`,
        `checkpoints', { headers: { 'X-Request-Id': 'a', 'If-None-Match': '"b"' } })\nif (!response.ok && response.status !== 304)`,
      ],
      [
        '/api/v2/coverage',
        'const answer = await lyra.coverage()\nconsole.log(JSON.stringify(answer, null, 2))',
      ],
      [
        `${PAYMENTS}?marketId=aa&first=10&units=-2&after=x`,
        "await lyra.positionFunding('aa', { first: 10, units: '-2', after: 'x' })",
      ],
      [
        `${PAYMENTS}?marketId=aa&format=csv&times=iso`,
        "fetch('http://lyra/api/v2/position-funding/aa?format=csv&times=iso')",
        'response.text',
      ],
      [
        '/api/v2/export/checkpoints?format=parquet',
        "import { writeFile } from 'node:fs/promises'\n\nconst response",
        "await writeFile('rows.parquet', Buffer.from(await response.arrayBuffer()))",
      ],
      ['/api/v2/party-funding/{partyId}', "await lyra.partyFunding('{partyId}')"],
      [
        '/api/v2/party-funding/{partyId}?partyId=bb&marketId=aa&interval=1M',
        "await lyra.partyFunding('bb', { marketId: 'aa', interval: '1M' })",
      ],
      ['/api/v2/funding-rates', 'await lyra.fundingRates()'],
      [
        '/api/v2/funding-rates?interval=8h&dateRange.startTimestamp=5&pagination.first=2',
        "await lyra.fundingRates({ interval: '8h', from: '5', first: 2 })",
      ],
      ['/api/v2/funding-rates?format=csv', "fetch('http://lyra/api/v2/funding-rates?format=csv')"],
      [
        '/api/v2/auctions/{marketId}?marketId=aa&dateRange.endTimestamp=5',
        "await lyra.marketAuctions('aa', { to: '5' })",
      ],
      ['/api/v2/coverage?marketId=aa&after=x', "await lyra.coverage({ marketId: 'aa', after: 'x' })"],
      ['/api/v2/market-summaries', 'lyra.marketSummariesPage({}, {})'],
      [`${ESTIMATES}?marketId=aa`, "await lyra.fundingEstimate('aa')"],
      [ESTIMATES, "await lyra.fundingEstimate('{marketId}')"],
      [
        '/api/v2/series/funding-period-data-points/{marketId}?marketId=aa&dateRange.startTimestamp=5&buckets=100',
        "await lyra.series('aa', { from: '5', buckets: 100 })",
      ],
      [
        `${stream}?after=x`,
        "const stop = AbortSignal.timeout(60_000)\nfor await (const { row } of lyra.streamCheckpoints({}, { after: 'x', signal: stop }))",
      ],
      [`${stream}?after=x&Last-Event-ID=y`, "lyra.streamCheckpoints({}, { after: 'y', signal: stop })"],
      [`${stream}?afterBlock=1&lastEventId=z`, "lyra.streamCheckpoints({}, { after: 'z', signal: stop })"],
      ['/api/v2/liquidity/provider-history', 'lyra.liquidityProviderHistoryPage({}, {})'],
      ['/metrics', "fetch('http://lyra/metrics')"],
    ]
    for (const [target, ...code] of cases) {
      const sample = typescriptSample(requested(target, 'http://lyra'))
      for (const part of code) assertSays(sample, part)
    }
  })

  test('writes every parameter of a request into its code', () => {
    const { paths } = openApiDocument('0') as {
      paths: Record<string, { get: { parameters?: { name: string; in: string }[] } }>
    }
    for (const [path, { get }] of Object.entries(paths)) {
      const isStream = path.includes('/stream/')
      // A stream has one start: the last event's id in the header takes precedence.
      const others = isStream ? ['after', 'afterBlock', 'lastEventId'] : []
      const own = (get.parameters ?? []).filter(({ name }) => name && !others.includes(name))
      const file = own.filter(({ name }) => name === 'format' || name === 'times')
      for (const parameters of [own, own.filter((parameter) => !file.includes(parameter))]) {
        const given = parameters.map((parameter, index) => ({ ...parameter, value: `value${index}` }))
        for (const write of [curlSample, typescriptSample, pythonSample]) {
          const sample = write({ base: 'http://127.0.0.1:3008', path, given })
          for (const { name, value } of given)
            assert.ok(sample.includes(value), `${name} of ${path}:\n${sample}`)
        }
      }
    }
  })
})
