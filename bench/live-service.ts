import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAIN } from './processes.ts'

/** A service that waits for a core: its address, the core's port and its process id. */
export type LiveService = { base: string; corePort: number; pid: number }

/** Runs `work` with a service that waits for a core, on an empty store in a folder that goes away with it. */
export async function withLiveService<T>(work: (service: LiveService) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-bench-'))
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'serve',
      '--port',
      '0',
      '--store',
      join(folder, 'lyra.db'),
      '--log-level',
      'info',
      '--listen',
      '127.0.0.1:0',
      '--event-log',
      join(folder, 'log'),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  try {
    const [base, corePort] = await new Promise<[string, number]>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const address = /serving .* on (http:\/\/[\d.:]+)/.exec(output)
        const port = /waiting for a core on 127\.0\.0\.1:(\d+)/.exec(output)
        if (address !== null && port !== null) resolve([address[1]!, Number(port[1])])
      })
    })
    return await work({ base, corePort, pid: child.pid! })
  } catch (error) {
    throw new Error(`the service said:\n${output}`, { cause: error })
  } finally {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
}
