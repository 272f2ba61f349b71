import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readlinkSync, truncateSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { ExportFile, NoTemporaryFileError } from '#service/exports/export-file'
import { ExportFiles } from '#service/exports/export-files'
import type { Limits } from '#service/http/limits'
import { assertSays } from '../fixtures/assert-says.ts'
import { type Answer, send } from '../fixtures/requests/http.ts'
import { openSocket, requestText } from '../fixtures/requests/raw-http.ts'
import { longReadsWith } from '../fixtures/services/long-reads.ts'
import { capturedLog, serve } from '../fixtures/services/service.ts'
import { createLiveStore, type LiveStore, pointAt } from '../fixtures/stores/live-store.ts'
import {
  describeOn,
  openReader,
  STORE_KINDS,
  type StoreKind,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const EXPORT = '/api/v2/export/funding-period-data-points'
const FORMATS = ['ndjson', 'csv', 'parquet'] as const
const ALL_ROWS = 3_000
/** More than the systems between take of a client that reads nothing. */
const UNREAD_ROWS = 60_000

async function commitPoints(live: LiveStore, height: number, count: number): Promise<void> {
  await live.commit(
    height,
    Array.from({ length: count }, (_, late) => pointAt(height, { late })),
  )
}

/** A service over points, and what it logs. */
async function servePoints(t: TestContext, kind: StoreKind, limits: Partial<Limits> = {}, count = ALL_ROWS) {
  const { store, live } = await createLiveStore(t, kind)
  await commitPoints(live, 1, count)
  const { lines, logger } = capturedLog('info')
  return { base: await serve(t, store, { inThreads: true, limits, logger }), live, lines }
}

const rangeOf = (base: string, target: string, headers: OutgoingHttpHeaders): Promise<Answer> =>
  send(base, target, { headers })

describeOn(STORE_KINDS, 'files of exports', (kind) => {
  test('have a length, a tag and ranges in every format, however they are asked for', async (t) => {
    const { base } = await servePoints(t, kind)
    for (const format of FORMATS) {
      const target = `${EXPORT}.${format}`
      const whole = await send(base, target)
      const { etag, ...headers } = whole.headers
      assert.equal(whole.status, 200)
      assert.equal(headers['content-length'], String(whole.body.length))
      assert.equal(headers['accept-ranges'], 'bytes')
      assert.equal(headers['cache-control'], 'no-cache')
      assert.equal(headers['x-block-height'], '1')
      assertSays(headers['content-disposition']!, `.${format}"`)
      const named = await send(base, `${EXPORT}?format=${format}`)
      assert.deepEqual([named.body, named.headers.etag], [whole.body, etag])

      const head = await send(base, target, { method: 'HEAD' })
      assert.deepEqual([head.status, head.text], [200, ''])
      assert.deepEqual([head.headers['content-length'], head.headers.etag], [headers['content-length'], etag])

      const size = whole.body.length
      for (const [range, start, end] of [
        ['bytes=0-99', 0, 99],
        ['bytes=-8', size - 8, size - 1],
        [`bytes=${size - 5}-`, size - 5, size - 1],
        [`bytes=7-${size + 100}`, 7, size - 1],
        [`bytes=-${size + 100}`, 0, size - 1],
      ] as const) {
        const part = await rangeOf(base, target, { range })
        assert.equal(part.status, 206, range)
        assert.equal(part.headers['content-range'], `bytes ${start}-${end}/${size}`)
        assert.equal(part.headers.etag, etag)
        assert.deepEqual(part.body, whole.body.subarray(start, end + 1), range)
      }
      for (const range of ['bytes=0-1,5-6', 'bytes=a-b', 'rows=1-2', 'bytes=9-3', '']) {
        const answer = await rangeOf(base, target, { range })
        assert.deepEqual([answer.status, answer.body.length], [200, size], range)
      }
      const past = await rangeOf(base, target, { range: `bytes=${size}-` })
      assert.deepEqual([past.status, past.headers['content-range']], [416, `bytes */${size}`])
      assertSays(past.text, `which has ${size} bytes`)
    }
  })

  test('keep to the conditions of a request', async (t) => {
    const { base } = await servePoints(t, kind)
    const target = `${EXPORT}.csv`
    const { headers, body } = await send(base, target)
    const tag = headers.etag!
    const range = 'bytes=10-19'
    for (const [asked, status, length] of [
      [{ range, 'if-range': tag }, 206, 10],
      [{ range, 'if-range': '"another"' }, 200, body.length],
      [{ range, 'if-range': `W/${tag}` }, 200, body.length],
      [{ range, 'if-match': tag }, 206, 10],
      [{ range, 'if-match': '*' }, 206, 10],
      [{ 'if-match': `"another", ${tag}` }, 200, body.length],
      [{ 'if-match': `W/${tag}` }, 412, null],
      [{ range, 'if-match': '"another"' }, 412, null],
      [{ 'if-none-match': tag }, 304, 0],
      [{ 'if-none-match': '"another"' }, 200, body.length],
    ] as [OutgoingHttpHeaders, number, number | null][]) {
      const answer = await rangeOf(base, target, asked)
      assert.equal(answer.status, status, JSON.stringify(asked))
      if (length !== null) assert.equal(answer.body.length, length, JSON.stringify(asked))
    }
  })

  test('stay the same for who reads on, whatever is committed; another request sees it', async (t) => {
    const { base, live } = await servePoints(t, kind)
    const target = `${EXPORT}.parquet`
    const head = await send(base, target, { method: 'HEAD' })
    const size = Number(head.headers['content-length'])
    const part = Math.ceil(size / 8)
    const parts: Buffer[] = []
    for (let start = 0, height = 2; start < size; start += part, height++) {
      await commitPoints(live, height, 50)
      const answer = await rangeOf(base, target, {
        range: `bytes=${start}-${start + part - 1}`,
        'if-match': head.headers.etag,
      })
      assert.deepEqual([answer.status, answer.headers['x-block-height']], [206, '1'])
      parts.push(answer.body)
    }
    assert.ok(parts.length > 3)
    assert.deepEqual(Buffer.concat(parts), (await send(base, target)).body)
    const other = await send(base, `${target}?pagination.newestFirst=true`)
    assert.equal(other.headers['x-block-height'], String(live.height))
  })

  test('are the same for every spelling of a request', async (t) => {
    const { base, live } = await servePoints(t, kind)
    const { headers } = await send(base, `${EXPORT}.csv`)
    await commitPoints(live, 2, 1)
    for (const spelling of [
      '.csv?',
      '.csv?&&',
      '?format=csv',
      '.csv?source=0&pagination.newestFirst=false',
    ]) {
      const { etag } = (await send(base, `${EXPORT}${spelling}`)).headers
      assert.equal(etag, headers.etag, spelling)
    }
    for (const other of ['.ndjson', '.csv?times=iso', '.csv?pagination.newestFirst=true', '.csv?source=1'])
      assert.equal((await send(base, `${EXPORT}${other}`)).headers['x-block-height'], '2', other)
  })

  test('are made once for many who ask at the same time', async (t) => {
    const { base, live } = await servePoints(t, kind, { exports: 1, serverExports: 1 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(base, `${EXPORT}.ndjson`)))
    for (const { status, headers } of answers) {
      assert.deepEqual([status, headers.etag], [200, answers[0]!.headers.etag])
    }
    assert.equal(live.height, 1)
  })

  test('whose writer loses its slot are written again for others who wait', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await commitPoints(live, 1, ALL_ROWS)
    let reads = 0
    const gate = Promise.withResolvers<void>()
    const longReads = longReadsWith(await openReader(t, store), async (next) => {
      reads += 1
      await gate.promise
      return next()
    })
    const limits = { exports: 3, serverExports: 3 }
    const base = await serve(t, store, { longReads, limits, trustProxy: true })
    const ask = (address: string, format: string) =>
      send(base, `${EXPORT}.${format}`, { headers: { 'X-Forwarded-For': address } })
    const first = ['ndjson', 'parquet'].map((format) => ask('10.0.0.1', format))
    await until(() => reads === 2, 'two files to be begun')
    first.push(ask('10.0.0.1', 'csv'))
    await until(() => reads === 3, 'the last file to be begun')
    const waiting = ask('10.0.0.2', 'csv')
    // It gets the slot of the last file.
    const third = ask('10.0.0.3', 'csv?times=iso')
    await until(() => reads === 4, 'another file to be begun')
    await delay(50)
    gate.resolve()
    assert.equal((await first[2]!).status, 503)
    const { status, text } = await waiting
    assert.equal(status, 200, text)
    assert.equal((await third).status, 200)
    await Promise.all(first)
  })

  test('are not made of too many rows, which are sent as they are read', async (t) => {
    const limits = { exportFiles: { bytes: 100_000, files: 9, allBytes: 1_000_000 } }
    const { base } = await servePoints(t, kind, limits)
    const whole = await servePoints(t, kind)
    for (const format of FORMATS) {
      const target = `${EXPORT}.${format}`
      const { body } = await send(whole.base, target)
      const isSmall = body.length <= limits.exportFiles.bytes / (format === 'parquet' ? 4 : 1)
      for (const method of ['GET', 'HEAD', 'GET']) {
        const answer = await send(base, target, { method, headers: { range: 'bytes=0-9' } })
        const isPart = isSmall && method === 'GET'
        assert.equal(answer.status, isPart ? 206 : 200)
        assert.equal(answer.headers['accept-ranges'], isSmall ? 'bytes' : undefined)
        if (method === 'GET' && !isSmall) assert.deepEqual(answer.body, body)
      }
    }
  })

  test('are not compressed: what is has no ranges', async (t) => {
    const { base } = await servePoints(t, kind)
    const plain = await send(base, `${EXPORT}.csv`)
    const headers = { 'accept-encoding': 'gzip' }
    const zipped = await rangeOf(base, `${EXPORT}.csv`, headers)
    assert.equal(zipped.headers['content-encoding'], 'gzip')
    assert.deepEqual([zipped.headers['accept-ranges'], zipped.headers.etag], [undefined, undefined])
    assert.deepEqual(gunzipSync(zipped.body), plain.body)
    const part = await rangeOf(base, `${EXPORT}.csv`, { ...headers, range: 'bytes=0-9' })
    assert.equal(part.status, 206)
    assert.deepEqual(part.body, plain.body.subarray(0, 10))
    const parquet = await rangeOf(base, `${EXPORT}.parquet`, headers)
    assert.equal(parquet.headers['content-encoding'], undefined)
    for (const answer of [plain, zipped, part, parquet]) assertSays(answer.headers.vary!, 'Accept-Encoding')
  })

  test('are no longer made once nobody waits for them, but for whoever still does', async (t) => {
    const { base } = await servePoints(t, kind, { exports: 1, serverExports: 1 }, UNREAD_ROWS)
    const ask = () => {
      const socket = openSocket(base)
      socket.write(requestText(`GET ${EXPORT}.parquet`))
      return socket
    }
    ask().destroy()
    // The only place is free at once.
    await until(async () => (await send(base, `${EXPORT}.csv`)).status === 200, 'the place is free', 2)
    const gone = ask()
    const stays = send(base, `${EXPORT}.parquet`)
    gone.destroy()
    const { status, headers, body } = await stays
    assert.deepEqual([status, headers['content-length']], [200, String(body.length)])
  })

  test('take no place among exports while they are sent', async (t) => {
    const limits = { exports: 1, serverExports: 1 }
    const { base } = await servePoints(t, kind, limits, UNREAD_ROWS)
    const slow = openSocket(base).pause()
    t.after(() => slow.destroy())
    slow.write(requestText(`GET ${EXPORT}.ndjson`))
    await until(async () => (await send(base, `${EXPORT}.csv`)).status === 200, 'the place is free')
    const other = await send(base, `${EXPORT}.ndjson?pagination.newestFirst=true`)
    assert.equal(other.status, 200)
  })

  test('are bounded in number and bytes; those that are read stay', async (t) => {
    for (const bounds of [
      { files: 1, allBytes: 1e9 },
      { files: 9, allBytes: 4e7 },
    ]) {
      const limits = { exportFiles: { bytes: 3e7, ...bounds } }
      const { base } = await servePoints(t, kind, limits, UNREAD_ROWS)
      const isFile = async (target: string) =>
        (await send(base, target, { headers: { range: 'bytes=0-9' } })).status === 206
      // A second file takes the room of the first, which nobody reads.
      assert.ok(await isFile(`${EXPORT}.ndjson`))
      assert.ok(await isFile(`${EXPORT}.csv`))
      const slow = openSocket(base)
      slow.write(requestText(`GET ${EXPORT}.ndjson`))
      await once(slow, 'data')
      slow.pause()
      assert.ok(!(await isFile(`${EXPORT}.csv?times=iso`)))
      slow.destroy()
      await until(() => isFile(`${EXPORT}.csv?times=iso`), 'the room is free', 5)
    }
  })

  test('of an address that ends in a format and asks for another are refused', async (t) => {
    const { base } = await servePoints(t, kind, {}, 1)
    const refused = await send(base, `${EXPORT}.csv?format=parquet`)
    assert.equal(refused.status, 400)
    assertSays(refused.text, 'the address ends in .csv')
    assert.equal((await send(base, `${EXPORT}.csv?format=csv&times=iso`)).status, 200)
    assert.equal((await send(base, `${EXPORT}.csv?times=iso`)).status, 200)
    assert.equal((await send(base, `${EXPORT}.xlsx`)).status, 404)
  })
})

