import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getPage, type PageAnswer, type Params, query } from './fixtures/http.ts'
import { ask } from './fixtures/raw-http.ts'
import { assertRefusal, type Refusal } from './fixtures/refusals.ts'
import { CHECKPOINTS, MARKET, POINTS, PROVIDERS } from './fixtures/sample.ts'
import { serveFile } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { ANY_STORE_KIND } from './fixtures/stores.ts'

const MARKETS_POINTS = '/api/v2/funding-periods/data-points/'
const PROVIDERS_OF_MARKET = `${PROVIDERS}?marketId=${MARKET}`

/** The maximum values of the parameter types. */
const INT32 = 2n ** 31n - 1n
const INT64 = 2n ** 63n - 1n
const UINT64 = 2n ** 64n - 1n

type Integer = { name: string; path: string; good: (string | bigint)[] }

/** The integer parameters, with a path that accepts them. */
const INTEGERS: Integer[] = [
  ...['pagination.first', 'pagination.last'].map((name) => ({
    name,
    path: CHECKPOINTS,
    good: ['1', '+1', '0001', '5000', '+0005000', `${'0'.repeat(4000)}7`],
  })),
  ...['dateRange.startTimestamp', 'dateRange.endTimestamp'].map((name) => ({
    name,
    path: POINTS,
    good: ['0', '-0', '+0', '-1', '+5', '007', INT64, -INT64 - 1n, `+000${INT64}`, `-000${INT64 + 1n}`],
  })),
  {
    name: 'seq',
    path: POINTS,
    good: ['0', '1', '007', INT64, INT64 + 1n, UINT64, `000${UINT64}`],
  },
]

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True']
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False']
/** Spellings of one name: wrong values of any parameter are refused in camel and in snake case (wrong-values.test.ts). */
const SPELLINGS = [
  ...['dateRange.startTimestamp', 'date_range.start_timestamp', 'dateRange.start_timestamp'],
  ...['date_range.startTimestamp', 'dateRange%2Estart%54imestamp'],
]

/** Unknown names, which are ignored, whatever their values and number. */
const UNKNOWN = [
  'PAGINATION.first',
  'pagination',
  'pagination[first]',
  'seq ',
  '',
  '__proto__',
  'constructor',
]

const unparsed = (name: string): Refusal => ({
  status: 400,
  code: 3,
  message: new RegExp(`^parsing field "\\w+": ${name} must be .+, not .+`),
})

const invalid = (detail: number): Refusal => ({ status: 400, code: 3, detail })

