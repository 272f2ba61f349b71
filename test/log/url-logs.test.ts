import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { FollowedLog } from '#core/log/read/followed-log'
import { framesOf } from '#core/log/read/read-segment'
import { parseLogUrl } from '#core/log/read/url/log-url'
import { UrlSource } from '#core/log/read/url/url-source'
import { assertSays } from '../fixtures/assert-says.ts'
import { frame } from '../fixtures/events/event-stream.ts'
import { type Lie, type PublishedLog, publish } from '../fixtures/logs/published-log.ts'
import { writeBlocks, writeReceiver } from '../fixtures/logs/written-log.ts'
import { freePort } from '../fixtures/services/port.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** Looks at a log until that has come to something. */
const untilSeen = (log: FollowedLog, what: string, isSeen: () => boolean) =>
  until(() => {
    log.refresh()
    return isSeen()
  }, `${what}, not ${log.fault}`)

function follow(t: TestContext, url: string): FollowedLog {
  const log = new FollowedLog(new UrlSource(url))
  t.after(log.watch(() => {}))
  return log
}

/** The log of blocks 1 to 9 and 20 to 29, published and followed. */
async function followPublished(
  t: TestContext,
): Promise<{ log: FollowedLog; folder: string; published: PublishedLog }> {
  const folder = join(temporaryFolder(t), 'log')
  await writeBlocks(folder, [1, 9], [20, 29])
  writeReceiver(folder, 0)
  const published = await publish(t, folder)
  return { log: follow(t, published.url), folder, published }
}

/** A lie that ends with a text. */
const text =
  (body: string | Buffer, status = 200, headers: Record<string, string> = {}): Lie =>
  (_, response) => {
    response.writeHead(status, headers).end(body)
  }

/** Sends the beginning of an answer, and then more without end. */
function endless(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, ' ')
  const more = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}

/** Sends a byte now and then, for ever. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 500)
  response.on('close', () => clearInterval(timer))
}

const rangeOf = (asked: string | undefined) => `bytes ${asked!.replace('bytes=', '')}/9999`
const metadata = 'http://169.254.169.254/latest/meta-data'

/** Lies about the small files, and the fault that each is. */
const LIES: readonly (readonly [name: string, file: string, lie: Lie, fault: string])[] = [
  ['a head without end', 'head.json', (_, response) => endless(response), 'head.json is larger than 4 KiB'],
  [
    'an index without end',
    'index.json',
    (_, response) => endless(response),
    'index.json is larger than 16384 KiB',
  ],
  [
    'a state without end',
    'receiver.json',
    (_, response) => endless(response),
    'receiver.json is larger than 64 KiB',
  ],
  [
    'a redirect',
    'head.json',
    text('', 302, { location: metadata }),
    'is answered with 302, a redirect: follow the address',
  ],
  [
    'an encoded head',
    'head.json',
    text(gzipSync('{}'), 200, { 'content-encoding': 'gzip' }),
    'head.json is sent encoded (gzip): turn that off',
  ],
  ['a head that is HTML', 'head.json', text('<html>welcome</html>'), 'head.json is none of an event log'],
  ['an index that is HTML', 'index.json', text('<html>welcome</html>'), 'index.json is none of an event log'],
  ['a head without its fields', 'head.json', text('{"version":1}'), 'head.json is none of an event log'],
  ['a list as the index', 'index.json', text('[]'), 'index.json is none of an event log'],
  [
    'a name outside the folder',
    'index.json',
    text('{"version":1,"segments":{"../../0000000001-1-9.bevt":5}}'),
    'index.json is none of an event log',
  ],
  [
    'a size that is none',
    'index.json',
    text('{"version":1,"segments":{"0000000001-1-9.bevt":-5}}'),
    'index.json is none of an event log',
  ],
  [
    'a head of a later version',
    'head.json',
    text('{"version":2}'),
    'its head is of a later version: install the Lyra that writes it',
  ],
  [
    'no head',
    'head.json',
    text('', 404),
    'there is no head.json: check that --follow names the folder of an event log',
  ],
  ['no index', 'index.json', text('', 404), "there is no index.json: restart the log's receiver"],
  [
    'a file that may not be read',
    'head.json',
    text('', 403),
    'is answered with 403: let the web server read the log (--event-log-mode 640)',
  ],
  ['a server that fails', 'head.json', text('', 503), 'head.json is answered with 503'],
  [
    'an answer that is cut off',
    'head.json',
    (_, response) =>
      void response.writeHead(200, { 'content-length': '99' }).write('{', () => response.destroy()),
    'head.json cannot be fetched',
  ],
]

