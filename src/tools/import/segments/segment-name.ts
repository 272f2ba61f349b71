import { basename } from 'node:path'

/** The parts of a segment's name: `CHAIN-DBVERSION-FROM-TO.zip`. */
export type SegmentName = { chainId: string; schemaVersion: number; from: number; to: number }

/** Matched from the right, because a chain id may contain dashes, and any other character. */
const NAME = /^(.+)-(\d{1,9})-(\d{1,15})-(\d{1,15})\.zip$/s

/** Parses the name of a segment's file; null for any other name. */
export function parseSegmentName(path: string): SegmentName | null {
  const match = NAME.exec(basename(path))
  if (match === null) return null
  const [, chainId, schemaVersion, from, to] = match
  return { chainId: chainId!, schemaVersion: Number(schemaVersion), from: Number(from), to: Number(to) }
}

/** The name of a segment's file. */
export function segmentName({ chainId, schemaVersion, from, to }: SegmentName): string {
  return `${chainId}-${schemaVersion}-${from}-${to}.zip`
}
