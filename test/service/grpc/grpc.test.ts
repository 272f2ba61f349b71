import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { status } from '@grpc/grpc-js'
import type { Filter } from '#core/model/filters'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { RESOURCES } from '#core/resources/resources'
import { commit, PROGRAM_VERSION } from '#service/version'
import { createRandom } from '../../fixtures/random.ts'
import { type GrpcAnswer, grpcClient } from '../../fixtures/requests/grpc.ts'
import { getPage, send } from '../../fixtures/requests/http.ts'
import { HEALTH, PROTOS, TRADING_DATA } from '../../fixtures/requests/protos.ts'
import { runsOf } from '../../fixtures/sampling.ts'
import { startNginx } from '../../fixtures/services/nginx.ts'
import { ingest, serveBoth, storeOf } from '../../fixtures/services/service.ts'
import { SOL as MARKET, NAMED_SAMPLE, SAMPLE, skip } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, describeOn } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** A recorded call to the reference. False flags are omitted from `pageInfo`. */
type Recorded = {
  id: string
  method: string
  request: { pagination?: { after?: string; before?: string } }
  responseWithoutDefaults?: Record<string, Connection>
  error?: { json: { code: number; details: { code: number }[] } }
}

type Connection = {
  edges?: { node: object; cursor: string }[]
  pageInfo?: { hasNextPage?: boolean; hasPreviousPage?: boolean }
}

const RECORDED = (
  JSON.parse(
    gunzipSync(
      readFileSync(join(import.meta.dirname, '../../recordings/grpc/perps-calm.json.gz')),
    ).toString(),
  ) as { requests: Recorded[] }
).requests

/** Faults of the reference, with Lyra's result instead: a status code or other rows. */
const FAULTS: Record<string, number | 'another page'> = {
  // Invalid cursors are refused; they are no fault of the service.
  'fp/err-notjson': status.INVALID_ARGUMENT,
  'dp/err-notjson': status.INVALID_ARGUMENT,
  'cp/err-notjson': status.INVALID_ARGUMENT,
  'lp/err-cursor-garbled': status.INVALID_ARGUMENT,
  // An invalid source.
  'dp/source-7': status.INVALID_ARGUMENT,
  // A seq that no row can have.
  'dp/err-seq-2^63': status.OK,
  // No source was requested: Lyra returns all.
  'dp/unspecified': 'another page',
  // The reference shows the SLA of another market of the party.
  'lp/party': 'another page',
  // The reference's provider cursors lead nowhere.
  'lp/walk-fwd1/001': status.OK,
  'lp/walk-back1/001': status.OK,
}

/** The connection in a message. */
const connectionOf = (message: object) => Object.values(message)[0] as Connection

test('the descriptors of gRPC match the proto files', () => {
  const described = readFileSync(join(import.meta.dirname, '../../../proto/descriptors.binpb')).toString(
    'latin1',
  )
  for (const [name, definition] of Object.entries(PROTOS)) {
    const { type } = definition as { type?: { field?: { name: string }[]; value?: { name: string }[] } }
    assert.ok(described.includes(name.split('.').at(-1)!), name)
    for (const part of [...(type?.field ?? []), ...(type?.value ?? [])]) {
      assert.ok(described.includes(part.name), `${name}.${part.name}: run npm run build:protos`)
    }
  }
})