/** Prevents temporary files until the returned function is called, or the test ends. */
function withoutTemporaryFiles(t: TestContext): () => void {
  const { TMPDIR } = process.env
  process.env.TMPDIR = `${temporaryFolder(t)}/missing`
  const restore = () => {
    process.env.TMPDIR = TMPDIR
    if (TMPDIR === undefined) delete process.env.TMPDIR
  }
  t.after(restore)
  return restore
}

test('Without room for temporary files, exports are sent as they are read', async (t) => {
  const { base, lines } = await servePoints(t, STORE_KINDS[0]!)
  const zipped = await send(base, `${EXPORT}.csv`, { headers: { 'accept-encoding': 'gzip' } })
  withoutTemporaryFiles(t)
  const streamed = await send(base, `${EXPORT}.csv`)
  assert.deepEqual(streamed.body, gunzipSync(zipped.body))
  assert.equal(streamed.headers['content-length'], undefined)
  assertSays(lines.join(''), 'exports are sent without a length: no temporary file in ')
})

test('Once temporary files can be written again, the same request gets one', async (t) => {
  const { base, lines } = await servePoints(t, STORE_KINDS[0]!)
  const restore = withoutTemporaryFiles(t)
  for (let request = 0; request < 20; request++) {
    assert.equal((await send(base, `${EXPORT}.csv`)).headers['content-length'], undefined)
  }
  restore()
  const isFile = async () => (await send(base, `${EXPORT}.csv`)).headers['content-length'] !== undefined
  await until(isFile, 'a file can be written again', 15)
  assert.equal(lines.filter((line) => line.includes('no temporary file')).length, 1)
})

