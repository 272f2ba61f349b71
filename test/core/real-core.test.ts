import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { joinRecords, readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { createRandom } from '../fixtures/random.ts'
import { send } from '../fixtures/requests/http.ts'
import { eventsIn } from '../fixtures/services/core.ts'
import { startWithCore, stop, untilHeight } from '../fixtures/services/live.ts'
import { startReceiver } from '../fixtures/services/receiver.ts'
import { FILE, ingest, serve } from '../fixtures/services/service.ts'
import { recordingPath, skipped } from '../fixtures/shared.ts'
import { assertSound, checkWithFiles } from '../fixtures/stores/check.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import { describeOn, STORE_KINDS, type StoreKind, temporaryFolder } from '../fixtures/stores/stores.ts'
import { verifyFile, verifyStored } from '../fixtures/stores/verify.ts'
import { until } from '../fixtures/until.ts'

/** The event file of a real core: 380 blocks with every kind of event, in 85 of which ids jump. */
const path = recordingPath('nullchain.evts.gz')
const LAST_BLOCK = 380

/** A store of the whole file, made once for each kind. */
const wholeStores = new Map<string, string>()

async function wholeStore(kind: StoreKind): Promise<string> {
  const known = wholeStores.get(kind.name)
  if (known !== undefined) return known
  const store = kind.create(FILE)
  await ingest(store, path!)
  wholeStores.set(kind.name, store)
  return store
}

type Page = { edges: { node: Record<string, unknown> }[] }

async function nodesOf(base: string, target: string): Promise<Record<string, unknown>[]> {
  const nodes: Record<string, unknown>[] = []
  for (let after = ''; ; ) {
    const { text, status } = await send(
      base,
      `${target}${target.includes('?') ? '&' : '?'}pagination.first=100${after}`,
    )
    assert.equal(status, 200, text)
    const [page] = Object.values(JSON.parse(text)) as (Page & {
      pageInfo: { hasNextPage: boolean; endCursor: string }
    })[]
    nodes.push(...page!.edges.map(({ node }) => node))
    if (!page!.pageInfo.hasNextPage) return nodes
    after = `&pagination.after=${page!.pageInfo.endCursor}`
  }
}

/** Fields of a message, read by another decoder than Lyra's: by number, each value as text. */
function fieldsOf(bytes: Uint8Array): [field: number, value: Uint8Array | string][] {
  const reader = new BinaryReader(bytes)
  const fields: [number, Uint8Array | string][] = []
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (wire === 2) fields.push([field, reader.bytes()])
    else if (wire === 0) fields.push([field, String(reader.int64())])
    else reader.skip(wire)
  }
  return fields
}

const text = (fields: ReturnType<typeof fieldsOf>, number: number): string => {
  const value = fields.findLast(([field]) => field === number)?.[1] ?? ''
  return typeof value === 'string' ? value : Buffer.from(value).toString()
}

/** What each party was paid on each market in a block: the payments, and the losses of funding payments that follow. */
function paidIn(bytes: Buffer, height: number): Map<string, { amount: bigint; losses: bigint[] }> {
  const paid = new Map<string, { amount: bigint; losses: bigint[] }>()
  for (const record of recordsOf(bytes).filter((record) => record.height === height)) {
    const body = fieldsOf(record.bytes.subarray(12)).find(([field]) => field === record.kind)?.[1]
    if (record.kind !== 178 && record.kind !== 113) continue
    const fields = fieldsOf(body as Uint8Array)
    if (record.kind === 178) {
      for (const [field, value] of fields) {
        if (field !== 3) continue
        const payment = fieldsOf(value as Uint8Array)
        paid.set(`${text(fields, 1)} ${text(payment, 1)}`, { amount: BigInt(text(payment, 2)), losses: [] })
      }
    } else if (text(fields, 4) === '2')
      paid.get(`${text(fields, 1)} ${text(fields, 2)}`)!.losses.push(BigInt(text(fields, 3)))
  }
  return paid
}