/** Lies about the bytes of a segment. */
const BYTE_LIES: readonly (readonly [name: string, lie: Lie, fault: string])[] = [
  [
    'a body without end',
    ({ headers }, response) => endless(response.writeHead(206, { 'content-range': rangeOf(headers.range) })),
    'more bytes than asked for',
  ],
  ['a redirect', text('', 307, { location: metadata }), 'is answered with 307, a redirect'],
  ['another range', text('x', 206, { 'content-range': 'bytes 5-5/99' }), 'other bytes than asked for'],
  [
    'parts of several ranges',
    text('x', 206, { 'content-type': 'multipart/byteranges; boundary=x' }),
    'other bytes than asked for',
  ],
  [
    'fewer bytes',
    ({ headers }, response) =>
      void response.writeHead(206, { 'content-range': rangeOf(headers.range) }).end('x'),
    'fewer bytes than asked for',
  ],
  [
    'an encoded body',
    ({ headers }, response) =>
      void response
        .writeHead(206, { 'content-range': rangeOf(headers.range), 'content-encoding': 'br' })
        .end('x'),
    'is sent encoded (br)',
  ],
  [
    'a page instead of bytes',
    text('<html>welcome</html>', 200, { 'content-type': 'text/html' }),
    'a page is sent instead of',
  ],
  ['a file that is shorter', text('', 416), 'is answered with 416: the file is shorter'],
]

