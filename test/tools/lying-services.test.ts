import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openServiceSide } from '#tools/compare/service-side'
import { statusOfService } from '#tools/status/service-status'
import { serveWith } from '../fixtures/services/port.ts'

/** A service that is ready, and whose coverage is what `bodyOf` says for the nth request. */
function listenWithCoverage(t: TestContext, bodyOf: (asked: number) => unknown): Promise<string> {
  let asked = 0
  return serveWith(t, (request, response) => {
    if (request.url === '/ready') response.end('{"status":"ready"}')
    else if (request.url === '/metrics') response.end('lyra_live_enabled 0\n')
    else response.setHeader('x-block-height', '7').end(JSON.stringify(bodyOf(asked++)))
  })
}

const blocks = {
  ranges: [{ from: '1', to: '7' }],
  gaps: [] as unknown[],
  imported: [] as unknown[],
  lastTimestamp: '1696500904000000000',
}
const coverage = { chainId: 'test-chain', blocks, since: [], next: null as string | null, prunedBefore: null }

/** Commands and clients that read a service's answers. */
const READERS: [name: string, read: (base: string) => Promise<unknown>][] = [
  ['status', statusOfService],
  ['compare', (base) => openServiceSide(base, new AbortController().signal)],
]

for (const [name, read] of READERS) {
  describe(`lyra ${name} of a service that lies`, () => {
    test('takes an answer without lists of resources, which an older version has not', async (t) => {
      await read(await listenWithCoverage(t, () => ({ coverage })))
    })

    test('ends if the parts of a coverage do not advance', async (t) => {
      const base = await listenWithCoverage(t, () => ({ coverage: { ...coverage, next: 'x' } }))
      await assert.rejects(read(base), { name: 'ServiceError', message: /do not advance after x$/ })
    })

    test('ends after 64 MiB of parts that do not end', async (t) => {
      const ranges = Array.from({ length: 20_000 }, (_, at) => ({ from: `${2 * at}`, to: `${2 * at}` }))
      const base = await listenWithCoverage(t, (asked) => ({
        coverage: { ...coverage, blocks: { ...blocks, ranges }, next: String(asked) },
      }))
      await assert.rejects(read(base), { name: 'ServiceError', message: /more than 64 MiB$/ })
    })

    test('ends an answer after 64 MiB', async (t) => {
      const base = await serveWith(t, (_, response) => {
        const piece = Buffer.alloc(1 << 20, ' ')
        const more = () => {
          while (!response.destroyed && response.write(piece));
        }
        response.on('drain', more)
        more()
      })
      const message = /: the answer has more than 67108864 bytes$/
      await assert.rejects(read(base), { name: 'ServiceError', message })
    })

    test('follows no redirect', async (t) => {
      let isAsked = false
      const inside = await serveWith(t, (_, response) => {
        isAsked = true
        response.end('{}')
      })
      const base = await serveWith(t, (request, response) => {
        response.writeHead(302, { location: `${inside}${request.url}` }).end()
      })
      await assert.rejects(read(base), {
        name: 'ServiceError',
        message: /: responds with status 302; check that this is a Lyra service/,
      })
      assert.equal(isAsked, false)
    })

    for (const [what, body] of [
      ['null', null],
      ['a list', []],
      ['no coverage', {}],
      ['a coverage that is a number', { coverage: 5 }],
      ['no blocks', { coverage: { ...coverage, blocks: null } }],
      ['gaps that are a number', { coverage: { ...coverage, blocks: { ...blocks, gaps: 5 } } }],
      ['a range of nothing', { coverage: { ...coverage, blocks: { ...blocks, ranges: [null] } } }],
      [
        'heights that are no integers',
        { coverage: { ...coverage, blocks: { ...blocks, ranges: [{ from: 'a', to: '7' }] } } },
      ],
      ['a time that is none', { coverage: { ...coverage, blocks: { ...blocks, lastTimestamp: 'now' } } }],
      ['a next that is a number', { coverage: { ...coverage, next: 5 } }],
      ['a list of numbers', { coverage: { ...coverage, fundingPeriods: [5] } }],
      [
        'a market that is an object',
        { coverage: { ...coverage, fundingPeriods: [{ marketId: {}, count: '1' }] } },
      ],
    ] as [string, unknown][]) {
      test(`says of ${what} that it is no answer of Lyra`, async (t) => {
        const base = await listenWithCoverage(t, () => body)
        const message = `${base}/api/v2/coverage: not a response of a Lyra service of this version`
        await assert.rejects(read(base), { name: 'ServiceError', message })
      })
    }
  })
}

describe('lyra status of a service whose readiness lies', () => {
  for (const body of [
    'null',
    '5',
    '{}',
    '{"status":"ready","forward":{}}',
    '{"status":"ready","forward":{"height":{}}}',
  ]) {
    test(body, async (t) => {
      const base = await serveWith(t, (_, response) => response.end(body))
      const message = `${base}/ready: not a response of a Lyra service of this version`
      await assert.rejects(statusOfService(base), { name: 'ServiceError', message })
    })
  }
})

test('lyra status of a service that does not answer says so after 10 s, without another attempt', async (t) => {
  const { timeout } = AbortSignal
  const waits: number[] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    waits.push(ms)
    return timeout.call(AbortSignal, 20)
  })
  const base = await serveWith(t, () => {})
  await assert.rejects(statusOfService(base), {
    name: 'ServiceError',
    message: `${base}: unreachable (no answer within 10 s)`,
  })
  assert.deepEqual(waits, [10_000])
})
