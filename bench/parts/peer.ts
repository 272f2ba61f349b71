import type { Figure } from '../figures.ts'
import { besideServer } from './pages.ts'

/**
 * The same requests to two servers, in turns: this one and a peer. Each gets the requests of a target
 * repeatedly, and requests for pages anywhere in its list, which never repeat; lists too short for that are left out.
 */
export async function comparePeers(
  base: string,
  peer: string,
  targets: readonly string[],
): Promise<Figure[]> {
  const figures: Figure[] = []
  const compare = async (what: string, nextTarget: () => string, nextOfPeer: () => string) => {
    const limit = { name: peer, base: peer, nextTarget: nextOfPeer }
    figures.push(...(await besideServer(what, { base, nextTarget }, limit)))
  }
  for (const target of targets) {
    const hot = () => target
    await compare(`${target}, hot`, hot, hot)
    const [ours, theirs] = [await coldTargets(base, target), await coldTargets(peer, target)]
    if (ours === null || theirs === null) console.log(`${target}: too few rows for cold pages, left out`)
    else await compare(`${target}, cold`, ours, theirs)
  }
  return figures
}

/** Cursors that cold pages begin after, at most. */
const MAX_CURSORS = 2_000

type ListBody = Record<string, { edges?: { cursor: string }[]; pageInfo?: { hasNextPage: boolean } }>

/**
 * Gives requests for pages of a target's list, each after a random one of its first rows that a whole page follows, and
 * each with a number that no other has; null if there is no such row.
 */
export async function coldTargets(base: string, target: string): Promise<(() => string) | null> {
  const separator = target.includes('?') ? '&' : '?'
  const after = (cursor: string) => `${target}${separator}pagination.after=${encodeURIComponent(cursor)}`
  const cursors: string[] = []
  let next: string | null = target
  let pageRows = 0
  while (next !== null && cursors.length < MAX_CURSORS) {
    const response = await fetch(`${base}${next}`)
    if (!response.ok) throw new Error(`${base}${next}: ${response.status}`)
    const { edges = [], pageInfo } = Object.values((await response.json()) as ListBody)[0] ?? {}
    pageRows = Math.max(pageRows, edges.length)
    cursors.push(...edges.map(({ cursor }) => cursor))
    next = pageInfo?.hasNextPage === true ? after(edges.at(-1)!.cursor) : null
  }
  const beforeWholePages = cursors.slice(0, -pageRows)
  if (beforeWholePages.length === 0) return null
  let turn = 0
  const anyCursor = () => beforeWholePages[Math.floor(Math.random() * beforeWholePages.length)]!
  // A parameter that both servers ignore, so that a cache does not have the answer.
  return () => `${after(anyCursor())}&turn=${turn++}`
}
