import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, serveStore } from './processes.ts'

/** A service that accepts a core's events. */
export type LiveService = ServerProcess & { corePort: number }

/** Runs `work` with a service that waits for a core, on an empty store in a folder that is removed afterwards. */
export async function withLiveService<T>(work: (service: LiveService) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-bench-'))
  try {
    const args = ['--listen', '127.0.0.1:0', '--event-log', join(folder, 'log')]
    await using service = await serveStore(join(folder, 'lyra.db'), args)
    const [, port] = await service.printed(/waiting for a core on 127\.0\.0\.1:(\d+)/)
    return await work({ ...service, corePort: Number(port) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
