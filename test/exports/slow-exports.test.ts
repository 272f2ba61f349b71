import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ReadingPace } from '#service/exports/export-pace'
import { assertSays } from '../fixtures/assert-says.ts'
import { ndjsonRows, send } from '../fixtures/requests/http.ts'
import { openSocket, requestText } from '../fixtures/requests/raw-http.ts'
import { LONG } from '../fixtures/sampling.ts'
import { capturedLog, NO_FILES, serve } from '../fixtures/services/service.ts'
import { CHECKPOINTS } from '../fixtures/shared.ts'
import { createLiveStore, pointAt } from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const POINTS = 40_000
const TARGET = '/api/v2/export/funding-period-data-points?format=ndjson'

/** The bytes that a steady client reads in a second. */
const STEADY_BYTES = 1_000_000

const ADDRESSES = LONG ? 100 : 24
const PLACES = LONG ? {} : { exports: 16, serverExports: 16 }

test('A reader is too slow if it reads below the pace over the whole time while bytes wait for it', () => {
  const steady = (bytes: number, count: number) => Array.from({ length: count }, (_, at) => bytes * at)
  for (const [what, samples, expected] of [
    ['nothing at all', steady(0, 61), true],
    ['not yet over the whole time', steady(0, 60), false],
    ['just enough', [...steady(0, 60), 6_000], false],
    ['a byte too few', [...steady(0, 60), 5_999], true],
    ['enough before, nothing since', [0, ...steady(0, 61).map(() => 9_000)], true],
    ['nothing waited for it once', [...steady(0, 30), null, ...steady(0, 60)], false],
    ['steady', steady(100, 90), false],
  ] as [string, (number | null)[], boolean][]) {
    const pace = new ReadingPace({ bytesPerSecond: 100, seconds: 60 })
    let isTooSlow = false
    for (const read of samples) {
      pace.sample(read ?? 0, read !== null)
      isTooSlow ||= pace.isTooSlow()
    }
    assert.equal(isTooSlow, expected, what)
  }
})

test('Readers are compared by what they read lately, once they have been measured', () => {
  const recent = (samples: readonly (number | null)[]) => {
    const pace = new ReadingPace({ bytesPerSecond: 100, seconds: 60 })
    for (const read of samples) pace.sample(read ?? 0, read !== null)
    return pace.recent()
  }
  assert.equal(recent([]), null)
  // What the systems between take at first says nothing of the reader.
  assert.equal(recent([0, 1_000_000, 1_000_100]), null)
  assert.equal(recent([0, 1_000_000, 1_000_100, 1_000_200]), 100)
  // A reader that waits for the service is not measured.
  assert.equal(recent([0, 10, 20, 30, 40, 50, 60, null]), null)
  // Only the last thirty samples count.
  const before = Array.from({ length: 40 }, (_, at) => at * 1_000)
  const after = Array.from({ length: 30 }, (_, at) => 39_000 + (at + 1) * 10)
  assert.equal(recent([...before, ...after]), 10)
})

/** A connection that is read piece by piece, each when it is asked for; null once it is closed. */
function openPieces(base: string, request: string) {
  const socket = openSocket(base)
  const closed = new Promise<null>((resolve) => {
    socket.once('close', () => resolve(null))
  })
  socket.write(request)
  return {
    next: (): Promise<Buffer | null> => {
      const piece = new Promise<Buffer>((resolve) => {
        socket.once('data', (bytes: Buffer) => {
          socket.pause()
          resolve(bytes)
        })
      })
      socket.resume()
      return Promise.race([piece, closed])
    },
    end: () => socket.destroy(),
  }
}

const requestOf = (address: string) => requestText(`GET ${TARGET}`, { 'X-Forwarded-For': address })

/** A client that reads an export slowly, and asks again as soon as it is cut off or refused. */
class SlowReader {
  readonly #request: () => ReturnType<typeof openPieces>
  #pieces: ReturnType<typeof openPieces> | null = null
  /** How often it was refused. */
  refused = 0

  constructor(base: string, address: string) {
    this.#request = () => openPieces(base, requestOf(address))
  }

  /** Reads one piece every other second. */
  async read(second: number): Promise<void> {
    if (this.#pieces !== null && second % 2 === 1) return
    this.#pieces ??= this.#request()
    const piece = await this.#pieces.next()
    const isRefused = piece?.includes('HTTP/1.1 503') === true
    if (isRefused) this.refused += 1
    if (isRefused || piece === null) this.end()
  }

  end(): void {
    this.#pieces?.end()
    this.#pieces = null
  }
}

/** A client that reads an export at a megabyte a second, to its end. */
class SteadyReader {
  readonly #pieces: ReturnType<typeof openPieces>
  readonly #read: Buffer[] = []
  isDone = false

