import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RESOURCES } from '#core/resources/resources'
import { createLyraClient } from '../../client/src/index.ts'

const MARKET = 'a9'.repeat(32)

/** Counts requests: an invalid call must not reach the service. */
let asked = 0
const lyra = createLyraClient({
  url: 'http://127.0.0.1:9',
  retries: 0,
  fetch: () => {
    asked++
    return Promise.reject(new Error('asked'))
  },
})

const marketId = MARKET
const signal = new AbortController().signal

/** Calls that the compiler also rejects, each with the error that it throws. */
const WRONG: [error: string, call: () => unknown][] = [
  // An option among the filters.
  [
    "fundingPeriods(filters, options): 'pageSize' belongs in options, not in filters; allowed: marketId, from, to",
    // @ts-expect-error
    () => lyra.fundingPeriods({ marketId, pageSize: 10 }),
  ],
  [
    "checkpoints(filters, options): 'newestFirst' belongs in options, not in filters; allowed: none",
    // @ts-expect-error
    () => lyra.checkpoints({ newestFirst: true }),
  ],
  // A filter among the options.
  [
    "liquidityProviders(filters, options): 'partyId' belongs in filters, not in options; allowed: pageSize, newestFirst, after, signal",
    // @ts-expect-error
    () => lyra.liquidityProviders({ marketId }, { partyId: MARKET }),
  ],
  [
    "exportUrl(resource, filters, options): 'marketId' belongs in filters, not in options; allowed: format, times, numbers, after, newestFirst",
    // @ts-expect-error
    () => lyra.exportUrl('instruments', {}, { marketId }),
  ],
  // An option or a filter of another operation.
  [
    "fundingPeriodsPage(filters, options): unknown option 'pageSize'; allowed: first, after, last, before, newestFirst, signal",
    // @ts-expect-error
    () => lyra.fundingPeriodsPage({ marketId }, { pageSize: 5 }),
  ],
  [
    "streamFundingPeriodDataPoints(filters, options): unknown filter 'from'; allowed: marketId, source, seq",
    // @ts-expect-error
    () => lyra.streamFundingPeriodDataPoints({ marketId, from: 1n }),
  ],
  [
    "fundingPeriods(filters, options): unknown filter 'source'; allowed: marketId, from, to",
    // @ts-expect-error
    () => lyra.fundingPeriods({ marketId, source: 'SOURCE_EXTERNAL' }),
  ],
  [
    "health(options): unknown option 'marketId'; allowed: signal",
    // @ts-expect-error
    () => lyra.health({ marketId }),
  ],
  [
    "url(resource, filters, options): unknown option 'signal'; allowed: first, after, last, before, newestFirst, format, times, numbers",
    // @ts-expect-error
    () => lyra.url('checkpoints', {}, { signal }),
  ],
  // A misspelled name.
  [
    "marketSummaries(filters, options): unknown option 'pagesize'; allowed: pageSize, newestFirst, after, signal",
    // @ts-expect-error
    () => lyra.marketSummaries({}, { pagesize: 5 }),
  ],
  [
    "series(marketId, options): unknown option 'bucket'; allowed: from, to, buckets, interval, source, signal",
    // @ts-expect-error
    () => lyra.series(MARKET, { bucket: 5 }),
  ],
  [
    "marketAuctions(marketId, options): unknown option 'source'; allowed: from, to, signal",
    // @ts-expect-error
    () => lyra.marketAuctions(MARKET, { source: 'SOURCE_EXTERNAL' }),
  ],
  [
    "coverage(options): unknown option 'market'; allowed: after, marketId, signal",
    // @ts-expect-error
    () => lyra.coverage({ market: MARKET }),
  ],
  [
    "createLyraClient(options): unknown option 'timeout'; allowed: url, fetch, retries, longestWaitMs, timeoutMs, maxBytes",
    // @ts-expect-error
    () => createLyraClient({ url: 'http://127.0.0.1:9', timeout: 5 }),
  ],
  // An id in place of an object, an object in place of an id, and similar mistakes.
  [
    'fundingPeriods(filters, options): filters must be an object, not string; allowed: marketId, from, to',
    // @ts-expect-error
    () => lyra.fundingPeriods(MARKET),
  ],
  [
    'fundingEstimate(marketId, options): marketId must be a string, not Object',
    // @ts-expect-error
    () => lyra.fundingEstimate({ marketId }),
  ],
  [
    'streamInstruments(filters, options): options must be an object, not AbortSignal; allowed: after, afterBlock, signal',
    // @ts-expect-error
    () => lyra.streamInstruments({}, signal),
  ],
  [
    'ready(options): options must be an object, not AbortSignal; allowed: signal',
    // @ts-expect-error
    () => lyra.ready(signal),
  ],
  [
    `exportUrl(resource, filters, options): unknown resource 'markets'; allowed: ${RESOURCES.map(({ name }) => name).join(', ')}`,
    // @ts-expect-error
    () => lyra.exportUrl('markets'),
  ],
  [
    'coverage(options): 2 arguments given; allowed: 1',
    // @ts-expect-error
    () => lyra.coverage({ marketId }, { signal }),
  ],
  // Required arguments.
  [
    'fundingPeriodDataPointsPage(filters, options): filters lack marketId',
    // @ts-expect-error
    () => lyra.fundingPeriodDataPointsPage({}),
  ],
  [
    'url(resource, filters, options): filters lack marketId',
    // @ts-expect-error
    () => lyra.url('fundingPeriods', {}),
  ],
  [
    'createLyraClient(options): options lack url',
    // @ts-expect-error
    () => createLyraClient({}),
  ],
]

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    // assert.rejects does not fit: a list or stream starts only when its first row is requested.
    await call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('An invalid call of the client', () => {
  for (const [message, call] of WRONG) {
    test(`is an error: ${message}`, async () => {
      const before = asked
      const error = await errorOf(call)
      assert.ok(error instanceof TypeError, String(error))
      assert.equal(error.message, message)
      assert.equal(asked, before)
    })
  }

  test('is an error if its url is not an http or https URL', () => {
    for (const url of ['127.0.0.1:4200', 'localhost:4200', 'ftp://127.0.0.1', 'http://', '/api']) {
      assert.throws(() => createLyraClient({ url }), {
        name: 'TypeError',
        message: `createLyraClient(options): url is '${url}', not an http or https URL, such as http://127.0.0.1:3008`,
      })
    }
    for (const url of ['HTTP://127.0.0.1:9/', 'https://example.org/lyra']) createLyraClient({ url })
  })

  test('is an error even if its object is in a variable, which the compiler accepts', async () => {
    const options = { marketId, pageSize: 10 }
    assert.throws(() => lyra.fundingPeriods(options), /'pageSize' belongs in options/)
    const page = { first: 10, source: 'SOURCE_EXTERNAL' }
    await assert.rejects(lyra.fundingPeriodDataPointsPage({ marketId }, page), {
      name: 'TypeError',
      message: /'source' belongs in filters/,
    })
    const inherited = Object.create({ limit: 5 }) as { signal?: AbortSignal }
    await assert.rejects(lyra.health(inherited), { name: 'TypeError', message: /unknown option 'limit'/ })
  })

  test('rejects if it returns a promise, and throws at once if it yields rows', async () => {
    const wrong = { pageSize: 1, limit: 5 }
    assert.throws(() => lyra.checkpoints({}, wrong), TypeError)
    const promise = lyra.checkpointsPage({}, wrong as object)
    await assert.rejects(promise, TypeError)
  })

  test('does not include undefined properties, instances of a class or objects without a prototype', () => {
    class Choice {
      marketId = MARKET
    }
    const bare = Object.assign(Object.create(null) as { marketId: string }, { marketId })
    const unset = { marketId, pageSize: undefined }
    for (const filters of [new Choice(), bare, unset]) {
      assert.match(lyra.url('fundingPeriods', filters, undefined), new RegExp(`/${MARKET}$`))
    }
    assert.match(lyra.exportUrl('fundingPeriods', undefined, { format: 'csv' }), /\?format=csv$/)
  })
})
