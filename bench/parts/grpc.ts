import { RESOURCES } from '#core/resources/resources'
import { HEALTH, methodsOf, TRADING_DATA } from '../../test/fixtures/requests/protos.ts'
import { type Figure, figure, median } from '../figures.ts'
import { measureCalls } from '../grpc-load.ts'
import { inTurns } from '../in-turns.ts'
import { measureLoad } from '../load.ts'
import { loadsInTurns } from '../loads-in-turns.ts'
import { type ServerProcess, serveStore } from '../processes.ts'
import type { ColdPages } from './pages.ts'

const CONNECTIONS = 16
const SECONDS = 2
const ROUNDS = 3

/** The most that a page over gRPC may cost, in processor time of the same page over REST. */
const MOST_COLD = 1.6
const MOST_HOT = 3

const SERVES_GRPC = ['--grpc', '127.0.0.1:0']

/** A service, and its port of gRPC. */
type GrpcService = { service: ServerProcess; port: number }

/** Hot pages over gRPC beside the same ones over REST, and beside the smallest answer. */
export async function measureGrpc(store: string, hot: readonly string[]): Promise<Figure[]> {
  await using service = await serveStore(store, SERVES_GRPC)
  const served = await grpcOf(service)
  const figures: Figure[] = []
  for (const target of hot) figures.push(...(await hotRates(served, target)))
  return figures
}

/** Processor time of hot and cold pages over gRPC beside that of the same ones over REST. */
export async function grpcTurns(
  pages: readonly { store: string; hot: readonly string[]; cold: readonly ColdPages[] }[],
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { store, hot, cold } of pages) {
    await using service = await serveStore(store, SERVES_GRPC)
    const served = await grpcOf(service)
    for (const target of hot)
      figures.push(await processorTime(served, `a hot page, ${sizeOf(target)}`, () => target, MOST_HOT))
    for (const { name, nextTarget } of cold)
      figures.push(await processorTime(served, `a cold page of ${name}`, nextTarget, MOST_COLD))
  }
  return figures
}

async function grpcOf(service: ServerProcess): Promise<GrpcService> {
  const [, port] = await service.printed(/serving gRPC on [\d.]+:(\d+)/)
  return { service, port: Number(port) }
}

/** `first=100` */
const sizeOf = (target: string) => /first=\d+/.exec(target)![0]

/** Calls a second for a hot page, beside the same one over REST, and beside the smallest answer: a call of health, of two bytes. */
async function hotRates({ service, port }: GrpcService, target: string): Promise<Figure[]> {
  const check = methodsOf(HEALTH).Check!
  const rateOf =
    ({ path, message }: Call) =>
    async () => {
      const options = { connections: CONNECTIONS, seconds: SECONDS, path, nextMessage: () => message }
      return (await measureCalls(port, options)).rate
    }
  const [ours, least, rest] = await inTurns(ROUNDS, [
    rateOf(callOf(target)),
    rateOf({ path: check.path, message: check.requestSerialize({}) }),
    async () => {
      const options = { connections: CONNECTIONS, seconds: SECONDS, nextTarget: () => target }
      return (await measureLoad(service.base, options)).rate
    },
  ])
  const limits = { 'an empty call': median(least!), REST: median(rest!) }
  return Object.entries(limits).map(([name, value]) =>
    figure(`gRPC: hot pages, ${sizeOf(target)}, beside ${name}`, median(ours!), 'calls/s', {
      limit: { name, value },
    }),
  )
}

/** Processor time of the service for a page over gRPC beside the same kind of page over REST, in turns. */
async function processorTime(
  { service, port }: GrpcService,
  what: string,
  nextTarget: () => string,
  most: number,
): Promise<Figure> {
  const { path } = callOf(nextTarget())
  const [ours, rest] = await loadsInTurns(CONNECTIONS, [
    {
      server: service,
      measure: (options) =>
        measureCalls(port, { ...options, path, nextMessage: () => callOf(nextTarget()).message }),
    },
    { server: service, nextTarget },
  ])
  return figure(`gRPC: processor time of ${what}`, ours!.micros, 'us', {
    limit: { name: 'REST', value: rest!.micros },
    target: { most },
  })
}

type Call = { path: string; message: Buffer }

/** The call that asks for the same page as a request of REST. */
function callOf(target: string): Call {
  const { pathname, searchParams } = new URL(target, 'http://localhost')
  const resource = RESOURCES.find(({ path }) => pathname.startsWith(path.replace(':marketId', '')))!
  const scope = resource.scope === null ? {} : { [resource.scope]: pathname.split('/').at(-1) }
  const request: Record<string, unknown> = { ...scope, pagination: {} }
  for (const [name, value] of searchParams) {
    const [head, inner] = name.split('.')
    if (inner === undefined) request[name] = value
    else Object.assign(request[head!] as object, { [inner]: value })
  }
  const { path, requestSerialize } = methodsOf(TRADING_DATA)[resource.grpcMethod!]!
  return { path, message: requestSerialize(request) }
}