test('A disk that takes no files is not tried again by each request, but by one after a pause', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let time = 1_000
  t.mock.method(performance, 'now', () => time)
  const files = new ExportFiles({ bytes: 1_000, files: 2, allBytes: 2_000 })
  let attempts = 0
  const fail = async (): Promise<never> => {
    attempts += 1
    throw new NoTemporaryFileError(new Error('ENOSPC: no space left on device, write'))
  }
  const { signal } = new AbortController()
  const ask = (key: string) => files.fileOf(key, fail, signal)
  // Who shares the writing gets no file either.
  assert.deepEqual(await Promise.all([ask('a'), ask('a')]), [null, null])
  assert.deepEqual([await ask('a'), await ask('b')], [null, null])
  assert.equal(attempts, 1)
  time += 5_000
  assert.equal(await ask('b'), null)
  assert.equal(attempts, 2)
  time += 5_000
  const file = await files.fileOf('a', () => ExportFile.create({ height: '1', timestamp: '1' }), signal)
  assert.notEqual(file, null)
  await file!.release()
  await files.close()
})

test('A file that can no longer be read is written again', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { base } = await servePoints(t, STORE_KINDS[0]!)
  const whole = await send(base, `${EXPORT}.csv`)
  for (const name of readdirSync('/proc/self/fd')) {
    const path = `/proc/self/fd/${name}`
    if (isExportFile(path)) truncateSync(path, 10)
  }
  await assert.rejects(send(base, `${EXPORT}.csv`))
  const again = await send(base, `${EXPORT}.csv`)
  assert.deepEqual([again.status, again.body], [200, whole.body])
})

