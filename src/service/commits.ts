import { BroadcastChannel } from 'node:worker_threads'

/*
 * Announcements between the threads of a process. They have no content, and are only hints: a thread that misses one
 * notices the commit a little later.
 */

const channelOf = (store: string) => new BroadcastChannel(`lyra: commits to ${store}`)

/** Says in this process that a store's writer has committed. */
export function commitAnnouncer(store: string): { announce(): void; close(): void } {
  const channel = channelOf(store)
  return { announce: () => channel.postMessage(null), close: () => channel.close() }
}

/** Calls `listener` with each commit to a store that is announced in this process, until the function returned is called. */
export function listenForCommits(store: string, listener: () => void): () => void {
  // A service that cannot begin ends although it listens.
  const channel = channelOf(store).unref()
  channel.onmessage = listener
  return () => channel.close()
}
