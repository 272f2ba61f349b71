import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const SRC = join(import.meta.dirname, '../../src')
const WEB = join(import.meta.dirname, '../../web')

/** The layers of the program and their folders, from the lowest up: each imports only lower ones. Files next to folders serve all. */
const LAYERS: Record<string, readonly string[]> = {
  core: [
    'domain',
    'concurrency',
    'events',
    'records',
    'log',
    'model',
    'resources',
    'funding',
    'blocks',
    'store',
    'ingest',
  ],
  service: [
    'live',
    'health',
    'formats',
    'protos',
    'http',
    'questions',
    'answers',
    'streams',
    'exports',
    'openapi',
    'grpc',
    'serve',
  ],
  tools: ['generate', 'import', 'verify', 'status', 'compare', 'check', 'cli'],
}

/** `core`, `core/domain`, ..., `service`, ... */
const ROOMS = Object.entries(LAYERS).flatMap(([layer, rooms]) => [
  layer,
  ...rooms.map((room) => `${layer}/${room}`),
])

/**
 * The folders and files of the explorer, from the lowest up: each imports only those before it, and folders import files of their own.
 * After `charts` each folder is a view, or what a view contains.
 */
const EXPLORER: readonly string[] = [
  'src/figures',
  'src/series',
  'src/periods',
  'src/payments',
  'src/service',
  'src/saved',
  'src/location.ts',
  'src/theme.ts',
  'src/parts',
  'src/range',
  'src/charts',
  'src/watches',
  'src/providers',
  'src/funding',
  'src/markets',
  'src/mine',
  'src/party',
  'src/checkpoints',
  'src/node',
  'src/first-requests.ts',
  'src/shell',
  'src/app.tsx',
  'src/main.tsx',
  'reference',
]

/** The files that each file imports, by path within a folder of the checkout. */
type Imports = ReadonlyMap<string, readonly string[]>

/** What the files of a folder import, for values or types. */
function importsIn(root: string, folders: readonly string[]): Imports {
  const names = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  return new Map(
    names
      .filter((name) => /\.tsx?$/.test(name))
      .map((name): [string, string[]] => {
        const text = readFileSync(join(root, name), 'utf8')
        const found = text.matchAll(
          /(?:\bfrom\s+|\bimport\s*\(?\s*)'(\.[^']+|#(?:core|service|tools)\/[^']+)'/g,
        )
        return [name, [...found].map(([, to]) => pathOf(name, to!))]
      }),
  )
}

/** The file that an import names, which may do so by its layer: `#core/domain/time`. */
function pathOf(name: string, to: string): string {
  return to.startsWith('#') ? `${to.slice(1)}.ts` : normalize(join(dirname(name), to))
}

const IMPORTS = importsIn(SRC, ['.'])
const WEB_IMPORTS = importsIn(WEB, ['src', 'reference'])

/** An import cycle through a file; null if there is none. */
function cycleFrom(imports: Imports, start: string): string[] | null {
  const seen = new Set<string>()
  const follow = (name: string, way: string[]): string[] | null => {
    for (const next of imports.get(name) ?? []) {
      if (next === start) return [...way, name, next]
      if (seen.has(next)) continue
      seen.add(next)
      const found = follow(next, [...way, name])
      if (found !== null) return found
    }
    return null
  }
  return follow(start, [])
}

test('No file imports itself through others, neither its values nor its types', () => {
  assert.ok(IMPORTS.size > 300 && WEB_IMPORTS.size > 100)
  for (const imports of [IMPORTS, WEB_IMPORTS]) {
    for (const name of imports.keys()) {
      const cycle = cycleFrom(imports, name)
      assert.ok(cycle === null, cycle?.join(' > ') ?? '')
    }
  }
})

test('Imports go from one folder of the program to a lower one', () => {
  const roomOf = (name: string) => name.split('/').slice(0, -1).slice(0, 2).join('/')
  const upward: string[] = []
  for (const [name, imports] of IMPORTS) {
    if (name === 'main.ts') continue
    const from = roomOf(name)
    assert.ok(ROOMS.includes(from), `this test does not list the folder src/${from}`)
    for (const other of imports) {
      assert.ok(IMPORTS.has(other) || other.startsWith('..'), `${name} imports ${other}, which is not there`)
      const to = roomOf(other)
      if (ROOMS.indexOf(to) > ROOMS.indexOf(from)) upward.push(`${name} imports ${other}`)
    }
  }
  assert.deepEqual(upward, [])
})

