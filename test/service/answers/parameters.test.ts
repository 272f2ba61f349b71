import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PARAMETER_TYPES } from '#service/questions/parameter-types'
import { getPage } from '../../fixtures/requests/http.ts'
import { ask } from '../../fixtures/requests/raw-http.ts'
import { assertRefusal, type Refusal } from '../../fixtures/requests/refusals.ts'
import { serveFile } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, POINTS, PROVIDERS, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND } from '../../fixtures/stores/stores.ts'

const POINTS_OF = '/api/v2/funding-periods/data-points/'
const OF_MARKET = `${PROVIDERS}?marketId=${MARKET}`
const OTHER_MARKET = '669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c'

/** The maximum values of the parameter types. */
const INT32 = 2n ** 31n - 1n
const INT64 = 2n ** 63n - 1n
const UINT64 = 2n ** 64n - 1n

/** The texts of a value. Wrong ones, and those of pages, are in wrong-values.test.ts and contract.test.ts. */
const TEXTS: [type: keyof typeof PARAMETER_TYPES, value: bigint | boolean, texts: string[]][] = [
  ['pageSize', 5_000n, ['5000', '+5000', '0005000', `+${'0'.repeat(4_000)}5000`]],
  ['timestamp', 0n, ['0', '-0', '+0']],
  ['timestamp', INT64, [`${INT64}`, `+000${INT64}`]],
  ['timestamp', -INT64 - 1n, [`${-INT64 - 1n}`, `-000${INT64 + 1n}`]],
  ['uint64', UINT64, [`${UINT64}`, `000${UINT64}`]],
  ['boolean', true, ['1', 't', 'T', 'true', 'TRUE', 'True']],
  ['boolean', false, ['0', 'f', 'F', 'false', 'FALSE', 'False']],
  ['source', 0n, ['SOURCE_UNSPECIFIED', '0']],
  ['source', 1n, ['SOURCE_EXTERNAL', '1']],
  ['source', 2n, ['SOURCE_INTERNAL', '2']],
]

test('A value may be written in several ways', () => {
  for (const [type, value, texts] of TEXTS) {
    for (const text of texts) assert.equal(PARAMETER_TYPES[type].parse(text), value, `${type} ${text}`)
  }
})

const TIME = '1696500100000000000'

/** Requests that get the answer of the first: by what is appended to it, or by whole targets. */
const SAME: [target: string, appended: string[], others?: string[]][] = [
  // Ids in any case, and names in camel case, snake case and escapes.
  [
    OF_MARKET,
    ['&seq=x', '&source=x', '&dateRange.endTimestamp=x'],
    [`${PROVIDERS}?market_id=${MARKET.toUpperCase()}`],
  ],
  [
    `${POINTS}?dateRange.startTimestamp=${TIME}`,
    ['&source=SOURCE_UNSPECIFIED', `&dateRange.endTimestamp=${INT64}`],
    [
      'date_range.start_timestamp',
      'dateRange.start_timestamp',
      'date_range.startTimestamp',
      'dateRange%2Estart%54imestamp',
    ].map((name) => `${POINTS}?${name}=${TIME}`),
  ],
  // Unknown names are ignored, whatever their values and number; a market in the query never replaces that of the path.
  [
    `${POINTS}?pagination.first=3`,
    [
      'PAGINATION.first',
      'pagination',
      'pagination[first]',
      'seq%20',
      '',
      '__proto__',
      'constructor',
      'partyId',
      'marketId',
      'market_id',
    ].map((name) => `&${name}=x&${name}=${'f'.repeat(64)}`),
    [`${POINTS_OF}${MARKET.toUpperCase()}?pagination.first=3`],
  ],
  // With `first`: `last`, whatever its range, and `before`, whatever its content.
  [
    `${CHECKPOINTS}?pagination.first=2`,
    [
      ...['0', '-1', '5001', INT32].map((last) => `&pagination.last=${last}`),
      '&pagination.before=',
      '&pagination.before=garbled',
      '&seq=x',
      '&source=x',
      '&marketId=x',
    ],
  ],
  // With `last` alone: `after`, whatever its content.
  [`${CHECKPOINTS}?pagination.last=2`, ['&pagination.after=', '&pagination.after=garbled']],
]

const unparsed = (name: string): Refusal => ({
  status: 400,
  code: 3,
  message: new RegExp(`^parsing field "\\w+": ${name} must be .+, not .+`),
})
const twice = (name: string): Refusal => ({
  status: 400,
  code: 3,
  message: new RegExp(`^too many values for field "\\w+": ${name} `),
})
const invalid = (detail: number): Refusal => ({ status: 400, code: 3, detail })