/** Whether a name of an open file is that of an export, which has no other name. */
function isExportFile(path: string): boolean {
  try {
    return readlinkSync(path).includes('lyra-export-')
  } catch {
    // It has been closed meanwhile.
    return false
  }
}

test('A file of an export whose client leaves just before its end is released once, and given to nobody', async () => {
  const files = new ExportFiles({ bytes: 1_000, files: 2, allBytes: 2_000 })
  const write = async () => {
    const file = await ExportFile.create({ height: '1', timestamp: '1' })
    await file.write(Buffer.alloc(100))
    return file
  }
  for (let client = 0; client < 3; client++) {
    const gone = new AbortController()
    const ended = Promise.withResolvers<void>()
    const writeSlowly = async () => {
      const file = await write()
      await ended.promise
      return file
    }
    const asked = files.fileOf(`left ${client}`, writeSlowly, gone.signal)
    gone.abort()
    ended.resolve()
    await assert.rejects(asked, { name: 'ClientGoneError' })
  }
  const { signal } = new AbortController()
  const given = [1, 2, 3].map((client) => files.fileOf(`${client}`, write, signal))
  const isGiven = (await Promise.all(given)).map((file) => file !== null)
  assert.deepEqual(isGiven, [true, true, false])
  await files.close()
})

test('A file that is being written at the end is given to who waits for it, and closed after its use', async () => {
  const files = new ExportFiles({ bytes: 1_000, files: 1, allBytes: 1_000 })
  const ended = Promise.withResolvers<void>()
  const writeSlowly = async () => {
    const file = await ExportFile.create({ height: '1', timestamp: '1' })
    await file.write(Buffer.from('rows'))
    await ended.promise
    return file
  }
  const { signal } = new AbortController()
  const requested = files.fileOf('a', writeSlowly, signal)
  const closed = files.close()
  ended.resolve()
  const file = (await requested)!
  await closed
  assert.equal(file.isRead, false)
  assert.equal(Buffer.concat(await file.read({ start: 0, end: 3 }).toArray()).toString(), 'rows')
  await file.release()
  assert.throws(() => file.retain(), /the file is closed/)
})

test('A cached file is given to its client, though another request needs its room at the same time', async () => {
  const files = new ExportFiles({ bytes: 1_000, files: 1, allBytes: 1_000 })
  const write = () => ExportFile.create({ height: '1', timestamp: '1' })
  const { signal } = new AbortController()
  const first = (await files.fileOf('a', write, signal))!
  await first.release()
  const given = await Promise.all([files.fileOf('a', write, signal), files.fileOf('b', write, signal)])
  assert.deepEqual(given, [first, null])
  await first.release()
  await files.close()
})

test('A request with too many rows stays known while files are dropped for others', async () => {
  const files = new ExportFiles({ bytes: 1_000, files: 1, allBytes: 1_000 })
  const gone = new AbortController().signal
  let tries = 0
  const tooLong = async () => {
    tries++
    return null
  }
  assert.equal(await files.fileOf('too long', tooLong, gone), null)
  const written = async () => ExportFile.create({ height: '1', timestamp: '1' })
  for (const key of ['one', 'other']) await (await files.fileOf(key, written, gone))!.release()
  assert.equal(await files.fileOf('too long', tooLong, gone), null)
  assert.equal(tries, 1)
  await files.close()
})
