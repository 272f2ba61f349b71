import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const ROOT = join(import.meta.dirname, '..')
export const MAIN = join(ROOT, 'bin/lyra.js')

const run = promisify(execFile)

/** Runs a script of ours and returns the last line of its standard output as JSON. */
export async function runForJson<T>(script: string, args: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [script, ...args], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as T
}

/** Result of an ingestion (`lyra ingest --json`). */
export type TakenIn = { records: number; seconds: number; rows: { fundingPeriodDataPoints: number } }

/** The arguments of an ingestion whose report is read; a path or `-` follows. */
export function ingestArgs(store: string): string[] {
  return ['ingest', '--json', '--log-level', 'silent', '--store', store]
}

/** Ingests a file into a store, in a separate process. */
export function ingest(store: string, path: string): Promise<TakenIn> {
  return runForJson<TakenIn>(MAIN, [...ingestArgs(store), path])
}

/** Resources used by a process and its children. */
type Usage = {
  /** Peak memory of any of these processes, in bytes; -Infinity if the system does not report it. */
  peakMemory(): number
  /** Processor seconds that its processes have taken so far; 0 if the system does not tell. */
  processorSeconds(): number
}

/** A server in a process of its own. */
export type ServerProcess = Usage & { base: string; stop(): Promise<void> }

/** Watches a process that runs. */
export function usageOf(pid: number): Usage {
  /** A file of `/proc` for each process of the server; none if the system has no such. */
  const proc = (name: string): string[] => {
    try {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      const ids = [String(pid), ...children.filter((id) => id !== '')]
      return ids.map((id) => readFileSync(`/proc/${id}/${name}`, 'utf8'))
    } catch {
      return []
    }
  }
  return {
    peakMemory: () =>
      Math.max(...proc('status').map((text) => Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) * 1024)),
    processorSeconds: () =>
      proc('stat').reduce((sum, text) => {
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        return sum + (Number(fields[11]) + Number(fields[12])) / 100
      }, 0),
  }
}

/** Starts a script that serves, and waits until it names its address. */
export async function startServer(script: string, args: string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const base = await addressOf(child)
  return {
    base,
    ...usageOf(child.pid!),
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    const look = (text: Buffer) => {
      output += text
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (match !== null) resolve(match[0])
    }
    child.stdout!.on('data', look)
    child.stderr!.on('data', look)
    child.once('exit', () => reject(new Error(`a server ended before it served:\n${output}`)))
  })
}

/** Serves a store, as `lyra serve` does. */
export function serveStore(store: string, args: string[] = []): Promise<ServerProcess> {
  return startServer(MAIN, ['serve', '--port', '0', '--log-level', 'info', '--store', store, ...args])
}

/** Seconds from the start of the program on a store to its first answer to a request. */
export async function timeToFirstAnswer(store: string, target: string): Promise<number> {
  const startedAt = performance.now()
  const service = await serveStore(store)
  const answer = await fetch(`${service.base}${target}`)
  if (!answer.ok) throw new Error(`${target}: ${answer.status}`)
  await answer.arrayBuffer()
  const seconds = (performance.now() - startedAt) / 1_000
  await service.stop()
  return seconds
}