describeOn(ANY_STORE_KIND, 'gRPC', (kind) => {
  test('answers like the recorded reference', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const call = grpcClient(t, (await serveBoth(t, store, { inThreads: true })).grpc, TRADING_DATA)
    /** Our cursors, by the reference's. */
    const cursors = new Map<string, string>()
    let faults = 0
    for (const { id, method, request, responseWithoutDefaults, error } of RECORDED) {
      const { pagination } = request
      const translated = { ...pagination }
      for (const name of ['after', 'before'] as const) {
        const theirs = pagination?.[name]
        if (theirs !== undefined) translated[name] = cursors.get(theirs) ?? theirs
      }
      const answer = await call(method.split('/')[1]!, {
        ...request,
        ...(pagination === undefined ? {} : { pagination: translated }),
      })
      const { headers } = answer
      assert.deepEqual(
        [headers['x-block-height'], headers['x-block-timestamp']],
        ['905', '1696500904000000000'],
      )
      const fault = FAULTS[id]
      if (fault !== undefined) faults++
      if (typeof fault === 'number') {
        assert.equal(answer.error?.code ?? status.OK, fault, id)
        continue
      }
      if (error !== undefined || responseWithoutDefaults === undefined) {
        const details = error?.json.details ?? []
        assert.equal(answer.error?.code, error?.json.code ?? status.INVALID_ARGUMENT, id)
        assert.equal(answer.error?.metadata.get('grpc-status-details-bin').length, details.length, id)
        continue
      }
      assert.equal(answer.error, null, id)
      const [theirs, ours] = [responseWithoutDefaults, answer.message!].map(connectionOf) as [
        Connection,
        Connection,
      ]
      for (const [index, { cursor }] of (theirs.edges ?? []).entries()) {
        cursors.set(cursor, ours.edges![index]?.cursor ?? '')
      }
      if (fault === 'another page') {
        assert.notDeepEqual(ours, theirs, id)
        continue
      }
      const plain = (list: Connection = {}) => ({
        nodes: (list.edges ?? []).map(({ node }) => withoutDefaults(withNames(node))),
        next: list.pageInfo?.hasNextPage ?? false,
        previous: list.pageInfo?.hasPreviousPage ?? false,
      })
      assert.deepEqual(plain(ours), plain(theirs), id)
    }
    assert.equal(RECORDED.length, 75)
    assert.equal(faults, Object.keys(FAULTS).length)
  })

  test('returns the same pages and errors as REST', async (t) => {
    const store = await storeOf(t, kind, NAMED_SAMPLE)
    const { base, grpc } = await serveBoth(t, store, { inThreads: true })
    const call = grpcClient(t, grpc, TRADING_DATA)
    const random = createRandom(7)
    const pick = <T>(...values: T[]): T => values[random.integer(values.length)]!
    const listed = RESOURCES.filter(({ grpcMethod }) => grpcMethod !== undefined)
    const seen = { pages: 0, errors: 0 }
    let cursor = ''
    const requests = runsOf('request')
    for (let i = 0; i < requests; i++) {
      const resource = pick(...listed)
      const marketId = pick(MARKET, MARKET, MARKET.toUpperCase(), 'abc', '', 'f'.repeat(64))
      const pagination: Record<string, string | number | boolean> = {}
      const size = pick(1, 2, 3, 7, 50, 0, -1, 5001, 5000)
      if (random.integer(3) > 0) pagination[pick('first', 'last')] = size
      if (random.integer(3) > 0) pagination.newestFirst = pick(true, false)
      if (random.integer(3) === 0) pagination[pick('after', 'before')] = pick(cursor, cursor, 'x')
      const needsParty = resource.required.list?.join() === 'partyId'
      const values: Partial<Record<Filter['type'], readonly (string | number)[]>> = {
        source: [0, 1, 2, 7],
        uint64: ['1', '5', '18446744073709551615'],
        marketId: [marketId],
        partyId: ['network', 'zz'],
        traderId: ['network', 'zz', ...Array(6).fill('b7'.repeat(32))],
      }
      const filters: Record<string, string | number> = {}
      for (const { name, type } of resource.filters) {
        if (random.integer(needsParty ? 9 : 2) > 0) filters[name] = pick(...values[type]!)
      }
      // The data node's request for payments has no dates.
      const hasDates = resource.dateRange && !needsParty
      const dateRange = random.integer(3) === 0 && hasDates ? { startTimestamp: '1696500100000000000' } : {}
      const path = resource.path.replace(':marketId', encodeURIComponent(marketId))
      const params = [
        ...Object.entries(filters),
        ...Object.entries(pagination).map(([name, value]) => [`pagination.${name}`, value]),
        ...Object.entries(dateRange).map(([name, value]) => [`dateRange.${name}`, value]),
      ].map(([name, value]): [string, string] => [String(name), String(value)])
      const [rest, answer] = [
        await send(base, `${path}?${new URLSearchParams(params)}`),
        await call(resource.grpcMethod!, {
          ...(resource.scope === null ? {} : { marketId }),
          ...filters,
          ...(Object.keys(dateRange).length > 0 ? { dateRange } : {}),
          ...(Object.keys(pagination).length > 0 ? { pagination } : {}),
        }),
      ]
      const what = `${path} ${JSON.stringify(params)}`
      assert.equal(answer.headers['x-block-height'], rest.headers['x-block-height'], what)
      if (rest.status !== 200) {
        compareErrors(answer, JSON.parse(rest.text), what)
        seen.errors++
        continue
      }
      assert.equal(answer.error, null, what)
      const page = JSON.parse(rest.text)[resource.name]
      assert.deepEqual(withDefaults(connectionOf(answer.message!)), withoutNulls(page), what)
      seen.pages++
      if (page.edges.length > 0) cursor = page.edges[random.integer(page.edges.length)].cursor
    }
    assert.ok(seen.pages > requests / 3 && seen.errors > requests / 10, JSON.stringify(seen))
  })

  test('answers as REST does about an empty store, and after it has blocks', async (t) => {
    const store = kind.create(t)
    const { base, grpc } = await serveBoth(t, store)
    const call = grpcClient(t, grpc, TRADING_DATA)
    const check = grpcClient(t, grpc, HEALTH)
    const get = async (path: string) => {
      const { status: code, text, headers } = await send(base, path)
      return { code, body: JSON.parse(text), height: headers['x-block-height'] }
    }
    const ours = { version: PROGRAM_VERSION, commitHash: commit() ?? '' }
    // Which program this is does not depend on the store.
    assert.deepEqual({ ...(await call('Ping', {})).message }, {})
    assert.deepEqual({ ...(await call('Info', {})).message }, ours)
    assert.deepEqual(await get('/api/v2/info'), { code: 200, body: ours, height: undefined })
    for (const method of ['GetVegaTime', 'ListCheckpoints']) {
      const { error, headers } = await call(method, {})
      assert.deepEqual([error?.code, headers['x-block-height']], [status.UNAVAILABLE, undefined])
    }
    assert.deepEqual((await get('/api/v2/vega/time')).code, 503)
    assert.deepEqual({ ...(await check('Check', {})).message }, { status: 2 })

    await ingest(store, SAMPLE)
    const body = { timestamp: '1696500904000000000' }
    const time = await call('GetVegaTime', {})
    assert.deepEqual([{ ...time.message }, time.headers['x-block-height']], [body, '905'])
    assert.deepEqual(await get('/api/v2/vega/time'), { code: 200, body, height: '905' })
    // The data node ignores parameters that it does not know.
    assert.deepEqual(await get('/api/v2/info?other=1'), { code: 200, body: ours, height: '905' })
    const first = await getPage(base, '/api/v2/checkpoints', 'pagination.first=2')
    const { message, headers } = await call('ListCheckpoints', { pagination: { first: 2 } })
    assert.deepEqual(connectionOf(message!).edges, first.edges)
    assert.equal(headers['x-block-height'], '905')
    for (const service of ['', TRADING_DATA])
      await until(async () => (await check('Check', { service })).message?.status === 1, service)
    assert.equal((await check('Check', { service: 'x' })).error?.code, status.NOT_FOUND)
  })

  test('shares an address with a data node behind the nginx of deploy/', async (t) => {
    const lyra = (await serveBoth(t, await storeOf(t, kind, SAMPLE))).grpc
    // Stands in for the data node: it reports that it is not serving.
    const dataNode = (await serveBoth(t, kind.create(t))).grpc
    const ports = await startNginx(t, 'grpc.conf', {
      own: ['127.0.0.1:3007'],
      servers: { '127.0.0.1:3017': lyra, '127.0.0.1:3027': dataNode },
    })
    if (ports === null) return
    const list = grpcClient(t, `127.0.0.1:${ports[0]}`, TRADING_DATA)
    const request = { marketId: MARKET, partyId: MARKET, pagination: { first: 5000 } }
    for (const method of RESOURCES.flatMap(({ grpcMethod }) => grpcMethod ?? [])) {
      const page = await list(method, request)
      assert.equal(page.error, null, method)
      assert.equal(page.headers['x-block-height'], '905', method)
    }
    const refused = await list('ListCheckpoints', { pagination: { first: 0 } })
    assert.equal(refused.error?.code, status.INVALID_ARGUMENT)
    assert.equal(refused.error?.metadata.get('grpc-status-details-bin').length, 1)
    const health = grpcClient(t, `127.0.0.1:${ports[0]}`, HEALTH)
    assert.deepEqual({ ...(await health('Check', {})).message }, { status: 2 })
  })

  test('is discoverable by reflection from Python', async (t) => {
    const python = process.env.LYRA_PYTHON
    if (python === undefined) return skip(t, 'LYRA_PYTHON names no Python with grpcio and grpcio-reflection')
    const store = await storeOf(t, kind, SAMPLE)
    const { grpc } = await serveBoth(t, store)
    const script = join(import.meta.dirname, '../../fixtures/programs/grpc_client.py')
    const { stdout } = await promisify(execFile)(python, [script, grpc, MARKET])
    assert.deepEqual(JSON.parse(stdout), {
      services: [TRADING_DATA, HEALTH],
      height: '905',
      seqs: [20, 19],
      rates: ['', '-0.0016886570296634'],
      error: [3, 'InvalidArgument error', 10003],
    })
  })
})

