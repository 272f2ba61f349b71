import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { soak } from '../test/fixtures/soak.ts'
import { type Figure, figure } from './figures.ts'
import { percentile } from './load.ts'
import { MAIN } from './processes.ts'

const SECONDS = 30

/**
 * From the end of a block that a core sends to the first reader that sees it, at 1,000 events and 200 requests a
 * second.
 */
export async function measureVisibility(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-bench-'))
  const child = spawn(
    process.execPath,
    [
      ...[MAIN, 'serve', '--port', '0', '--store', join(folder, 'lyra.db'), '--log-level', 'info'],
      ...['--listen', '127.0.0.1:0', '--buffer', join(folder, 'buffer')],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  try {
    const [base, corePort] = await new Promise<[string, number]>((resolve) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const address = /serving .* on (http:\/\/[\d.:]+)/.exec(output)
        const port = /waiting for a core on 127\.0\.0\.1:(\d+)/.exec(output)
        if (address !== null && port !== null) resolve([address[1]!, Number(port[1])])
      })
    })
    const { lags, failures } = await soak({ base, corePort, pid: child.pid! }, SECONDS)
    if (failures.length > 0) throw new Error(`requests that failed: ${failures.slice(0, 3).join(', ')}`)
    return [
      figure('from the end of a block to readers: p50', percentile(lags, 0.5), 'ms'),
      figure('from the end of a block to readers: p99', percentile(lags, 0.99), 'ms', {
        target: { most: 100 },
      }),
    ]
  } catch (error) {
    throw new Error(`the service said:\n${output}`, { cause: error })
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}