test('Imports go from one folder of the explorer to a lower one, and to nothing else but the client and core/domain', () => {
  const placeOf = (name: string) =>
    name
      .split('/')
      .slice(0, name.startsWith('src/') ? 2 : 1)
      .join('/')
  const wrong: string[] = []
  for (const [name, imports] of WEB_IMPORTS) {
    const from = EXPLORER.indexOf(placeOf(name))
    assert.ok(from >= 0, `this test does not list web/${placeOf(name)}`)
    for (const other of imports.filter((to) => !to.endsWith('.css'))) {
      const to = EXPLORER.indexOf(placeOf(other))
      const isAllowed = to < 0 ? /^\.\.\/(?:client\/src|src\/core\/domain)\//.test(other) : to <= from
      if (!isAllowed) wrong.push(`${name} imports ${other}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('The rooms of a folder import each other one way, at every depth', () => {
  for (const imports of [IMPORTS, WEB_IMPORTS]) {
    const folders = new Set([...imports.keys()].flatMap(foldersOf))
    assert.deepEqual(
      [...folders].filter((folder) => hasCircle(imports, folder)),
      [],
    )
  }
})

/** Whether the files and folders in a folder import each other in a circle. */
function hasCircle(imports: Imports, folder: string): boolean {
  const entryOf = (name: string) =>
    name.startsWith(`${folder}/`) ? name.slice(folder.length + 1).split('/')[0]! : null
  const links = new Map<string, Set<string>>()
  for (const [name, imported] of imports) {
    const from = entryOf(name)
    if (from === null) continue
    const others = imported.map(entryOf).filter((to) => to !== null && to !== from)
    links.set(from, new Set([...(links.get(from) ?? []), ...(others as string[])]))
  }
  return [...links.keys()].some((entry) => reaches(links, entry, entry))
}

/** `core/store`, `core`, for a file in the former. */
function foldersOf(name: string): string[] {
  const parts = name.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

function reaches(links: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>()
  const left = [...(links.get(from) ?? [])]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next === to) return true
    if (seen.has(next)) continue
    seen.add(next)
    left.push(...(links.get(next) ?? []))
  }
  return false
}

test('What another layer has is imported by its name', () => {
  for (const [name] of IMPORTS) {
    if (name === 'main.ts') continue
    const [layer] = name.split('/')
    for (const [, to] of readFileSync(join(SRC, name), 'utf8').matchAll(/'(\.\.?\/[^']+|#[^']+)'/g)) {
      const other = pathOf(name, to!).split('/')[0]!
      if (other in LAYERS) assert.equal(to!.startsWith('#'), other !== layer, `${name} imports ${to}`)
    }
  }
})

/** What tools take from core and service, apart from core/domain: with each entry a change of these may break a tool. */
const TAKEN_BY_TOOLS: Record<string, string> = {
  'core/blocks/block-assembler': 'BlockAssembler',
  'core/events/bus-event': 'EVENT_KIND createEnvelope readEnvelope',
  'core/events/byte-writer': 'ByteWriter encoded',
  'core/events/event': 'isMarketEvent',
  'core/events/left-out': 'isStorableNumber',
  'core/events/market-enums': 'MARKET_STATES TRADING_MODES',
  'core/events/protocol-upgrade': 'readyHeightIn',
  'core/events/wire-reader': 'LENGTH_DELIMITED WireReader bytesOf',
  'core/funding/auctions': 'enterAuction forgetClosedAuctions leaveAuction noAuctions timeOutsideAuctions',
  'core/funding/estimate': 'estimateFromTwaps',
  'core/funding/market-verifier': 'MarketVerifier',
  'core/funding/payment': 'fundingPayment fundingTerms',
  'core/funding/plain-formula': 'plainMean',
  'core/funding/point-list': 'carriedOver',
  'core/funding/running-sum': 'RunningSum',
  'core/funding/whole-second': 'wholeSecond',
  'core/ingest/batch-writer': 'BatchWriter',
  'core/ingest/ingest-files': 'ingestFiles leftOutLogger missingBelow',
  'core/ingest/report': 'reportOfCoverage',
  'core/log/read/folder/folder-source': 'FolderSource',
  'core/log/read/followed-log': 'FollowedLog',
  'core/log/read/url/log-url': 'isLogUrl',
  'core/log/files/log-disk': 'NODE_DISK',
  'core/log/files/reader-files': 'readReaders',
  'core/log/files/receiver-file': 'describeUpgradeWait isSilent',
  'core/records/event-paths': 'explainPathError',
  'core/records/read-records': 'describeCutOff readEventFiles',
  'core/records/record-framer': 'RECORD_HEADER_BYTES',
  'core/resources/projections': 'faultOf projectEvent',
  'core/model/field': 'columnOf isObject namesOf',
  'core/resources/funding-payments/projection': 'paymentRowsOf',
  'core/resources/funding-payments/payment-list': 'PaymentList',
  'core/resources/funding-period-data-points/description': 'SOURCES SOURCE_NUMBERS',
  'core/resources/funding-period-data-points/table': 'BLOCKS_OF_SPAN',
  'core/resources/funding-periods/projection': 'putFundingPeriod',
  'core/resources/instruments/decode': 'noFunding scheduleOf slaOf',
  'core/resources/stored': 'STORED',
  'core/resources/market-data/figures': 'storableFigures',
  'core/resources/market-data/list-elements': 'keepElement noFeeShare noSla',
  'core/resources/market-data/row': 'putMarketData',
  'core/resources/paid-liquidity-fees-stats/decode': 'keepPaidFee',
  'core/resources/party-amounts': 'keepPartyAmount',
  'core/model/resource': 'compareResourceKeys keyOf',
  'core/resources/checkpoints/description': 'checkpoints',
  'core/resources/cursor': 'decodeCursor',
  'core/resources/resources': 'RESOURCES',
  'core/store/charts/range-buckets': 'readRangeBuckets',
  'core/store/postgres/address': 'isPostgresAddress withoutPassword',
  'core/store/postgres/errors': 'explainPostgresError',
  'core/store/read-store': 'readStore',
  'core/store/queries/unseen/unseen-rows': 'readPosition',
  'core/store/queries/auction-intervals': 'readIntervals',
  'core/store/queries/coverage': 'readCoverage',
  'core/store/queries/payments/daily-sums': 'readDaysOf readPaymentSpans readSumRows',
  'core/store/queries/payments/summed-days': 'readStoredDays',
  'core/store/queries/pruned': 'readPrunedBefore',
  'core/store/queries/contents/store-contents': 'readStoreContents',
  'core/store/queries/contents/long-texts': 'readLongTexts',
  'core/store/queries/series/built-series': 'readBuiltSeries',
  'core/store/schema-version': 'refuseOldSchema',
  'core/store/sqlite/tables': 'openTemporaryStore',
  'core/store/statements': 'FIND_MARKET',
  'core/store/errors': 'StoreError',
  'core/store/schema/ranges': 'rowsUnder',
  'core/store/schema/tables': 'TABLES hasPositions tableOf',
  'core/store/walk-table': 'allRows namedRow positionOfRow walkTable',
  'core/concurrency/with-open': 'withOpen',
  'service/questions/coverage-body': 'COVERAGE_PATH coverageBody',
  'service/formats/export-rows': 'exportRows',
  'service/live/forward/dial-pair': 'ConnectionError dialPair',
  'service/live/pair-protocol': 'messageOf',
}

test('Tools import only the listed parts of other layers', () => {
  const taken = new Map<string, Set<string>>()
  for (const name of IMPORTS.keys()) {
    if (!name.startsWith('tools/') || name.startsWith('tools/cli/')) continue
    const text = readFileSync(join(SRC, name), 'utf8')
    for (const [, names, from] of text.matchAll(/import \{([^}]*)\} from '#((?:core|service)\/[^']+)'/g)) {
      if (from!.startsWith('core/domain/')) continue
      const values = names!
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '' && !one.startsWith('type '))
      taken.set(from!, new Set([...(taken.get(from!) ?? []), ...values]))
    }
  }
  const found = [...taken].filter(([, values]) => values.size > 0)
  const listed = found.map(([from, values]) => [from, [...values].sort().join(' ')])
  assert.deepEqual(Object.fromEntries(listed), TAKEN_BY_TOOLS)
})
