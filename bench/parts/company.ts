import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, figure, median } from '../figures.ts'
import { type LoadOptions, measureLoad, percentile, WARM_UP_SECONDS } from '../load.ts'
import { type ServerProcess, serveStore } from '../processes.ts'
import { POINTS_PATH, pageTargets } from './page-targets.ts'

/** Requests of the readers whose times are measured. */
const READERS_PER_SECOND = 200
const READERS_SECONDS = 4
const ROUNDS = 3

/** Shorter than elsewhere: ingestion must outlast the readers. */
const INTAKE_WARM_UP_SECONDS = 1.5

const CLIENT_LOOP = join(import.meta.dirname, 'client-loop.ts')

/**
 * p99 of the milliseconds from sending a request to the end of its answer, at 200 requests a second, each
 * sent when due, however long earlier answers take.
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
    const answered = new Promise<void>((resolve, reject) => {
      const sentAt = performance.now()
      const outgoing = request({ agent, hostname, port, path: nextTarget() }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`an answer of ${response.statusCode}`))
        response.resume()
        response.on('end', () => {
          times.push(performance.now() - sentAt)
          resolve()
        })
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
    pending.add(answered)
    void answered.finally(() => pending.delete(answered))
  }
  await Promise.all(pending)
  agent.destroy()
  return percentile(
    times.toSorted((a, b) => a - b),
    0.99,
  )
}

/** Readers beside each kind of work that must not delay them. */
export async function measureCompany(service: ServerProcess, points: number): Promise<Figure[]> {
  const nextTarget = pageTargets(points).anywhere(100)
  await measureLoad(service.base, { connections: 16, seconds: WARM_UP_SECONDS, nextTarget })
  const figures: Figure[] = []
  for (const [name, begin] of Object.entries(OTHER_WORK)) {
    const alone: number[] = []
    const beside: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await readersP99(service, nextTarget))
      const end = await begin(service, points)
      try {
        await sleep(500)
        beside.push(await readersP99(service, nextTarget))
      } finally {
        await end()
      }
    }
    figures.push(
      figure(`readers' p99 beside ${name}`, median(beside), 'ms', {
        limit: { name: 'alone', value: median(alone) },
        target: { most: 1.5 },
      }),
    )
  }
  return figures
}

/** Ends work that goes on beside the readers. */
type End = () => Promise<void>

/** Work that goes on beside the readers, by its name in the figures; each function begins it. */
const OTHER_WORK: Record<string, (service: ServerProcess, points: number) => Promise<End>> = {
  'a slow reader': async ({ base }) => {
    const socket = openSocket(base)
    socket.pause()
    // Pages of a megabyte, of which it takes a kilobyte a tenth of a second.
    for (let count = 0; count < 8; count++)
      socket.write(requestFor(base, `${POINTS_PATH}?pagination.first=5000`))
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
  'an export': ({ base }, points) => clientLoop('exports', base, points),
  'a loop of pages of 5,000 rows': ({ base }, points) => clientLoop('pages', base, points),
}

/** A client in its own process: receiving must not disturb the timing here. */
async function clientLoop(kind: 'pages' | 'exports', base: string, points: number): Promise<End> {
  const client = spawn(process.execPath, [CLIENT_LOOP, kind, base, String(points)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // In production the client is on another machine: its work must not take time from this one.
  setPriority(client.pid!, constants.priority.PRIORITY_BELOW_NORMAL)
  await once(client.stdout!, 'data')
  return async () => {
    if (client.exitCode !== null) throw new Error('the client ended by itself')
    client.kill()
    await once(client, 'exit')
  }
}

function openSocket(base: string): Socket {
  const { hostname, port } = new URL(base)
  return connect(Number(port), hostname).on('error', () => {})
}

function requestFor(base: string, target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: ${new URL(base).host}\r\n\r\n`
}

/** Measures readers of a store while a file is ingested into it at full speed. */
export async function measureBesideIntake(
  store: string,
  nextTarget: () => string,
  file: string,
): Promise<Figure> {
  const warmUp = { connections: 16, seconds: INTAKE_WARM_UP_SECONDS, nextTarget }
  const alone = await readersAlone(store, nextTarget, warmUp)
  await using service = await serveStore(store, [file])
  await measureLoad(service.base, warmUp)
  const before = await recordsIngested(service)
  const beside = await readersP99(service, nextTarget)
  const after = await recordsIngested(service)
  await sleep(500)
  const isGoingOn = (await recordsIngested(service)) > after
  if (!isGoingOn) throw new Error('the ingestion ended before the readers did')
  return figure("readers' p99 beside an intake at full speed", beside, 'ms', {
    limit: { name: 'alone', value: alone },
    target: { most: Math.max(3, 10 / alone) },
    note: `3 times, or 10 ms; ${after - before} records ingested meanwhile`,
  })
}

/** The readers of a service that ingests nothing. */
async function readersAlone(store: string, nextTarget: () => string, warmUp: LoadOptions): Promise<number> {
  await using service = await serveStore(store)
  await measureLoad(service.base, warmUp)
  return await readersP99(service, nextTarget)
}

async function recordsIngested({ base }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text()
  return Number(/^lyra_records_total (\d+)/m.exec(text)?.[1] ?? 0)
}