describeOn(path === null ? [] : STORE_KINDS, 'the stream of a real core', (kind) => {
  test('is stored whole from its file, and every list has the rows that were counted in it', async (t) => {
    const base = await serve(t, await wholeStore(kind))
    const instruments = await nodesOf(base, '/api/v2/instruments')
    assert.equal(instruments.length, 4)
    const markets = instruments.map(({ marketId }) => marketId as string)
    const overMarkets = async (target: (market: string) => string) =>
      (await Promise.all(markets.map((market) => nodesOf(base, target(market))))).flat().length
    const found = {
      checkpoints: (await nodesOf(base, '/api/v2/checkpoints')).length,
      points: await overMarkets((market) => `/api/v2/funding-periods/data-points/${market}`),
      periods: await overMarkets((market) => `/api/v2/funding-periods/${market}`),
      providers: 0,
      history: await overMarkets((market) => `/api/v2/liquidity/provider-history?marketId=${market}`),
    }
    for (const market of markets) {
      const { text } = await send(base, `/api/v2/liquidity/providers?marketId=${market}`)
      found.providers += JSON.parse(text).liquidityProviders.edges.length
    }
    assert.deepEqual(found, {
      checkpoints: 6,
      points: 263,
      periods: 10,
      providers: 6,
      // 51 of epochs that ended, and two of the last fees of a market that settled in block 317.
      history: 53,
    })
    const { text } = await send(base, '/api/v2/coverage')
    const { blocks, fundingPayments } = JSON.parse(text).coverage
    const payments = fundingPayments.map(({ count }: { count: string }) => Number(count))
    assert.deepEqual(payments, [81, 93])
    assert.deepEqual([blocks.ranges, blocks.gaps], [[{ from: '1', to: `${LAST_BLOCK}` }], []])
  })

  test('has the losses of block 204 as they follow from its events, read by another decoder', async (t) => {
    const base = await serve(t, await wholeStore(kind))
    const paid = paidIn(readRecording(path!), 204)
    const changed = [...paid].filter(([, { losses }]) => losses.length > 0)
    assert.deepEqual([paid.size, changed.length], [8 + 36, 17])
    for (const [key, { amount, losses }] of paid) {
      const [market, party] = key.split(' ')
      const given = losses.filter((loss) => loss > 0n).reduce((sum, loss) => sum + loss, 0n)
      const lost = losses.filter((loss) => loss < 0n).reduce((sum, loss) => sum + loss, 0n)
      const nodes = await nodesOf(base, `/api/v2/funding-payments?partyId=${party}&marketId=${market}`)
      assert.ok(
        nodes.some((node) => node.amount === `${amount + given}` && node.lossAmount === `${lost}`),
        `${party}: ${amount}, ${losses}, ${JSON.stringify(nodes)}`,
      )
    }
    // Nobody paid what somebody else did not get, but for rounding.
    const sum = [...paid.values()].reduce(
      (total, { amount, losses }) => losses.reduce((each, loss) => each + loss, total + amount),
      0n,
    )
    assert.ok(sum >= -8n && sum <= 8n, `${sum}`)
  })

  test('agrees with the core in every TWAP, payment and estimate, and with its own file', async () => {
    const store = await wholeStore(kind)
    const agree = (count: number) => ({ agree: count, differ: 0, unknown: 0 })
    const { dataPoints, closingTwaps, openingTwaps, funding } = await verifyFile(path!)
    const { paidPeriods: payments, estimates } = funding
    assert.deepEqual(
      { dataPoints, closingTwaps, openingTwaps, payments, estimates },
      {
        dataPoints: agree(263),
        closingTwaps: agree(16),
        openingTwaps: agree(16),
        payments: agree(8),
        estimates: agree(656),
      },
    )
    const stored = await verifyStored(store)
    const { paidPeriods, partyPayments } = stored.funding
    assert.deepEqual([stored.dataPoints.differ, paidPeriods.differ, partyPayments.differ], [0, 0, 0])
    await assertSound(store)
    const { told, compared } = await checkWithFiles(store, path!)
    assert.deepEqual(told, [])
    assert.equal(compared!.heights.length, 1)
  })

  test('is the same store from pieces of its file, in one call or in several, in any order', async (t) => {
    const expected = await wholeStore(kind)
    const records = recordsOf(readRecording(path!))
    const folder = temporaryFolder(t)
    const write = (name: string, part: typeof records) => {
      writeFileSync(join(folder, name), joinRecords(part))
      return join(folder, name)
    }
    const random = createRandom(7)
    // Cut anywhere, within blocks too.
    const cuts = Array.from({ length: 6 }, () => random.integer(records.length)).sort((a, b) => a - b)
    const bounds = [0, ...cuts, records.length]
    const pieces = bounds
      .slice(1)
      .map((to, index) => write(`piece-${9 - index}.evts`, records.slice(bounds[index], to)))
    const inOne = kind.create(t)
    await ingest(inOne, pieces)
    await assertEqualStores(inOne, expected)
    // Between blocks, each in a call of its own.
    const inSeveral = kind.create(t)
    for (const [from, to] of [
      [0, 120],
      [121, 204],
      [205, LAST_BLOCK],
    ] as const) {
      const part = records.filter(({ height }) => height >= from && height <= to)
      await ingest(inSeveral, write(`blocks-${from}.evts`, part))
    }
    await assertEqualStores(inSeveral, expected)
  })

  test('is the same store from a live connection, and reaches a receiver as the core sent it', async (t) => {
    const expected = await wholeStore(kind)
    const events = eventsIn(readRecording(path!))
    const receiver = await startReceiver(t)
    const store = kind.create(t)
    const { service, core } = await startWithCore(t, store, undefined, [
      '--forward',
      `127.0.0.1:${receiver.port}`,
    ])
    await core.send(events)
    await untilHeight(service, LAST_BLOCK)
    const last = events.at(-1)!
    const received = () => receiver.connections.at(-1)?.messages ?? []
    await until(() => received().at(-1)?.equals(last) === true, 'the last event')
    assert.equal(receiver.connections.length, 1)
    const digest = (messages: readonly Buffer[]) =>
      createHash('sha256').update(Buffer.concat(messages)).digest('hex')
    assert.deepEqual([received().length, digest(received())], [events.length, digest(events)])
    await core.close()
    await stop(service)
    await assertEqualStores(store, expected)
  })
})

if (path === null)
  test('the stream of a real core', { skip: skipped('nullchain.evts.gz is not there') }, () => {})

test('kinds of a real core that Lyra does not know are passed over', { skip: path === null }, () => {
  const envelope = createEnvelope()
  const kinds = new Set<number>()
  for (const event of eventsIn(readRecording(path!))) {
    readEnvelope(event, 0, event.length, envelope)
    kinds.add(envelope.kind)
  }
  assert.equal(kinds.size, 56)
  assert.ok(kinds.has(EVENT_KIND.cancelledOrders) && kinds.has(EVENT_KIND.expiredOrders))
})