describe('a log that is followed by its URL', { concurrency: 8 }, () => {
  test('is as its folder: segments, head and the state of its receiver', async (t) => {
    const { log, folder, published } = await followPublished(t)
    await untilSeen(log, 'the log', () => log.receiver() !== null)
    assert.deepEqual(
      log.segments.map(({ name, kind, last }) => [name, kind, last]),
      [
        ['0000000001-1-9.bevt', 'sealed', 9n],
        ['0000000002-20.bevt.open', 'active', 29n],
      ],
    )
    const [sealed, active] = log.segments
    for (const segment of [sealed!, active!]) {
      const bytes = readFileSync(join(folder, segment.name)).subarray(0, segment.bytes)
      assert.ok((await log.read(segment, 0, segment.bytes)).equals(bytes))
    }
    assert.equal(log.folder, null)
    assert.ok(published.asked.every((asked) => !asked.includes('readers')))
  })

  for (const [name, file, lie, fault] of LIES) {
    test(`has a fault because of ${name}, and none once it is gone`, async (t) => {
      const { log, published } = await followPublished(t)
      published.lies.set(file, lie)
      await untilSeen(log, 'the fault', () => log.fault !== null)
      assertSays(log.fault!, fault)
      assert.doesNotMatch(log.fault!, /127\.0\.0\.1/)
      published.lies.clear()
      await untilSeen(log, 'its end', () => log.fault === null && log.segments.length === 2)
    })
  }

  test('is asked for nothing encoded, and without a condition', async (t) => {
    const { log, published } = await followPublished(t)
    const asked: IncomingHttpHeaders[] = []
    published.lies.set('receiver.json', ({ headers }, response) => {
      asked.push(headers)
      response.writeHead(200, { etag: '"one"', 'last-modified': new Date().toUTCString() }).end('{}')
    })
    await untilSeen(log, 'two requests', () => asked.length > 1)
    for (const headers of asked) {
      assert.equal(headers['accept-encoding'], 'identity')
      const names = Object.keys(headers).filter((name) => /^if-|cookie|authorization/.test(name))
      assert.deepEqual(names, [])
    }
  })

  test('goes on although the state of its receiver cannot be read, which is a fault', async (t) => {
    const { log, folder, published } = await followPublished(t)
    published.lies.set('receiver.json', text('', 503))
    await untilSeen(log, 'the fault', () => log.fault !== null)
    assertSays(log.fault!, 'receiver.json is answered with 503')
    await writeBlocks(folder, [30, 35])
    await untilSeen(log, 'the blocks', () => log.active?.last === 35n)
    assert.notEqual(log.fault, null)
  })

  for (const [name, lie, fault] of BYTE_LIES) {
    test(`has a fault because of ${name}, and none once that is gone`, async (t) => {
      const { log, published } = await followPublished(t)
      await untilSeen(log, 'the log', () => log.segments.length === 2)
      published.lies.set('segment', lie)
      const [sealed] = log.segments
      await assert.rejects(log.read(sealed!, 0, sealed!.bytes), { name: 'LogUnreachableError' })
      log.refresh()
      assertSays(log.fault!, fault)
      // Its head is fine, but what was refused is asked for again.
      published.asked.length = 0
      await until(
        () => published.asked.filter((asked) => asked.includes('.bevt')).length > 1,
        'it is asked again',
      )
      log.refresh()
      assertSays(log.fault!, fault)
      published.lies.clear()
      await untilSeen(log, 'its end', () => log.fault === null)
    })
  }

  test('says that the server does not answer, not that a file is missing, if it stops answering after that', async (t) => {
    const { log, published } = await followPublished(t)
    await untilSeen(log, 'the log', () => log.segments.length === 2)
    published.lies.set('head.json', text('', 503))
    await assert.rejects(log.listAgain(log.segments[0]!), /head\.json is answered with 503/)
    assertSays(log.fault!, 'head.json is answered with 503')
  })

  test('says once that bytes are refused, however often they are asked for', async (t) => {
    const { log, published } = await followPublished(t)
    await untilSeen(log, 'the log', () => log.segments.length === 2)
    published.lies.set('segment', text('', 403))
    const [sealed] = log.segments
    let changes = 0
    t.after(log.watch(() => changes++))
    for (let asked = 0; asked < 20; asked++)
      await assert.rejects(log.read(sealed!, 0, sealed!.bytes), { name: 'LogUnreachableError' })
    assert.ok(changes <= 3, `${changes} changes`)
  })

  test('is not waited for without end: by a silent server, one that drips, and one that is not there', async (t) => {
    const { log: silent, published } = await followPublished(t)
    published.lies.set('head.json', () => {})
    const { log: dripping, published: other } = await followPublished(t)
    await untilSeen(dripping, 'the log', () => dripping.segments.length === 2)
    other.lies.set('segment', ({ headers }, response) =>
      drip(response.writeHead(206, { 'content-range': rangeOf(headers.range) })),
    )
    const [sealed] = dripping.segments
    await assert.rejects(dripping.read(sealed!, 0, 100), /has not arrived within 10 s/)
    await untilSeen(silent, 'the fault', () => silent.fault !== null)
    assertSays(silent.fault!, 'head.json has not arrived within 10 s')
    const away = follow(t, `http://127.0.0.1:${await freePort()}/log`)
    await untilSeen(away, 'the fault', () => away.fault !== null)
    assertSays(away.fault!, 'head.json cannot be fetched (ECONNREFUSED): check that the web server runs')
  })

  test('needs byte ranges of a file that is not read at once', async (t) => {
    const { log, published } = await followPublished(t)
    await untilSeen(log, 'the log', () => log.segments.length === 2)
    published.lies.set('segment', text(Buffer.alloc(5_000)))
    const [sealed] = log.segments
    assert.equal((await log.read(sealed!, 0, sealed!.bytes)).length, sealed!.bytes)
    await assert.rejects(
      log.read(sealed!, 10, 20),
      /is sent from its beginning: the web server must give byte ranges/,
    )
  })

  test('may have gzipped segments, but none that inflates to more than a segment', async (t) => {
    const { log, folder, published } = await followPublished(t)
    const path = join(folder, '0000000001-1-9.bevt')
    const bytes = readFileSync(path)
    const put = (content: Buffer) => {
      writeFileSync(`${path}.gz`, content)
      const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
      index.segments = { '0000000001-1-9.bevt.gz': content.length }
      writeFileSync(join(folder, 'index.json'), JSON.stringify(index))
    }
    await untilSeen(log, 'the log', () => log.segments.length === 2)
    // It is asked for under its old name.
    const [sealed] = log.segments
    put(gzipSync(bytes))
    rmSync(path)
    const records: number[] = []
    await framesOf(sealed!, (_, start, end) => records.push(end - start)).readAll()
    assert.equal(
      records.reduce((sum, length) => sum + 12 + length, 0),
      bytes.length,
    )
    put(gzipSync(frame(Array.from({ length: 24 }, () => Buffer.alloc(10 * 1024 * 1024)))))
    const other = follow(t, published.url)
    await untilSeen(other, 'the log', () => other.segments.length === 2)
    const bomb = framesOf(other.segments[0]!, () => {})
    await assert.rejects(bomb.readAll(), /larger than a segment, 192 MiB/)
  })

  test('has a segment that is listed, not there, and there again; or that has got its last name meanwhile', async (t) => {
    const { log, folder, published } = await followPublished(t)
    await untilSeen(log, 'the log', () => log.segments.length === 2)
    const [sealed, active] = log.segments
    renameSync(join(folder, sealed!.name), join(folder, 'elsewhere'))
    const readAll = async (segment = sealed!) => {
      let records = 0
      await framesOf(segment, () => records++).readAll()
      return records
    }
    await assert.rejects(readAll(), /0000000001-1-9.bevt is in the index, but not there/)
    log.refresh()
    assertSays(log.fault!, 'is in the index, but not there: check what the web server publishes')
    assert.ok(published.asked.filter((asked) => asked === 'index.json').length > 2)
    renameSync(join(folder, 'elsewhere'), join(folder, sealed!.name))
    await untilSeen(log, 'the end of the fault', () => log.fault === null)
    assert.ok((await readAll()) > 0)
    // Sealed: the index says so, and the head not yet.
    const sealedName = '0000000002-20-29.bevt'
    renameSync(join(folder, active!.name), join(folder, sealedName))
    const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
    index.segments[sealedName] = active!.bytes
    const renewed = sleep(500).then(() => writeFileSync(join(folder, 'index.json'), JSON.stringify(index)))
    assert.ok((await readAll(active!)) > 0)
    await renewed
    log.refresh()
    assert.equal(log.segments.at(-1)!.name, sealedName)
  })

  test('of a server that was restored to an older state is waited for, and read from the beginning of what it then has', async (t) => {
    const { log, folder } = await followPublished(t)
    const older = new Map(
      readdirSync(folder)
        .filter((name) => name !== 'readers')
        .map((name) => [name, readFileSync(join(folder, name))]),
    )
    await writeBlocks(folder, [30, 35])
    await untilSeen(log, 'the blocks', () => log.active?.last === 35n)
    const before = log.active!
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
    for (const [name, bytes] of older) writeFileSync(join(folder, name), bytes)
    await untilSeen(log, 'the fault', () => log.fault !== null)
    assertSays(log.fault!, 'its last block is 29 and was 35: the server has an older state of the log')
    assert.deepEqual([log.active!.last, log.current(before)], [29n, null])
    mkdirSync(join(folder, 'readers'))
    await writeBlocks(folder, [30, 40])
    await untilSeen(log, 'the end of the fault', () => log.fault === null)
    assert.equal(log.active!.last, 40n)
    assert.equal(log.current(before), null)
  })

  test('is named by an https URL, or one of this machine, of a folder', () => {
    for (const [given, expected] of [
      ['https://log.example/lyra', 'https://log.example/lyra/'],
      ['HTTPS://log.example', 'https://log.example/'],
      ['http://127.0.0.1:8080/log/', 'http://127.0.0.1:8080/log/'],
      ['http://localhost/log', 'http://localhost/log/'],
      ['http://[::1]:80/', 'http://[::1]/'],
    ] as const)
      assert.equal(parseLogUrl(given).href, expected)
    for (const refused of [
      'http://log.example/lyra',
      'http://127.example/',
      'http://10.0.0.1/',
      'ftp://127.0.0.1/',
      'file:///var/log',
      'https://user:word@log.example/',
      'https://log.example/?x=1',
      'https://log.example/#x',
      'https://',
    ])
      assert.throws(() => parseLogUrl(refused), refused)
  })
})
