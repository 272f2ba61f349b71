import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RESOURCES } from '#core/resources/resources'
import { ApiError } from '#service/http/errors'
import { createRouter, type Route } from '#service/http/router'
import { NOT_FOUND } from '../../fixtures/requests/refusals.ts'

const MARKET = 'a9'.repeat(32)

test('paths lead to the right resource, even if one is the start of another', () => {
  const answer = async () => {}
  const find = createRouter(RESOURCES.map(({ path }): Route => ({ path, answer })))
  const nameAt = (path: string) => {
    const found = find(path)
    if (found instanceof ApiError) return null
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

test('unknown names of streams and exports are answered with those that exist, other paths with the lists', () => {
  const paths = ['/api/v2/stream/a', '/api/v2/stream/b', '/api/v2/export/c', '/api/v2/d']
  const find = createRouter(paths.map((path): Route => ({ path, answer: async () => {} })))
  for (const [path, expected] of [
    ['/api/v2/stream/x', 'Not Found: this is Lyra, whose /api/v2/stream/ has a, b'],
    ['/api/v2/stream/', 'Not Found: this is Lyra, whose /api/v2/stream/ has a, b'],
    ['/api/v2/export/a/b', 'Not Found: this is Lyra, whose /api/v2/export/ has c'],
    ['/api/v2/stream', NOT_FOUND.message],
    ['/api/v2/x', NOT_FOUND.message],
    ['/x/api/v2/stream/x', NOT_FOUND.message],
  ] as const) {
    const { status, message } = find(path) as ApiError
    assert.equal(status, 404, path)
    if (typeof expected === 'string') assert.equal(message, expected, path)
    else assert.match(message, expected as RegExp, path)
  }
})
