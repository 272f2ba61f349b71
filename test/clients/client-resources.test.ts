import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLyraClient, type LyraClient, type ResourceName } from '../../client/src/index.ts'
import { CLIENT_TYPES, clientTypes } from '../../scripts/build-client.ts'
import { PYTHON_TYPES, pythonTypes } from '../../scripts/python-client.ts'
import { ROOT } from '../fixtures/documentation.ts'
import { RESOURCE_ROWS } from '../fixtures/resources/resource-rows.ts'
import { serveWith } from '../fixtures/services/port.ts'

const MARKET = 'a9'.repeat(32)

/** A server with handmade rows of every resource on one page, which it also streams. */
async function serveRows(t: TestContext): Promise<{ lyra: LyraClient; targets: string[] }> {
  const targets: string[] = []
  const url = await serveWith(t, (request, response) => {
    targets.push(request.url!)
    const path = request.url!.split('?')[0]!
    for (const { resource, selection, rows } of RESOURCE_ROWS) {
      const nodes = rows.map((row) => resource.node(row, selection))
      if (path === resource.path.replace(':marketId', MARKET)) {
        const edges = nodes.map((node, index) => `{"node":${node},"cursor":"c${index}"}`)
        const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: 'c0', endCursor: 'c9' }
        response.setHeader('x-block-height', '7')
        return response.end(
          `{"${resource.name}":{"edges":[${edges.join(',')}],"pageInfo":${JSON.stringify(pageInfo)}}}`,
        )
      }
      if (path === `/api/v2/stream/${resource.kebabName}`) {
        response.setHeader('content-type', 'text/event-stream')
        return response.write(
          nodes.map((node, index) => `id: s${index}\nevent: ${resource.name}\ndata: ${node}\n\n`).join(''),
        )
      }
    }
    return response.writeHead(404).end()
  })
  return { lyra: createLyraClient({ url, retries: 0 }), targets }
}

/** The method of a resource for a list, a page, a stream or a URL. */
function methodsOf(lyra: LyraClient, name: ResourceName) {
  const methods = lyra as unknown as Record<string, (filters: object, options?: object) => unknown>
  return {
    walk: methods[name] as (filters: object) => AsyncIterable<object>,
    page: methods[`${name}Page`] as (filters: object, options?: object) => Promise<{ rows: object[] }>,
    stream: methods[`stream${name[0]!.toUpperCase()}${name.slice(1)}`] as (
      filters: object,
      options: object,
    ) => AsyncIterable<{ row: object; cursor: string }>,
  }
}

test('The types and paths of the client match the descriptions of the resources', () => {
  assert.equal(
    readFileSync(CLIENT_TYPES, 'utf8'),
    clientTypes(),
    'client/src/resources.ts is not up to date: npm run build:client',
  )
})

test('The types and methods of the Python client match the descriptions of the resources, and its README names them', () => {
  const text = readFileSync(PYTHON_TYPES, 'utf8')
  assert.equal(
    text,
    pythonTypes(),
    'python/src/lyra_client/resources.py is not up to date: npm run build:client',
  )
  const readme = readFileSync(join(ROOT, 'python/README.md'), 'utf8')
  const methods = [...text.matchAll(/^ {4}def ([a-z]\w*)\(/gm)].map(([, name]) => name!)
  assert.ok(methods.length > 30)
  for (const name of methods.filter((name) => !name.endsWith('_page')))
    assert.ok(readme.includes(`\`${name}`), `python/README.md lacks ${name}`)
})

describe('The client', () => {
  for (const { resource, selection, rows } of RESOURCE_ROWS) {
    test(`walks, pages and follows ${resource.name}`, async (t) => {
      const { lyra, targets } = await serveRows(t)
      const { walk, page, stream } = methodsOf(lyra, resource.name as ResourceName)
      const nodes = rows.map((row) => JSON.parse(resource.node(row, selection)) as object)
      const filters = resource.scope !== null || resource.filters.length > 0 ? { marketId: MARKET } : {}
      const query = resource.scope === null && resource.filters.length > 0 ? `marketId=${MARKET}&` : ''
      const path = resource.path.replace(':marketId', MARKET)

      const walked: object[] = []
      for await (const node of walk(filters)) walked.push(node)
      assert.deepEqual(walked, nodes)
      const asked = await page(filters, { first: 5, after: 'c' })
      assert.deepEqual(
        asked.rows,
        nodes.map((node, index) => ({ node, cursor: `c${index}` })),
      )
      const stop = new AbortController()
      const followed: object[] = []
      for await (const { row, cursor } of stream(filters, { afterBlock: '7', signal: stop.signal })) {
        followed.push(row)
        assert.equal(cursor, `s${followed.length - 1}`)
        if (followed.length === nodes.length) stop.abort()
      }
      assert.deepEqual(followed, nodes)
      const ofMarket = 'marketId' in filters ? `marketId=${MARKET}&` : ''
      assert.deepEqual(targets, [
        `${path}?${query}pagination.first=1000`,
        `${path}?${query}pagination.first=5&pagination.after=c`,
        `/api/v2/stream/${resource.kebabName}?${ofMarket}afterBlock=7`,
      ])
    })
  }

  test('accepts the filters of each resource, and types the rows', async (t) => {
    const { lyra, targets } = await serveRows(t)
    const from = new Date('2023-10-05T10:01:40Z')
    const periods = await lyra.fundingPeriodsPage({ marketId: MARKET, from, to: 1696500700000000000n })
    // A column that a node omits is undefined.
    const ends: (string | undefined)[] = periods.rows.map(({ node }) => node.end)
    assert.deepEqual(ends, ['1696500903000000001', undefined])
    const { rows } = await lyra.instrumentsPage()
    const decimals: (string | null | undefined)[] = rows.map(({ node }) => node.settlementAsset?.decimals)
    assert.deepEqual(decimals, ['5', null, undefined])
    assert.deepEqual(targets, [
      `/api/v2/funding-periods/${MARKET}?dateRange.startTimestamp=1696500100000000000&dateRange.endTimestamp=1696500700000000000`,
      '/api/v2/instruments',
    ])
    assert.match(
      lyra.url('instruments', { marketId: MARKET }, { format: 'csv' }),
      /\?marketId=a9.*&format=csv$/,
    )
  })
})
