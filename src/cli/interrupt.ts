/** A signal that is aborted by the first SIGINT or SIGTERM; the second one ends the program as always. */
export function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  return stop.signal
}
