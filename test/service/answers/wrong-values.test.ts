import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INTERVALS } from '#core/domain/intervals'
import { marketSummaries } from '#core/resources/market-summaries'
import { RESOURCES } from '#core/resources/resources'
import { exportParametersOf, fullExportParametersOf } from '#service/exports/export-query'
import { exportPath, streamPath } from '#service/http/paths'
import { restParametersOf } from '#service/questions/csv-file'
import { fundingLeadersQuestion } from '#service/questions/funding-leaders'
import { PARAMETER_TYPES } from '#service/questions/parameter-types'
import { byName, type Parameter, pathParameterOf } from '#service/questions/parameters'
import { QUESTIONS } from '#service/questions/questions'
import { streamParametersOf } from '#service/streams/stream-route-request'
import { type Params, query, statusOf } from '../../fixtures/requests/http.ts'
import { assertMalformed } from '../../fixtures/requests/refusals.ts'
import { serveFile } from '../../fixtures/services/service.ts'
import { HEIGHT, MARKET, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, describeOn } from '../../fixtures/stores/stores.ts'

/** How a request is refused: the code of its detail and how the detail begins; without one, how the message does. */
type Fault = { detail?: number; says: string }

/** How a wrong value of a parameter is refused. */
type FaultOf = (name: string, value: string) => Fault