/** An error's code, message and detail are those of REST. */
function compareErrors(
  { error }: GrpcAnswer,
  rest: { code: number; message: string; details: { code: number; message: string; inner: string }[] },
  what: string,
): void {
  assert.equal(error?.code, rest.code, what)
  assert.equal(error?.details, rest.message, what)
  const [bytes] = error!.metadata.get('grpc-status-details-bin') as Buffer[]
  const [detail] = rest.details
  assert.equal(bytes === undefined, detail === undefined, what)
  if (detail === undefined) return
  for (const text of [rest.message, detail.message, detail.inner, 'type.googleapis.com/vega.ErrorDetail']) {
    assert.ok(bytes!.includes(Buffer.from(text)), `${what}: ${text}`)
  }
}

/** A connection with the fields that proto3 omits. */
function withDefaults(list: Connection): object {
  const { edges = [], pageInfo = {} } = list
  return {
    edges: edges.map(({ node, cursor }) => ({ node: withNames(node), cursor })),
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: '', endCursor: '', ...pageInfo },
  }
}

/** A node of plain objects, enums by their names. */
function withNames(node: object): object {
  const named = JSON.parse(JSON.stringify(node)) as Record<string, unknown>
  if (typeof named.dataPointType === 'number') named.dataPointType = SOURCES[named.dataPointType]
  return named
}

/** A node without the values that proto3 omits; writing them means the same. */
function withoutDefaults(node: object): object {
  const isDefault = (value: unknown) => value === '' || value === '0' || value === 0
  const entries = Object.entries(node).filter(([, value]) => !isDefault(value))
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      Object(value) === value && !Array.isArray(value) ? withoutDefaults(value) : value,
    ]),
  )
}

/** A page of REST without null values. */
function withoutNulls(page: { edges: { node: object; cursor: string }[]; pageInfo: object }): object {
  return {
    edges: page.edges.map(({ node, cursor }) => ({
      node: Object.fromEntries(Object.entries(node).filter(([, value]) => value !== null)),
      cursor,
    })),
    pageInfo: page.pageInfo,
  }
}
