import { createLyraClient } from 'lyra-client'
import { watchedFetch } from './connection.ts'

/** The service that has sent this page. If it limits requests, a range of many points takes patience. */
export const lyra = createLyraClient({ url: location.origin, fetch: watchedFetch, retries: 5 })

/** The same, for questions that come again every few seconds: none is tried twice. */
export const watcher = createLyraClient({ url: location.origin, fetch: watchedFetch, retries: 0 })