/** A value as errors quote it. */
const shown = (value: string) => JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}...` : value)

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** What errors call a parameter, as those of the reference do. */
const fieldOf = (name: string) => `field "${snakeCase(name.split('.').at(-1)!)}": ${name}`

const unparsed =
  (allowed: string): FaultOf =>
  (name, value) => ({ says: `parsing ${fieldOf(name)} must be ${allowed}, not ${shown(value)}` })

const pagination: FaultOf = (name) => ({ detail: 10028, says: `invalid pagination: ${name} ` })

const INT32 = 2n ** 31n - 1n
const INT64 = 2n ** 63n - 1n
const UINT64 = 2n ** 64n - 1n

const NO_INTEGERS = [
  '',
  ' ',
  ' 5',
  '5 ',
  '5\0',
  '5\n',
  '\t5',
  '9'.repeat(40),
  ...'+ - --5 +-5 1.0 1. .5 1e3 0x5 0b1 1_0 5,000 five NaN Infinity null 5n ５ ٣ "5" \'5\''.split(' '),
]
const NO_IDS = [
  '',
  ' ',
  'abc',
  MARKET.slice(1),
  `${MARKET}0`,
  `0x${MARKET.slice(2)}`,
  `${MARKET} `,
  ` ${MARKET}`,
  `${MARKET.slice(1)}g`,
  `${MARKET}\n`,
  '\0',
  '😀',
  "' or 1=1 --",
  '../x',
  'Network',
  'a'.repeat(5000),
]

function noSizes(allowed: string, others: string[]): [FaultOf, (string | bigint)[]][] {
  return [
    [unparsed(allowed), [...NO_INTEGERS, INT32 + 1n, -INT32 - 2n, `-${'9'.repeat(4000)}`]],
    [
      (name, value) => ({
        detail: 10028,
        says: `invalid pagination: ${name} must be ${allowed}, not ${BigInt(value)}`,
      }),
      [...others, '-1', '5001', INT32, -INT32 - 1n],
    ],
  ]
}

function invalidTrader(_: string, id: string): Fault {
  const inner =
    id === '' ? 'partyId (or party_id) is required: 64 hex digits' : `${shown(id)} is not 64 hex digits`
  return { detail: 10000, says: `invalid party id: ${inner}` }
}

const UINT64_ALLOWED = `an integer from 0 to ${UINT64}, without sign`
const NO_UINT64 = [...NO_INTEGERS, '-1', '-0', '+1', UINT64 + 1n]

const NO_CURSORS = [' ', 'x', '!', '====', 'AA', 'A'.repeat(5000), '\0', '😀', 'e30', 'c1_x']

const NO_BOOLEANS: [FaultOf, string[]][] = [
  [
    unparsed('one of 1, t, T, true, TRUE, True, 0, f, F, false, FALSE, False'),
    ['', ' ', 'true ', ' false', 'T\0', ...'tRUE yes off 2 -1 01 00 null'.split(' ')],
  ],
]

/** The wrong values of each type of parameter, by how they are refused. */
const WRONG: Record<keyof typeof PARAMETER_TYPES, [FaultOf, (string | bigint)[]][]> = {
  pageSize: noSizes('an integer from 1 to 5000', ['0', '-0']),
  partSize: noSizes('an integer from 0 to 5000', []),
  leaders: noSizes('an integer from 1 to 1000', ['0', '1001']),
  leaderOrder: [[unparsed('one of net, received, paid'), ['', ' ', 'count', 'NET', 'net ']]],
  timestamp: [
    [
      unparsed(`an integer from ${-INT64 - 1n} to ${INT64} (Unix nanoseconds)`),
      [...NO_INTEGERS, INT64 + 1n, -INT64 - 2n, '1696500000.5'],
    ],
  ],
  uint64: [[unparsed(UINT64_ALLOWED), NO_UINT64]],
  startBlock: [[unparsed(UINT64_ALLOWED), NO_UINT64.filter((value) => value !== '')]],
  buckets: [[unparsed('an integer from 1 to 2000'), [...NO_INTEGERS, '0', '-1', '2001', INT64]]],
  seconds: [[unparsed('an integer from 1 to 60'), [...NO_INTEGERS, '0', '-1', '61', INT64]]],
  interval: [
    [
      unparsed(`one of ${INTERVALS.map(({ name }) => name).join(', ')}`),
      ['', ' ', '3s', '1S', '1h ', '60m', '0s', '-1h'],
    ],
  ],
  calendarSpan: [[unparsed('one of 1d, 1w, 1M, all'), ['', ' ', '1m', '2d', '1D', 'ALL', '1M ']]],
  rateInterval: [[unparsed('one of 8h, 1d'), ['', ' ', '1h', '8H', '24h', '1d ']]],
  units: [
    [
      unparsed('a decimal number of at most 38 digits before the point and 18 after it'),
      ['', ' ', '1e3', '+1', '.5', '1.', '1,5', '-', `1${'0'.repeat(38)}`, `0.${'1'.repeat(19)}`],
    ],
  ],
  boolean: NO_BOOLEANS,
  source: [
    [
      unparsed('one of SOURCE_UNSPECIFIED, SOURCE_EXTERNAL, SOURCE_INTERNAL, 0, 1, 2'),
      ['', ' ', '3', '-1', '+1', '00', '1.0', 'EXTERNAL', 'source_external', 'SOURCE_EXTERNAL '],
    ],
  ],
  exportFormat: [
    [unparsed('one of ndjson, csv, parquet'), ['', ' ', 'json', 'Parquet', 'CSV', 'csv ', 'xml']],
  ],
  fileFormat: [[unparsed('one of csv, json'), ['', ' ', 'ndjson', 'parquet', 'CSV']]],
  fileTimes: [[unparsed('one of iso'), ['', ' ', 'rfc', 'ISO', 'micros', '1']]],
  exportTimes: [[unparsed('one of iso, micros, local'), ['', ' ', 'rfc', 'ISO', '1']]],
  exportNumbers: [[unparsed('one of text'), ['', ' ', 'texts', 'decimal']]],
  cursor: [[pagination, ['', ...NO_CURSORS]]],
  streamId: [[pagination, NO_CURSORS]],
  marketId: [
    [
      (_, id) => ({ detail: 10000, says: `invalid market ID: ${shown(id)} is not 64 hex digits` }),
      [...NO_IDS, 'network'],
    ],
  ],
  partyId: [
    [(_, id) => ({ detail: 10000, says: `invalid party ID: ${shown(id)} is neither 64 hex digits` }), NO_IDS],
  ],
  traderId: [[invalidTrader, [...NO_IDS, 'network']]],
  partyIds: [
    [
      (_, id) => ({ detail: 10000, says: `invalid party ID: ${shown(id)} is neither 64 hex digits` }),
      [...NO_IDS, `${MARKET},${MARKET}`],
    ],
  ],
  assetId: [
    [
      (_, id) => ({ detail: 10000, says: `invalid asset ID: ${shown(id)} is neither 64 hex digits` }),
      [...NO_IDS, 'network', 'vote', 'VOTE '],
    ],
  ],
  flag: NO_BOOLEANS,
}

/** The wrong values of a parameter, by its type: some parameters give theirs another schema. */
function wrongValuesOf({ name, type }: Parameter): [FaultOf, string][] {
  const [found] = Object.entries(PARAMETER_TYPES).find(([, { parse }]) => parse === type.parse) ?? []
  assert.ok(found !== undefined, `no type has the values of ${name}`)
  const rows = WRONG[found as keyof typeof WRONG]
  return rows.flatMap(([fault, values]) => values.map((value): [FaultOf, string] => [fault, String(value)]))
}

/** Parameters that are refused together, or alone, though each has a value of its type. */
const TOGETHER: [query: string, fault: Fault][] = [
  ...['', '&pagination.first=0', '&pagination.last=3'].map((size): [string, Fault] => [
    `pagination.after=&pagination.before=x${size}`,
    { detail: 10028, says: 'invalid pagination: cannot set both an after and a before cursor' },
  ]),
  [
    'after=x&afterBlock=5',
    { detail: 10028, says: 'invalid pagination: after and afterBlock cannot be combined' },
  ],
  [
    'buckets=5&interval=1h',
    { says: 'parsing field "interval": buckets is 5 and interval is "1h"; give only one of the two' },
  ],
  [
    'format=csv&numbers=text',
    { says: 'parsing field "numbers": numbers is "text", which only format=parquet allows' },
  ],
  [
    'format=parquet&numbers=text&times=iso',
    { says: 'parsing field "times": times is "iso", which only format=csv and format=ndjson allow' },
  ],
  [
    'format=ndjson&numbers=text&times=micros',
    { says: 'parsing field "times": times is "micros", which only format=parquet allows' },
  ],
]

/** A path's answer, for one kind of valid requests. */
type Target = {
  path: string
  parameters: readonly Parameter[]
  needed?: Record<string, string>
  /** How it is refused without a market. */
  without?: Fault | null
  /** Whether it is a list of the reference, which ignores unknown names. */
  isOfReference?: boolean
  /** Parameters of pages that are refused, whatever their value. */
  refused?: readonly string[]
}

const NO_MARKET: Fault = { detail: 10003, says: 'empty or missing market ID: ' }
const ONE_FILTER = {
  needed: { marketId: MARKET },
  without: { detail: 10015, says: 'malformed request: marketId or partyId or both must be provided' },
}
const ONE_PARTY = { needed: { partyId: MARKET }, without: invalidTrader('partyId', '') }

/** What requests need that have to give one of some filters. */
function needOf(names: readonly string[] | undefined) {
  if (names === undefined) return { needed: {}, without: null }
  return names.length === 1 ? ONE_PARTY : ONE_FILTER
}

/** Who needs a market or an asset, and not both. */
const ONE_MARKET = { needed: { marketId: MARKET }, without: { says: 'give either marketId or assetId' } }

const ofPages = (...names: string[]) => names.map((name) => `pagination.${name}`)
const FILE = {
  needed: { format: 'csv' },
  refused: ['first', 'after', ...ofPages('first', 'last', 'newestFirst')],
}
const EXPORT = { refused: ofPages('first', 'last', 'before') }

const TARGETS: readonly Target[] = [
  ...QUESTIONS.flatMap((question): Target[] => {
    const { description, path } = question
    const isOfReference = 'list' in description && description.list.isOfReference
    const target = { path, parameters: restParametersOf(question), isOfReference }
    if ('isFile' in description) return [target, { ...target, ...FILE }]
    if (path === fundingLeadersQuestion.path) return [{ ...target, ...ONE_MARKET }]
    const list = 'list' in description ? description.list : description.filtersOf
    return [{ ...target, ...needOf(list?.required.list) }]
  }),
  { path: streamPath(marketSummaries), parameters: [] },
  ...RESOURCES.flatMap((resource): Target[] => {
    const { path, required } = resource
    const { needed, without } = needOf(required.list)
    const parameters = exportParametersOf(resource)
    return [
      {
        path,
        parameters,
        needed: { ...needed, format: 'csv' },
        without,
        ...EXPORT,
        isOfReference: resource.isOfReference,
      },
      { path: exportPath(resource), parameters: fullExportParametersOf(resource), ...EXPORT },
      {
        path: streamPath(resource),
        parameters: streamParametersOf(resource),
        ...needOf(required.stream),
      },
    ]
  }),
]

describeOn(ANY_STORE_KIND, 'Wrong values of parameters are refused by the table of errors', (kind) => {
  for (const target of TARGETS) {
    const { path, parameters, needed = {}, without, refused: ofPagesAlone = [] } = target
    const pathOf = (id: string) => path.replace(/:\w+/, encodeURIComponent(id))
    const refused = async (params: Params, fault: Fault, target = pathOf(MARKET)) => {
      const base = await serveFile(kind, SAMPLE)
      const asked = `${target}${query(params)}`
      const { text, headers } = await assertMalformed(base, asked, fault.detail)
      assert.equal(headers['x-block-height'], HEIGHT)
      const { message, details } = JSON.parse(text)
      const said = fault.detail === undefined ? message : `${details[0].message}: ${details[0].inner}`
      assert.ok(said.startsWith(fault.says), `${asked}: ${said}`)
    }
    /** The parameters of a request: these, and those that are needed. */
    const given = (...own: [name: string, value: string][]) => [
      ...Object.entries(needed).filter(([other]) => own.every(([name]) => name !== other)),
      ...own,
    ]
    const isRefused = (name: string) => ofPagesAlone.includes(name)

    test(`${path} with ${Object.keys(needed).join(' and ') || 'nothing'} given`, async () => {
      const base = await serveFile(kind, SAMPLE)
      assert.equal(await statusOf(base, `${pathOf(MARKET)}${query(given())}`, { method: 'HEAD' }), 200)
      const twice = (name: string) => ({
        says: `too many values for ${fieldOf(name)} is given 2 times ("?", "x"); give it once`,
      })
      for (const parameter of parameters) {
        const { name } = parameter
        for (const [faultOf, value] of wrongValuesOf(parameter)) {
          const fault = faultOf(name, value)
          // One that is refused anyway may be refused for its value first: either error names it.
          const expected = isRefused(name) && fault.detail !== undefined ? pagination(name, value) : fault
          await refused(given([name, value]), expected)
        }
        if (isRefused(name)) await refused(given([name, '1']), pagination(name, '1'))
        if (parameter.type.isList) continue
        for (const again of new Set([name, snakeCase(name)]))
          await refused(given([name, '?'], [again, 'x']), twice(name))
      }
      // Of several values that do not parse that of the first parameter by name is reported.
      const wrong = parameters
        .flatMap((parameter) => {
          const [faultOf] = wrongValuesOf(parameter)[0]!
          const fault = faultOf(parameter.name, '?')
          return fault.detail === undefined ? [{ name: parameter.name, fault }] : []
        })
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      for (const [index, { name, fault }] of wrong.entries()) {
        const all = wrong.slice(index).map((one): [string, string] => [one.name, '?'])
        for (const order of [all, all.toReversed()]) await refused(given(...order), fault)
        await refused(given(...all, [name, 'x']), twice(name))
      }
      const names = parameters.map(({ name }) => name)
      for (const [text, fault] of needed.format === undefined ? TOGETHER : []) {
        const together = [...new URLSearchParams(text)]
        if (together.every(([name]) => names.includes(name) && !isRefused(name)))
          await refused(given(...together), fault)
      }
      const allowed =
        byName(parameters)
          .map(({ name }) => name)
          .join(', ') || 'none'
      for (const name of ['offset', 'Pagination.first', '']) {
        const fault = { says: `unknown parameter "${name}"; allowed: ${allowed}` }
        const asked = `${pathOf(MARKET)}${query([...given(), [name, '1']])}`
        if (target.isOfReference) assert.equal(await statusOf(base, asked, { method: 'HEAD' }), 200, asked)
        else await refused([...given(), [name, '1']], fault)
      }
      const unfiltered = given().filter(([name]) => name === 'format')
      if (without) await refused(unfiltered, without)
      const ofPath = pathParameterOf(path)
      if (ofPath === null) return
      for (const [faultOf, id] of wrongValuesOf(ofPath)) {
        const isNone = id === '' && ofPath.name === 'marketId'
        await refused(given(), isNone ? NO_MARKET : faultOf('', id), pathOf(id))
      }
    })
  }
})
