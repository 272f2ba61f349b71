import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../src/api/http/errors.ts'
import type { QueryPairs } from '../src/api/http/query-string.ts'
import { createRouter, type Route } from '../src/api/http/router.ts'
import { pageRequest, selectionOf } from '../src/api/questions/page-request.ts'
import { parameterReader, parametersOf } from '../src/api/questions/parameters.ts'
import { encodeCursor } from '../src/resources/cursor.ts'
import { keyOf, type Resource } from '../src/resources/resource.ts'
import { RESOURCES, resourceNamed } from '../src/resources/resources.ts'
import { RESOURCE_ROWS } from './fixtures/resource-rows.ts'

const MARKET = 'a9'.repeat(32)
const OTHER = 'b8'.repeat(32)

/** The request for a page: the market of the path where the resource has one there. */
function request(resource: Resource, params: QueryPairs, pathMarketId = MARKET) {
  const values = parameterReader(parametersOf(resource))(params)
  return pageRequest(resource, resource.scope === null ? null : pathMarketId, values)
}

/** The gRPC code of a refusal, and the network's own one. */
function refusal(run: () => unknown): [code: number, detail: number | undefined] {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.status, 400)
    return [error.code, error.detail?.code]
  }
  assert.fail('not refused')
}

const fundingPeriods = resourceNamed('fundingPeriods')
const instruments = resourceNamed('instruments')
const providers = resourceNamed('liquidityProviders')

describe('A request for a page', () => {
  test('of a market needs its id, and a well-formed one', () => {
    for (const resource of RESOURCES.filter(({ scope }) => scope === 'marketId')) {
      assert.deepEqual(
        refusal(() => request(resource, [], '')),
        [3, 10003],
      )
      for (const id of ['abc', 'data-points', 'network', `${MARKET}0`, ' ']) {
        assert.deepEqual(
          refusal(() => request(resource, [], id)),
          [3, 10000],
        )
      }
      const { selection } = request(resource, [['marketId', OTHER]], MARKET.toUpperCase()).query
      assert.deepEqual(selection, { marketId: MARKET }, 'the market of the path, whatever the query says')
    }
  })

  test('needs one of the filters where the resource says so', () => {
    for (const resource of RESOURCES) {
      const run = () => request(resource, [])
      if (resource.needsFilter) assert.deepEqual(refusal(run), [3, 10015])
      else assert.doesNotThrow(run)
    }
    assert.throws(() => request(providers, []), {
      detail: {
        code: 10015,
        message: 'malformed request',
        inner: 'marketId or partyId or both must be provided',
      },
    })
  })

  test('takes its filters and its range of times, and ignores those of others', () => {
    const all: QueryPairs = [
      ['source', '2'],
      ['seq', '7'],
      ['dateRange.startTimestamp', '-5'],
      ['date_range.end_timestamp', '9'],
    ]
    assert.deepEqual(request(resourceNamed('fundingPeriodDataPoints'), all).query.selection, {
      marketId: MARKET,
      source: 2n,
      seq: 7n,
      from: -5n,
      to: 9n,
    })
    assert.deepEqual(request(fundingPeriods, all).query.selection, { marketId: MARKET, from: -5n, to: 9n })
    assert.deepEqual(
      request(fundingPeriods, [
        ['seq', 'x'],
        ['source', 'y'],
        ['source', 'z'],
      ]).query.selection,
      { marketId: MARKET },
    )
    assert.deepEqual(request(instruments, all).query.selection, {})
    assert.deepEqual(request(instruments, [['partyId', 'x']]).query.selection, {})
    assert.deepEqual(request(resourceNamed('checkpoints'), all).query.selection, {})
  })

  test('of instruments may name a market, well formed', () => {
    assert.deepEqual(request(instruments, [['market_id', MARKET.toUpperCase()]]).query.selection, {
      marketId: MARKET,
    })
    for (const id of ['', 'abc', 'network', `${MARKET}0`]) {
      assert.deepEqual(
        refusal(() => request(instruments, [['marketId', id]])),
        [3, 10000],
        id,
      )
    }
  })

  test('takes a cursor of its rows, of no other resource and no market that it excludes', () => {
    for (const { resource, selection, rows } of RESOURCE_ROWS) {
      const cursor = encodeCursor(resource, selection, rows[0]!)
      const after: QueryPairs = [['pagination.after', cursor]]
      const filter: QueryPairs = resource.needsFilter ? [['marketId', MARKET]] : []
      assert.deepEqual(request(resource, [...after, ...filter]).query.cursor, keyOf(resource, rows[0]!))
      for (const other of RESOURCES.filter(({ name }) => name !== resource.name)) {
        const needed: QueryPairs = other.needsFilter ? [['marketId', MARKET]] : []
        assert.deepEqual(
          refusal(() => request(other, [...after, ...needed])),
          [3, 10028],
          `${resource.name} for ${other.name}`,
        )
      }
      if (resource.scope !== null) {
        assert.throws(() => request(resource, after, OTHER), /InvalidArgument/)
      } else if (resource.filters.includes('marketId')) {
        assert.deepEqual(
          refusal(() => request(resource, [...after, ['marketId', OTHER]])),
          [3, 10028],
        )
      }
    }
  })

  test('of a stream of one market needs the market too', () => {
    assert.deepEqual(
      refusal(() => selectionOf(fundingPeriods, '', new Map())),
      [3, 10003],
    )
    assert.deepEqual(selectionOf(instruments, null, new Map()), {})
  })
})

describe('The paths', () => {
  test('lead to the resource that is meant, also where one begins as another does', () => {
    const answer = async () => {}
    const find = createRouter(RESOURCES.map(({ path }): Route => ({ path, answer })))
    const nameAt = (path: string) => {
      const found = find(path)
      if (found === null) return null
      return [RESOURCES.find((resource) => resource.path === found.route.path)!.name, found.pathId]
    }
    const points = `/api/v2/funding-periods/data-points/${MARKET}`
    for (const [path, expected] of [
      ['/api/v2/instruments', ['instruments', null]],
      ['/api/v2/%69nstruments', ['instruments', null]],
      ['http://example.org/api/v2/instruments', ['instruments', null]],
      ['/api/v2/funding-periods/', ['fundingPeriods', '']],
      ['/api/v2/funding-periods/data-points', ['fundingPeriods', 'data-points']],
      ['/api/v2/funding-periods/data', ['fundingPeriods', 'data']],
      ['/api/v2/funding-periods/a%2Fb', ['fundingPeriods', 'a/b']],
      ['/api/v2/funding-periods/%2561', ['fundingPeriods', '%61']],
      [`/api/v2/funding-periods/${MARKET}`, ['fundingPeriods', MARKET]],
      ['/api/v2/funding-periods/data-points/', ['fundingPeriodDataPoints', '']],
      [points, ['fundingPeriodDataPoints', MARKET]],
      ['/api/v2/funding-periods', null],
      ['/api/v2/instruments/', null],
      ['/api/v2//instruments', null],
      ['/api/v2/Instruments', null],
      [`/api/v2/funding-periods/${MARKET}/`, null],
      ['*', null],
      ['', null],
    ] as const) {
      assert.deepEqual(nameAt(path), expected, path)
    }
  })
})
