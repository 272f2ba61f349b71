import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { get } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCoverage } from '#core/store/queries/coverage'
import { assertSays } from '../fixtures/assert-says.ts'
import { content, markedBlocks } from '../fixtures/events/event-stream.ts'
import { follow } from '../fixtures/logs/follow-logs.ts'
import { answererOf, publish } from '../fixtures/logs/published-log.ts'
import { writeBlocks, writeMade, writeReceiver } from '../fixtures/logs/written-log.ts'
import { createRandom } from '../fixtures/random.ts'
import { scaled } from '../fixtures/sampling.ts'
import { dial } from '../fixtures/services/core.ts'
import { startFollowing, startReceive } from '../fixtures/services/follow-programs.ts'
import { blocksOf, kill, stop, untilHeight, untilNotReady, untilReady } from '../fixtures/services/live.ts'
import { startNginx } from '../fixtures/services/nginx.ts'
import { freePort, openServer } from '../fixtures/services/port.ts'
import { end, runLyra } from '../fixtures/services/program.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { startCore } from '../fixtures/services/steady-core.ts'
import { SAMPLE, skip } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  readFrom,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const CHAIN = 'core-scenarios'
const blocks = await blocksOf(SAMPLE)

/** The folder of a log that a web server may read. */
function publicLog(t: TestContext): string {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  return join(folder, 'event-log')
}

/** Publishes a log over TLS with a certificate of its own; null if openssl is not installed. */
async function publishByTls(
  t: TestContext,
  folder: string,
): Promise<{ url: string; env: NodeJS.ProcessEnv } | null> {
  const keys = temporaryFolder(t)
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=log.example']
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', 'key.pem', '-out', 'cert.pem']
  if (spawnSync('openssl', [...request, ...names], { cwd: keys }).status !== 0) {
    skip(t, 'openssl is not installed')
    return null
  }
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(keys, name)))
  const server = createTlsServer({ key, cert }, answererOf(folder, { lies: new Map(), asked: [] }))
  const address = await openServer(t, server)
  return { url: `https://${address}/log`, env: { NODE_EXTRA_CA_CERTS: join(keys, 'cert.pem') } }
}