  constructor(base: string, address: string) {
    this.#pieces = openPieces(base, requestOf(address))
  }

  get lines(): number {
    return Buffer.concat(this.#read).toString('latin1').split('"cursor":').length - 1
  }

  async read(): Promise<void> {
    for (let bytes = 0; bytes < STEADY_BYTES && !this.isDone; ) {
      const piece = await this.#pieces.next()
      if (piece !== null) {
        this.#read.push(piece)
        bytes += piece.length
      }
      if (piece === null || piece.toString('latin1').endsWith('0\r\n\r\n')) this.end()
    }
  }

  end(): void {
    this.isDone = true
    this.#pieces.end()
  }
}

/** Waits until each export waits for its client, or has ended: until the systems between have taken all that they can. */
function watchExports(t: TestContext): () => Promise<void> {
  const exports = new Set<{ socket: Socket; response: ServerResponse }>()
  const note = (message: unknown) => {
    const { request, socket, response } = message as {
      request: IncomingMessage
      socket: Socket
      response: ServerResponse
    }
    if (request.url?.startsWith(TARGET) === true) exports.add({ socket, response })
  }
  subscribe('http.server.request.start', note)
  t.after(() => unsubscribe('http.server.request.start', note))
  const taken = () => [...exports].map(({ socket }) => socket.bytesWritten - socket.writableLength).join()
  return async () => {
    let before = ''
    await until(
      () => {
        for (const one of exports)
          if (one.socket.destroyed || one.response.writableFinished) exports.delete(one)
        const now = taken()
        const areBlocked = [...exports].every(({ socket }) => socket.writableLength > 0) && now === before
        before = now
        return areBlocked
      },
      'every export waits for its client',
      120,
    )
  }
}

/** A service over many points, whose exports have the usual number of places. Its timers run only by the test's clock. */
async function serveToSlowReaders(t: TestContext, kind: StoreKind) {
  const { store, live } = await createLiveStore(t, kind)
  for (let height = 1; height <= POINTS / 4_000; height++)
    await live.commit(
      height,
      Array.from({ length: 4_000 }, (_, late) => pointAt(height, { late })),
    )
  const { lines, logger } = capturedLog('info')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const base = await serve(t, store, {
    inThreads: true,
    trustProxy: true,
    logger,
    limits: { ...PLACES, exportPace: { bytesPerSecond: 1, seconds: 60 }, ...NO_FILES },
  })
  return { base, lines }
}

describeOn(STORE_KINDS, 'exports beside slow readers', (kind) => {
  test('take a place from the slowest of many addresses, which read on and come again', async (t) => {
    const { base, lines } = await serveToSlowReaders(t, kind)
    const areBlocked = watchExports(t)
    const steady = new SteadyReader(base, '10.0.3.1')
    const slow = Array.from({ length: ADDRESSES }, (_, index) => new SlowReader(base, `10.0.1.${index}`))
    let second = 0
    /** Lets seconds pass. However busy the machine is, each client reads what it reads in a second. */
    const pass = async (seconds: number) => {
      for (const last = second + seconds; second < last; second++) {
        await steady.read()
        for (const reader of slow) await reader.read(second)
        await areBlocked()
        t.mock.timers.tick(1_000)
      }
    }
    try {
      await pass(1)
      assert.ok(
        slow.some(({ refused }) => refused > 0),
        'all places are taken',
      )

      let retries = 0
      for (let turn = 0; turn < 20; turn++) {
        const headers = { 'X-Forwarded-For': `10.0.2.${turn}` }
        const asked = `${CHECKPOINTS}?format=ndjson`
        let answer = await send(base, asked, { headers })
        if (answer.status === 503) {
          retries += 1
          await pass(Number(answer.headers['retry-after']))
          answer = await send(base, asked, { headers })
        }
        assert.equal(answer.status, 200, `the export of turn ${turn} after a retry: ${answer.text}`)
        await pass(1)
      }
      while (!steady.isDone) await pass(1)
      assert.equal(steady.lines, POINTS, 'the rows of a client that reads steadily')
      const whole = await send(base, TARGET, { headers: { 'X-Forwarded-For': '10.0.3.2' } })
      assert.equal(ndjsonRows(whole.text).length, POINTS)
      assertSays(
        lines.join(''),
        'was cut off: its client reads the slowest, and another client needs its slot',
      )
      t.diagnostic(`${retries} of 20 needed a retry, in ${second} seconds`)
    } finally {
      // Before the store is deleted, which waits for the exports that read it.
      for (const reader of [steady, ...slow]) reader.end()
    }
  })
})
