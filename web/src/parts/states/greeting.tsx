import { readiness } from '../../service/coverage.ts'
import { CopyButton } from '../copy-button.tsx'

/** The commands that fill a store. */
function commandsFor(store: string) {
  const word = /^[\w.:/-]+$/.test(store) ? store : `'${store.replaceAll("'", `'\\''`)}'`
  return [
    ['Ingest event files of a network', `lyra ingest --store ${word} events.evts.gz`],
    ["Import a data node's history", `lyra import --store ${word} segments/`],
    ['Follow a core, which connects to --listen', `lyra serve --store ${word} --listen 127.0.0.1:3005`],
  ] as const
}

/** The empty store of a service that waits for a core. */
function Waiting({ isConnected, store }: { isConnected: boolean; store: string }) {
  return (
    <section class="panel greeting" aria-labelledby="greeting-title">
      <h2 id="greeting-title">
        {isConnected ? 'Waiting for the first block' : 'Waiting for a core to connect'}
      </h2>
      <p>
        The service listens for a core, and its store <code>{store}</code> has no blocks yet.{' '}
        {isConnected
          ? 'A core is connected. Its first whole block will appear here.'
          : "Set the service's address as the event receiver in the core's configuration, and start the core."}
      </p>
    </section>
  )
}

/** An empty store is where everyone begins: says how it is filled. */
export function Greeting() {
  const ready = readiness.value
  const store = (ready?.status === 'not ready' ? ready.store : undefined) ?? 'STORE'
  if (ready?.live !== undefined) return <Waiting isConnected={ready.live.coreConnected} store={store} />
  return (
    <section class="panel greeting" aria-labelledby="greeting-title">
      <h2 id="greeting-title">This store is empty</h2>
      <p>
        The service is running, but its store <code>{store}</code> has no blocks yet. Fill it in one of three
        ways, in the folder of the service:
      </p>
      <dl>
        {commandsFor(store).map(([what, command]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd class="command">
              <code>{command}</code>
              <CopyButton text={command} what={`the command: ${what}`} label="Copy" />
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        To follow a core, also set the service's address as the event receiver in the core's configuration.
      </p>
    </section>
  )
}