/** Also a parameter that is ignored must be well formed, and appear once. */
const REFUSED: [target: string, expected: Refusal, inner?: string][] = [
  // A plus sign is a space, and a name alone has an empty value.
  [`${CHECKPOINTS}?pagination.first=+5`, unparsed('pagination.first')],
  [`${CHECKPOINTS}?pagination.newestFirst`, unparsed('pagination.newestFirst')],
  [`${CHECKPOINTS}?pagination.first=2&pagination.last=${INT32 + 1n}`, unparsed('pagination.last')],
  [`${CHECKPOINTS}?pagination.first=2&pagination.last=2&pagination.last=2`, twice('pagination.last')],
  [`${CHECKPOINTS}?pagination.first=2&pagination.before=2&pagination.before=2`, twice('pagination.before')],
  [`${CHECKPOINTS}?pagination.last=2&pagination.after=2&pagination.after=2`, twice('pagination.after')],
  [`${PROVIDERS}?MarketId=${MARKET}`, invalid(10015)],
  [`${POINTS_OF}x?marketId=${MARKET}`, invalid(10000)],
  [`${POINTS_OF}?market_id=${MARKET}`, invalid(10003)],
  // The first faulty id or cursor by name is reported, wherever it appears.
  ...['marketId=x&partyId=y', 'partyId=y&marketId=x'].map((ids): [string, Refusal, string] => [
    `${PROVIDERS}?${ids}`,
    invalid(10000),
    '"x" ',
  ]),
  ...['pagination.first=0&pagination.after=x', 'pagination.after=x&pagination.first=0'].map(
    (both): [string, Refusal, string] => [
      `${CHECKPOINTS}?${both}`,
      invalid(10028),
      'pagination.after is not a valid cursor; use ',
    ],
  ),
]

for (const kind of ANY_STORE_KIND) {
  test(`Parameters on ${kind.name}`, async (t) => {
    const base = await serveFile(kind, SAMPLE)
    const bodyOf = async (target: string) => {
      const { status, body } = await ask(base, `GET ${target}`)
      assert.equal(status, 200, `${target}: ${body}`)
      return body
    }

    await t.test('equivalent requests get the same answer', async () => {
      for (const [target, appended, others = []] of SAME) {
        const expected = await bodyOf(target)
        assert.match(expected, /"edges":\[\{/, target)
        for (const other of [...appended.map((more) => `${target}${more}`), ...others])
          assert.equal(await bodyOf(other), expected, other)
      }
    })

    await t.test('others are refused', async () => {
      for (const [target, expected, inner = ''] of REFUSED) {
        const answer = await ask(base, `GET ${target}`)
        assertRefusal(answer, expected, target)
        assert.ok((JSON.parse(answer.body).details[0]?.inner ?? '').startsWith(inner), answer.body)
      }
    })

    await t.test('a cursor must be of the same resource, and of the requested market and party', async () => {
      const pageOf = (target: string) => getPage(base, target)
      const [checkpoint, point, provider] = await Promise.all([CHECKPOINTS, POINTS, OF_MARKET].map(pageOf))
      const ofPoint = point!.pageInfo.startCursor
      const ofProvider = provider!.pageInfo.startCursor
      for (const [target, cursor, inner] of [
        // The reference's own cursor.
        [`${CHECKPOINTS}?`, 'eyJibG9ja0hlaWdodCI6OTAwfQ==', 'is not a valid cursor'],
        [`${CHECKPOINTS}?`, ofPoint, 'is a cursor of another resource'],
        [`${POINTS_OF}${OTHER_MARKET}?`, ofPoint, 'is a cursor of another market'],
        [`${PROVIDERS}?marketId=${OTHER_MARKET}`, ofProvider, 'is a cursor of another market'],
        [`${PROVIDERS}?partyId=${'f'.repeat(64)}`, ofProvider, 'is a cursor of another party'],
      ] as const) {
        for (const name of ['pagination.after', 'pagination.before']) {
          const answer = await ask(base, `GET ${target}&${name}=${cursor}`)
          assertRefusal(answer, invalid(10028), `${target} ${name}=${cursor}`)
          const { details } = JSON.parse(answer.body) as { details: { inner: string }[] }
          assert.ok(details[0]!.inner.startsWith(`${name} ${inner}; use `), details[0]!.inner)
        }
      }
      // Any text that decodes to a key is a cursor: rows are public, and a hash may be any text.
      await bodyOf(`${CHECKPOINTS}?pagination.after=${checkpoint!.pageInfo.startCursor}AA`)
      // It is valid with other filters on the same market, and with another size and order.
      await bodyOf(`${POINTS}?pagination.after=${ofPoint}&source=1&seq=${UINT64}`)
      await bodyOf(`${PROVIDERS}?partyId=${provider!.edges[0]!.node.partyId}&pagination.after=${ofProvider}`)
    })
  })
}
