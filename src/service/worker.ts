// A process of several that answer; workers.ts starts it and sends it its settings.
import { AggregatorRegistry } from 'prom-client'
import { unavailable } from '../api/http/errors.ts'
import { commitAnnouncer } from '../commits.ts'
import { createLogger } from '../log.ts'
import { type Answering, startAnswering } from './answering.ts'
import { ListenError } from './listen.ts'
import { collectEarly } from './memory.ts'
import type { ServeSettings } from './settings.ts'
import type { FromWorker, ToWorker } from './workers.ts'

// A terminal sends these to every process of the service: the first one handles them.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
// Without the first process nothing ingests blocks, and nothing would ever end this one.
process.on('disconnect', () => process.exit(1))

collectEarly()

// Answers when the first process gathers the figures of all.
new AggregatorRegistry()

const post = (message: FromWorker) => process.send!(message)

let answering: Answering | null = null
/** Passes the first process's commit announcements to the threads of this process. */
let commits: ReturnType<typeof commitAnnouncer> | null = null
let questions = 0
const waiting = new Map<number, (text: string | null) => void>()

/** The figures of all processes together. */
async function metricsOfAll(): Promise<string> {
  const id = questions++
  post({ type: 'metrics?', id })
  const text = await new Promise<string | null>((resolve) => waiting.set(id, resolve))
  if (text === null) throw unavailable('a process of the service did not report its metrics; try again')
  return text
}

async function start(settings: ServeSettings): Promise<void> {
  try {
    const started = await startAnswering(settings, createLogger(settings.logLevel), metricsOfAll)
    AggregatorRegistry.setRegistries(started.registry)
    answering = started
    commits = commitAnnouncer(settings.store)
    post({ type: 'answering', url: answering.url })
  } catch (error) {
    const { message } = error as Error
    post({ type: 'failed', message, isListening: error instanceof ListenError })
  }
}

process.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'start':
      void start(message.settings)
      break
    case 'news':
      answering?.show(message.news)
      break
    case 'committed':
      commits?.announce()
      break
    case 'metrics':
      waiting.get(message.id)?.(message.text)
      waiting.delete(message.id)
      break
    case 'stop':
      void (answering?.stop() ?? Promise.resolve()).then(() => process.exit(0))
      break
    default:
  }
})
