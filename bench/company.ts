import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, figure } from './figures.ts'
import { LARGE_MARKET } from './large-store.ts'
import { measureLoad, percentile } from './load.ts'
import { type ServerProcess, serveStore } from './processes.ts'

/** What readers ask for beside whatever else goes on. */
const READERS_SECONDS = 8
const READERS_PER_SECOND = 200

const POINTS = `/api/v2/funding-periods/data-points/${LARGE_MARKET}`

/**
 * Milliseconds within which 99 of 100 requests are answered, at 200 requests a second, sent when they are due
 * whatever the answers before took.
 */
async function readersP99(service: ServerProcess, nextTarget: () => string): Promise<number> {
  const { hostname, port } = new URL(service.base)
  const agent = new Agent({ keepAlive: true })
  const times: number[] = []
  const pending = new Set<Promise<void>>()
  const startedAt = performance.now()
  for (let count = 0; count < READERS_SECONDS * READERS_PER_SECOND; count++) {
    const due = startedAt + (count * 1_000) / READERS_PER_SECOND
    await sleep(Math.max(0, due - performance.now()))
    const asked = new Promise<void>((resolve, reject) => {
      const sent = request({ agent, hostname, port, path: nextTarget() }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`an answer of ${response.statusCode}`))
        response.resume()
        response.on('end', () => {
          times.push(performance.now() - due)
          resolve()
        })
      })
      sent.on('error', reject)
      sent.end()
    })
    pending.add(asked)
    void asked.finally(() => pending.delete(asked))
  }
  await Promise.all(pending)
  agent.destroy()
  return percentile(
    times.toSorted((a, b) => a - b),
    0.99,
  )
}

/** Readers beside others: each kind of company that must not make them wait. */
export async function measureCompany(service: ServerProcess, nextTarget: () => string): Promise<Figure[]> {
  const alone = await readersP99(service, nextTarget)
  const figures: Figure[] = []
  for (const [name, join] of Object.entries(COMPANY)) {
    const leave = await join(service)
    await sleep(500)
    const beside = await readersP99(service, nextTarget)
    await leave()
    figures.push(
      figure(`readers' p99 beside ${name}`, beside, 'ms', {
        limit: { name: 'alone', value: alone },
        target: { most: 1.5 },
      }),
    )
  }
  return figures
}

type Leave = () => Promise<void>

const COMPANY: Record<string, (service: ServerProcess) => Promise<Leave>> = {
  'a slow reader': async ({ base }) => {
    const socket = openSocket(base)
    socket.pause()
    // Pages of a megabyte, of which it takes a kilobyte a tenth of a second.
    for (let count = 0; count < 8; count++) socket.write(requestFor(base, `${POINTS}?pagination.first=5000`))
    const timer = setInterval(() => socket.read(1_000), 100)
    return async () => {
      clearInterval(timer)
      socket.destroy()
    }
  },
  '1,000 idle connections': async ({ base }) => {
    const sockets = Array.from({ length: 1_000 }, () => openSocket(base))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    return async () => {
      for (const socket of sockets) socket.destroy()
    }
  },
  'a client that asks for 5,000 rows in a loop': async ({ base }) => {
    const seconds = READERS_SECONDS + 1
    const load = measureLoad(base, {
      connections: 1,
      seconds,
      nextTarget: () => `${POINTS}?pagination.first=5000`,
    })
    return async () => {
      await load
    }
  },
}

function openSocket(base: string): Socket {
  const { hostname, port } = new URL(base)
  return connect(Number(port), hostname).on('error', () => {})
}

function requestFor(base: string, target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: ${new URL(base).host}\r\n\r\n`
}

/** Readers of a store beside the intake of a file into it, at full speed. */
export async function measureBesideIntake(
  store: string,
  nextTarget: () => string,
  file: string,
): Promise<Figure> {
  const quiet = await serveStore(store)
  const alone = await readersP99(quiet, nextTarget)
  await quiet.stop()
  const busy = await serveStore(store, [file])
  await sleep(1_000)
  const beside = await readersP99(busy, nextTarget)
  const taken = await recordsTakenIn(busy)
  await busy.stop()
  if (taken === 0) throw new Error('nothing was taken in meanwhile')
  return figure("readers' p99 beside an intake at full speed", beside, 'ms', {
    limit: { name: 'alone', value: alone },
    target: { most: Math.max(3, 10 / alone) },
    note: `3 times, or 10 ms; ${taken} records taken in meanwhile`,
  })
}

async function recordsTakenIn({ base }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text()
  return Number(/^lyra_records_total (\d+)/m.exec(text)?.[1] ?? 0)
}
