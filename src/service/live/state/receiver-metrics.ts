// The `/metrics` of a receiver that runs alone.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { createMetrics } from '../../metrics.ts'
import { addLogMetrics } from './live-metrics.ts'
import { stateOfLogs } from './logs-state.ts'

/**
 * Serves the figures of an event log and its receiver at `/metrics`, for a receiver that runs alone; returns what ends it.
 *
 * @throws the error of listening (EADDRINUSE, ...).
 */
export async function serveReceiverMetrics(
  eventLog: string,
  { host, port }: { host: string; port: number },
): Promise<() => Promise<void>> {
  const metrics = createMetrics()
  const show = addLogMetrics(metrics)
  const reader = new LogReader([new FollowedLog(new FolderSource(eventLog))])
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end()
      return
    }
    reader.refresh()
    show(stateOfLogs(reader))
    const text = await metrics.text()
    response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text)
  })
  server.listen({ host, port })
  await once(server, 'listening')
  return async () => {
    reader.close()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
}
