import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'

export const ROOT = join(import.meta.dirname, '..')
export const MAIN = join(ROOT, 'bin/lyra.js')

const run = promisify(execFile)

/** Runs a script and returns the last line of its standard output as JSON. */
export async function runForJson<T>(script: string, args: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [script, ...args], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as T
}

/** Result of an ingestion (`lyra ingest --json`). */
export type Ingested = { records: number; seconds: number; rows: { fundingPeriodDataPoints: number } }

/** The arguments of an ingestion whose report is read; a path or `-` follows. */
export function ingestArgs(store: string): string[] {
  return ['ingest', '--json', '--log-level', 'silent', '--store', store]
}

/** Ingests a file into a store, in a separate process. */
export function ingest(store: string, path: string): Promise<Ingested> {
  return runForJson<Ingested>(MAIN, [...ingestArgs(store), path])
}

/** Resources used by a process and its children. */
type Usage = {
  /** Peak memory of any of these processes, in bytes; -Infinity if the system does not report it. */
  peakMemory(): number
  /** Processor seconds that its processes have taken so far; 0 if the system does not tell. */
  processorSeconds(): number
}

/** A server in a process of its own, which ends with the block that has it (`await using`). */
export type ServerProcess = Usage &
  AsyncDisposable & {
    /** The first address that it printed. */
    base: string
    /** Waits until the output of the server matches; throws if it ends before. */
    printed(pattern: RegExp): Promise<RegExpExecArray>
  }

/** What a running process and its children use, from Linux's `/proc`. */
export function usageOf(pid: number): Usage {
  /** A file of `/proc` for each of the processes; none on another system. */
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

/** What a server prints, until it ends. */
class ServerOutput {
  #text = ''
  #hasEnded = false
  #next = Promise.withResolvers<void>()

  constructor(child: ChildProcessByStdio<null, Readable, Readable>) {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        this.#text += piece
        this.#wake()
      })
    child.once('close', () => {
      this.#hasEnded = true
      this.#wake()
    })
  }

  #wake(): void {
    this.#next.resolve()
    this.#next = Promise.withResolvers()
  }

  /** Throws if the server has ended. */
  assertRuns(): void {
    if (this.#hasEnded) throw new Error(`a server ended by itself:\n${this.#text}`)
  }

  async match(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#text)
      if (match !== null) return match
      this.assertRuns()
      await this.#next.promise
    }
  }
}

/** Starts a script that serves, and waits until it prints its address. */
export async function startServer(script: string, args: string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = new ServerOutput(child)
  const [base] = await output.match(/http:\/\/127\.0\.0\.1:\d+/)
  return {
    base,
    ...usageOf(child.pid!),
    printed: (pattern) => output.match(pattern),
    [Symbol.asyncDispose]: async () => {
      output.assertRuns()
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
    },
  }
}

/** Serves a store, as `lyra serve` does. */
export function serveStore(store: string, args: string[] = []): Promise<ServerProcess> {
  return startServer(MAIN, ['serve', '--port', '0', '--log-level', 'info', '--store', store, ...args])
}

/** Seconds from the start of the program on a store to its first answer to a request. */
export async function timeToFirstAnswer(store: string, target: string): Promise<number> {
  const startedAt = performance.now()
  await using service = await serveStore(store)
  const answer = await fetch(`${service.base}${target}`)
  if (!answer.ok) throw new Error(`${target}: ${answer.status}`)
  await answer.arrayBuffer()
  return (performance.now() - startedAt) / 1_000
}