describeOn(STORE_KINDS, 'services that follow an event log by its URL', (kind) => {
  test('have the store of its events, however often they are killed, and while segments are sealed', async (t) => {
    const eventLog = publicLog(t)
    const published = await publishByTls(t, eventLog)
    if (published === null) return
    const { url, env } = published
    // A sixteenth of this is a segment.
    const receiver = await startReceive(t, eventLog, ['--event-log-keep', '16MiB'])
    const store = kind.create(t)
    const random = createRandom(7)
    const core = startCore(t, receiver.corePort, blocks, 40)
    for (let round = 0; round < scaled(2, 20); round++) {
      const service = await startFollowing(t, store, [url], ['--chain', CHAIN], env)
      // The last service knows the chain by the store.
      if (round === 0) await untilHeight(service, 1)
      await sleep(500 + random.integer(2_000))
      await kill(service)
    }
    const service = await startFollowing(t, store, [url], [], env)
    await until(() => core.sent === blocks.flat().length, 'the core', 60_000)
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await stop(service)
    await end(receiver.program)
    assert.deepEqual((await readFrom(store, readCoverage))!.gaps, [])
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

describeOn(ANY_STORE_KIND, 'an event log behind nginx', (kind) => {
  test('is followed by the example of deploy/, whose caches may keep what never changes, and nothing else', async (t) => {
    const eventLog = publicLog(t)
    const ports = await startNginx(t, 'event-log.conf', {
      own: ['127.0.0.1:8081', '443'],
      servers: { '/srv/lyra': join(eventLog, '..') },
    })
    if (ports === null) return
    const url = `http://127.0.0.1:${ports[0]}/event-log`
    const receiver = await startReceive(t, eventLog, ['--event-log-mode', '644'])
    const core = await dial(receiver.corePort)
    await core.send([...blocks.slice(0, 100), ...blocks.slice(90, 200)])
    const store = kind.create(t)
    const service = await startFollowing(t, store, [url], ['--chain', CHAIN])
    await untilHeight(service, 200)
    await core.send(blocks.slice(200))
    await untilHeight(service, blocks.length)
    await untilReady(service)
    const answerTo = (path: string, headers = {}) =>
      new Promise<{ status: number; cache: string | undefined; encoding: string | undefined }>((resolve) => {
        get(`${url}${path}`, { headers, agent: false }, (response) => {
          const { 'cache-control': cache, 'content-encoding': encoding } = response.headers
          response.resume()
          resolve({ status: response.statusCode!, cache, encoding })
        })
      })
    const sealed = await answerTo(`/0000000001-1-100.bevt`, { 'accept-encoding': 'gzip' })
    const forever = 'public, max-age=31536000, immutable'
    assert.deepEqual(sealed, { status: 200, cache: forever, encoding: undefined })
    const unseen = { 'if-modified-since': new Date(Date.now() + 9_999_999).toUTCString() }
    for (const name of ['head.json', 'index.json', 'receiver.json', '0000000002-91.bevt.open'])
      assert.deepEqual(
        await answerTo(`/${name}`, unseen),
        { status: 200, cache: 'no-store', encoding: undefined },
        name,
      )
    for (const path of ['', '/', '/readers/', '/readers/store.json', '/.lock', '/../event-log/.lock', '/x'])
      assert.equal((await answerTo(path)).status, 404, path)
    await stop(service)
    await end(receiver.program)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

describeOn(ANY_STORE_KIND, 'a log that is followed by its URL', (kind) => {
  test('is a source beside others: what one of them has, a store gets, also while a web server is away', async (t) => {
    const logs = [publicLog(t), publicLog(t), publicLog(t)]
    const receivers = await Promise.all(logs.map((log) => startReceive(t, log)))
    const [one, two, three] = await Promise.all(receivers.map(({ corePort }) => dial(corePort)))
    const servers = [await publish(t, logs[1]!), await publish(t, logs[2]!)]
    const store = kind.create(t)
    const urls = servers.map(({ url }) => url)
    const service = await startFollowing(t, store, [logs[0]!, ...urls], ['--chain', CHAIN])
    await one!.send([...blocks.slice(0, 100), ...blocks.slice(120, 300)])
    await two!.send([...blocks.slice(0, 200), ...blocks.slice(210, 300)])
    await three!.send([...blocks.slice(50, 150), ...blocks.slice(160, 220)])
    await untilHeight(service, 300)
    await untilReady(service)
    for (const file of ['segment', 'head.json', 'index.json', 'receiver.json'])
      servers[0]!.lies.set(file, (_, response) => response.writeHead(503).end())
    await three!.send(blocks.slice(300))
    await untilHeight(service, blocks.length, 40_000)
    await untilReady(service)
    await service.program.printed(
      /log 2 cannot be read: head.json is answered with 503.*blocks are taken from the other logs/,
    )
    servers[0]!.lies.clear()
    await service.program.printed('log 2 is there again')
    await stop(service)
    for (const { program } of receivers) await end(program)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test('is named by /ready with what is wrong and what to do, and goes on once that is right', async (t) => {
    const eventLog = publicLog(t)
    const receiver = await startReceive(t, eventLog)
    await (await dial(receiver.corePort)).send(blocks.slice(0, 50))
    const { url, lies } = await publish(t, eventLog)
    const store = kind.create(t)
    const noChain = await startFollowing(t, store, [url])
    await untilNotReady(
      noChain,
      'log 1 is followed by its URL, and the store is empty: name its chain with --chain',
    )
    await stop(noChain)
    const away = `http://127.0.0.1:${await freePort()}/log/`
    const wrongPort = await startFollowing(t, store, [away], ['--chain', CHAIN])
    await untilNotReady(
      wrongPort,
      'log 1 cannot be read: head.json cannot be fetched (ECONNREFUSED): check that the web server runs',
    )
    await wrongPort.program.printed(`${away}: log 1 cannot be read`)
    await stop(wrongPort)
    lies.set('segment', (_, response) => response.writeHead(403).end())
    const service = await startFollowing(t, store, [url], ['--chain', CHAIN])
    await untilNotReady(
      service,
      'the event log cannot be read (0000000001-1.bevt.open is answered with 403: let the web server read the log',
    )
    lies.clear()
    await untilHeight(service, 50)
    await untilReady(service)
    await end(receiver.program)
    await untilNotReady(service, 'the receiver of log 1 has been silent for')
    await stop(service)
    const other = await startFollowing(t, kind.create(t), [url], ['--chain', 'other'])
    await untilNotReady(
      other,
      /an event of chain .{1,3}core-scenarios.*but .{1,3}other.{1,3} is expected.*follow a log of this one/,
    )
    await stop(other)
  })
})

describe('a service', () => {
  test('begins an empty store with the lowest block, although that log is slower to answer', async (t) => {
    const [near, far] = [publicLog(t), publicLog(t)]
    await writeBlocks(near, [30, 40])
    await writeBlocks(far, [1, 40])
    const { url, lies } = await publish(t, far)
    const open = Promise.withResolvers<void>()
    const answer = answererOf(far, { lies: new Map(), asked: [] })
    lies.set('head.json', async (request, response) => {
      await open.promise
      answer(request, response)
    })
    const service = await follow(t, [near, url], 'test-chain')
    await sleep(1_500)
    assert.equal(await service.height(), 0)
    open.resolve()
    await until(async () => (await service.height()) === 40, 'the blocks')
    assert.equal((await readFrom(service.store, readCoverage))!.first, 1n)
  })

  test('reads on in another log, within a block too, if the rest of a segment cannot be read', async (t) => {
    const [one, two] = [publicLog(t), publicLog(t)]
    const large = content(102, { 1: 'x'.repeat(150_000) })
    const made = markedBlocks(1, 20).map(({ height, events }) => ({ height, events: [...events!, large] }))
    for (const folder of [one, two]) {
      await writeMade(folder, made)
      writeReceiver(folder, 0)
    }
    const { url, lies, asked } = await publish(t, one)
    const answer = answererOf(one, { lies: new Map(), asked: [] })
    lies.set('segment', (request, response) => {
      if (request.headers.range?.startsWith('bytes=0-') === true) answer(request, response)
      else response.writeHead(503).end()
    })
    const service = await follow(t, [url, two], 'test-chain')
    await until(async () => (await service.height()) === 20, 'the blocks')
    assert.ok(asked.some((name) => name.startsWith('0000000001-1-') && name.includes(' bytes=0-')))
    assert.ok(asked.some((name) => name.includes(' bytes=1048576-')))
    const { gaps, first } = (await readFrom(service.store, readCoverage))!
    assert.deepEqual([gaps, first], [[], 1n])
    await until(() => service.said().includes('log 1 cannot be read'), 'a line about the log')
    assert.doesNotMatch(service.said(), /live ingestion: the event log cannot be read/)
  })

  test('waits for a log that has gone back, and takes nothing back', async (t) => {
    const parent = temporaryFolder(t)
    const [newer, older, public_] = ['newer', 'older', 'event-log'].map((name) => join(parent, name))
    await writeBlocks(older!, [1, 20])
    await writeBlocks(newer!, [1, 30])
    for (const folder of [older!, newer!]) writeReceiver(folder, 0)
    renameSync(newer!, public_!)
    const { url } = await publish(t, public_!)
    const service = await follow(t, [url], 'test-chain')
    await until(async () => (await service.height()) === 30, 'the blocks')
    renameSync(public_!, newer!)
    renameSync(older!, public_!)
    await until(
      () => service.state().silence?.includes('its last block is 20 and was 30') ?? false,
      'the fault',
    )
    assert.equal(await service.height(), 30)
    assertSays(service.said(), `${url}: log 1 cannot be read: its last block is 20 and was 30`)
    await writeBlocks(public_!, [21, 45])
    await until(async () => (await service.height()) === 45, 'the blocks')
    assert.deepEqual((await readFrom(service.store, readCoverage))!.gaps, [])
  })

  test('refuses logs of two chains, one of them by its URL', async (t) => {
    const [one, two] = [publicLog(t), publicLog(t)]
    await writeBlocks(one, [1, 10])
    await writeMade(
      two,
      markedBlocks(1, 20).map((block) => ({ ...block, chain: 'other-chain' })),
    )
    const { url } = await publish(t, two)
    const service = await follow(t, [one, url], 'test-chain')
    const both = 'log 1 is of chain "test-chain", log 2 of chain "other-chain"'
    await until(() => service.state()?.failures.some((failure) => failure.includes(both)), 'a refusal')
  })

  test('refuses other URLs, and to forward what it follows by one', async (t) => {
    mkdirSync(join(temporaryFolder(t), 'log'))
    for (const [typed, message] of [
      ['serve --follow http://log.example/', '"http://log.example" must be https; http is for this machine'],
      ['serve --follow https://user:word@log.example/', 'has no user, password, query or fragment'],
      ['forward 127.0.0.1:1 --follow https://log.example/', 'Run lyra forward where its folder is'],
      ['serve --forward 127.0.0.1:1 --follow https://log.example/', 'Run lyra forward where its folder is'],
    ] as const) {
      const { code, stderr } = await runLyra(t, typed)
      assert.equal(code, 2, stderr)
      assertSays(stderr, message)
    }
  })
})