for (const kind of ANY_STORE_KIND) {
  test(`Parameters on ${kind.name}`, async (t) => {
    const base = await serveFile(kind, SAMPLE)
    const target = (path: string, params: Params) => {
      const text = query(params)
      return path.includes('?') ? `${path}${text.replace('?', '&')}` : `${path}${text}`
    }
    const get = (path: string, params: Params) => ask(base, `GET ${target(path, params)}`)
    const assertPage = async (path: string, params: Params = '') => {
      const answer = await get(path, params)
      assert.equal(answer.status, 200, `${target(path, params).slice(0, 200)}: ${answer.body.slice(0, 300)}`)
      return Object.values(JSON.parse(answer.body) as Record<string, PageAnswer>)[0]!
    }

    for (const { name, path, good } of INTEGERS) {
      await t.test(`${name} is an integer of its type, with any number of zeros`, async () => {
        for (const value of good) await assertPage(path, [[name, value]])
      })
    }

    await t.test('a plus sign is a space, and a name alone has an empty value', async () => {
      for (const [name, text] of [
        ['pagination.first', '=+5'],
        ['pagination.newestFirst', ''],
      ] as const)
        assertRefusal(await ask(base, `GET ${CHECKPOINTS}?${name}${text}`), unparsed(name), text)
    })

    await t.test('integers with equal values are equivalent', async () => {
      const one = await assertPage(POINTS, 'pagination.first=2&dateRange.endTimestamp=1696500100000000000')
      for (const value of ['+1696500100000000000', '0001696500100000000000', '+01696500100000000000']) {
        const same = await assertPage(POINTS, [
          ['pagination.first', '+002'],
          ['dateRange.endTimestamp', value],
        ])
        assert.deepEqual(same, one)
      }
    })

    await t.test('pagination.newestFirst is one of twelve spellings', async () => {
      const oldest = await assertPage(CHECKPOINTS, 'pagination.newestFirst=false')
      const newest = await assertPage(CHECKPOINTS)
      assert.deepEqual(oldest.edges, newest.edges.toReversed())
      for (const value of TRUE) {
        assert.deepEqual(await assertPage(CHECKPOINTS, [['pagination.newestFirst', value]]), newest)
      }
      for (const value of FALSE) {
        assert.deepEqual(await assertPage(CHECKPOINTS, [['pagination.newestFirst', value]]), oldest)
      }
    })

    await t.test('source is a name or a number, and SOURCE_UNSPECIFIED selects all', async () => {
      const all = await assertPage(POINTS)
      for (const [value, number, type] of [
        ['SOURCE_EXTERNAL', '1', 'SOURCE_EXTERNAL'],
        ['SOURCE_INTERNAL', '2', 'SOURCE_INTERNAL'],
        ['SOURCE_UNSPECIFIED', '0', null],
      ] as const) {
        const page = await assertPage(POINTS, [['source', value]])
        assert.deepEqual(await assertPage(POINTS, [['source', number]]), page)
        assert.notEqual(page.edges.length, 0)
        if (type === null) assert.deepEqual(page, all)
        else for (const { node } of page.edges) assert.equal(node.dataPointType, type)
      }
    })

    await t.test('ids are 64 hex digits in any case, and a party may be the network', async () => {
      const page = await assertPage(PROVIDERS, [['marketId', MARKET]])
      const upper = MARKET.toUpperCase()
      assert.notEqual(page.edges.length, 0)
      assert.deepEqual(await assertPage(PROVIDERS, [['marketId', upper]]), page)
      const party = page.edges[0]!.node.partyId as string
      const ofParty = await assertPage(PROVIDERS, [['partyId', party]])
      assert.deepEqual(await assertPage(PROVIDERS, [['partyId', party.toUpperCase()]]), ofParty)
      await assertPage(PROVIDERS, 'partyId=network')
      const points = await assertPage(POINTS, 'pagination.first=3')
      assert.deepEqual(await assertPage(`${MARKETS_POINTS}${upper}`, 'pagination.first=3'), points)
    })

    await t.test('a market in the query never replaces the one in the path', async () => {
      const page = await assertPage(POINTS, 'pagination.first=3')
      const other = 'f'.repeat(64)
      for (const name of ['marketId', 'market_id']) {
        for (const value of [other, '', 'x']) {
          const params = `pagination.first=3&${name}=${value}&${name}=${value}`
          assert.deepEqual(await assertPage(POINTS, params), page)
        }
        assertRefusal(await get(`${MARKETS_POINTS}x`, [[name, MARKET]]), invalid(10000), name)
        assertRefusal(await get(MARKETS_POINTS, [[name, MARKET]]), invalid(10003), name)
      }
    })

    await t.test('names may be spelled in camel case, snake case and escapes', async () => {
      const pages = await Promise.all(
        SPELLINGS.map(async (name) => (await ask(base, `GET ${POINTS}?${name}=1696500100000000000`)).body),
      )
      for (const page of pages) assert.equal(page, pages[0])
      assert.match(pages[0]!, /"pageInfo"/)
    })

    await t.test('unknown names are ignored', async () => {
      for (const path of [CHECKPOINTS, POINTS, PROVIDERS_OF_MARKET]) {
        const page = await assertPage(path, 'pagination.first=3')
        for (const name of UNKNOWN) {
          const unknown = encodeURIComponent(name)
          const params = `${unknown}=x&pagination.first=3&${unknown}=`
          assert.deepEqual(await assertPage(path, params), page, name)
        }
      }
      assertRefusal(await get(PROVIDERS, [['MarketId', MARKET]]), invalid(10015), 'MarketId')
      // Parameters of another resource are unknown here.
      const checkpoints = await assertPage(CHECKPOINTS)
      for (const name of ['seq', 'source', 'dateRange.startTimestamp', 'marketId', 'partyId']) {
        assert.deepEqual(await assertPage(CHECKPOINTS, `${name}=x&${name}=y`), checkpoints, name)
      }
      const providers = await assertPage(PROVIDERS_OF_MARKET)
      for (const name of ['seq', 'source', 'dateRange.endTimestamp']) {
        assert.deepEqual(await assertPage(PROVIDERS_OF_MARKET, [[name, 'x']]), providers, name)
      }
      assert.deepEqual(await assertPage(POINTS, 'partyId=x'), await assertPage(POINTS))
    })

    await t.test('an ignored parameter must only be well formed and appear once', async () => {
      const cursor = (await assertPage(CHECKPOINTS, 'pagination.first=1')).pageInfo.endCursor
      const first = await assertPage(CHECKPOINTS, 'pagination.first=2')
      const last = await assertPage(CHECKPOINTS, 'pagination.last=2')
      // With `first`: `last`, whatever its range, and `before`, whatever its content.
      for (const passed of [
        ...['0', '-1', '5001', INT32].map((last) => `pagination.last=${last}`),
        ...['', 'garbled', cursor].map((before) => `pagination.before=${before}`),
      ]) {
        const page = await assertPage(CHECKPOINTS, `pagination.first=2&${passed}`)
        assert.deepEqual(page, first, passed)
      }
      // With `last` alone: `after`, whatever its content.
      for (const after of ['', 'garbled', cursor]) {
        const page = await assertPage(CHECKPOINTS, `pagination.last=2&pagination.after=${after}`)
        assert.deepEqual(page, last, after)
      }
      for (const bad of ['', 'x', '1.0', INT32 + 1n]) {
        const answer = await get(CHECKPOINTS, `pagination.first=2&pagination.last=${bad}`)
        assertRefusal(answer, unparsed('pagination.last'), String(bad))
      }
      for (const [name, other] of [
        ['pagination.last', 'pagination.first'],
        ['pagination.before', 'pagination.first'],
        ['pagination.after', 'pagination.last'],
      ] as const) {
        const answer = await get(CHECKPOINTS, `${other}=2&${name}=2&${name}=2`)
        const message = new RegExp(`^too many values for field "\\w+": ${name} `)
        assertRefusal(answer, { status: 400, code: 3, message }, name)
      }
    })

    await t.test('a cursor must be of the same resource, and of the requested market and party', async () => {
      const cursorOf = async (path: string) => (await assertPage(path)).pageInfo.startCursor
      const [checkpoint, point, provider] = [
        await cursorOf(CHECKPOINTS),
        await cursorOf(POINTS),
        await cursorOf(PROVIDERS_OF_MARKET),
      ]
      const otherMarket = '669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c'
      for (const [path, cursor, inner] of [
        [CHECKPOINTS, '', 'is empty'],
        // The reference's own cursor.
        [CHECKPOINTS, 'eyJibG9ja0hlaWdodCI6OTAwfQ==', 'is not a valid cursor'],
        [CHECKPOINTS, point, 'is a cursor of another resource'],
        [`${MARKETS_POINTS}${otherMarket}`, point, 'is a cursor of another market'],
        [`${PROVIDERS}?marketId=${otherMarket}`, provider, 'is a cursor of another market'],
        [`${PROVIDERS}?partyId=${'f'.repeat(64)}`, provider, 'is a cursor of another party'],
      ] as const) {
        for (const name of ['pagination.after', 'pagination.before']) {
          const answer = await get(path, [[name, cursor]])
          assertRefusal(answer, invalid(10028), `${path} ${name}=${cursor}`)
          const { details } = JSON.parse(answer.body) as { details: { inner: string }[] }
          assert.ok(details[0]!.inner.startsWith(`${name} ${inner}; use `), details[0]!.inner)
        }
      }
      // Any text that decodes to a key is a cursor: rows are public, and a hash may be any text.
      await assertPage(CHECKPOINTS, [['pagination.after', `${checkpoint}AA`]])
      // It is valid with other filters on the same market, and with another size and order.
      await assertPage(POINTS, `pagination.after=${point}&source=1&seq=${UINT64}`)
      const party = (await assertPage(PROVIDERS_OF_MARKET)).edges[0]!.node.partyId as string
      await assertPage(PROVIDERS, `partyId=${party}&pagination.after=${provider}`)
    })

    await t.test('the first faulty id or cursor by name is reported, wherever it appears', async () => {
      for (const [path, first, second, reported] of [
        [PROVIDERS, 'marketId=x', 'partyId=y', /"invalid market ID"/],
        [CHECKPOINTS, 'pagination.after=x', 'pagination.first=0', /pagination\.after is not a valid cursor/],
        [CHECKPOINTS, 'pagination.before=x', 'pagination.last=0', /pagination\.before is not a valid cursor/],
      ] as const) {
        assert.match((await get(path, `${first}&${second}`)).body, reported)
        assert.match((await get(path, `${second}&${first}`)).body, reported)
      }
    })

    await t.test('an empty or reversed range, and a seq without rows, give empty pages', async () => {
      for (const params of [
        'dateRange.startTimestamp=5&dateRange.endTimestamp=5',
        'dateRange.startTimestamp=6&dateRange.endTimestamp=5',
        `dateRange.startTimestamp=${INT64}&dateRange.endTimestamp=${-INT64 - 1n}`,
        `dateRange.startTimestamp=${INT64}`,
        `dateRange.endTimestamp=${-INT64 - 1n}`,
        `seq=${INT64}`,
        `seq=${INT64 + 1n}`,
        `seq=${UINT64}`,
      ]) {
        assert.deepEqual(await assertPage(POINTS, params), {
          edges: [],
          pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: '', endCursor: '' },
        })
      }
      const all = await getPage(base, POINTS)
      const whole = `dateRange.startTimestamp=${-INT64 - 1n}&dateRange.endTimestamp=${INT64}`
      assert.deepEqual(await assertPage(POINTS, whole), all)
    })
  })
}
