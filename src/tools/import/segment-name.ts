import { basename } from 'node:path'

/** Parts of a segment's name: `CHAIN-DBVERSION-FROM-TO.zip`. */
export type SegmentName = { chainId: string; schemaVersion: number; from: number; to: number }

/** Read from the right: a chain's id may contain dashes, and any other character. */
const NAME = /^(.+)-(\d{1,9})-(\d{1,15})-(\d{1,15})\.zip$/s

/** Reads the name of a segment's file; null for any other name. */
export function parseSegmentName(path: string): SegmentName | null {
  const match = NAME.exec(basename(path))
  if (match === null) return null
  const [, chainId, schemaVersion, from, to] = match
  return { chainId: chainId!, schemaVersion: Number(schemaVersion), from: Number(from), to: Number(to) }
}

/** The name that a segment's file has. */
export function segmentName({ chainId, schemaVersion, from, to }: SegmentName): string {
  return `${chainId}-${schemaVersion}-${from}-${to}.zip`
}
