// Event logs that are read together are of one chain.
import { PlainError } from '#core/domain/plain-error'
import type { FollowedLog } from '#core/log/read/followed-log'

type LogOfChain = { log: FollowedLog; number: number; chain: string }

/** Event logs that are read together, but are of different chains. The message is public. */
export class SeveralChainsError extends PlainError {
  override name = 'SeveralChainsError'
  /** The message with the folders of the logs, which only the operator may see. */
  readonly withFolders: string

  constructor(one: LogOfChain, other: LogOfChain) {
    const remedy = 'follow only logs of one chain'
    super(
      `log ${one.number} is of chain ${one.chain}, log ${other.number} of chain ${other.chain}: ${remedy}`,
    )
    this.withFolders = `${one.log.name} is of chain ${one.chain}, ${other.log.name} of chain ${other.chain}: ${remedy}`
  }
}

/**
 * Finds logs that are not of one chain: their blocks would be taken for the same; null if all are. A log that has no whole block yet
 * has no chain.
 */
export function findSeveralChains(logs: readonly FollowedLog[]): SeveralChainsError | null {
  const withChain = logs.flatMap((log, index): LogOfChain[] => {
    const chainId = log.head?.chainId ?? null
    return chainId === null ? [] : [{ log, number: index + 1, chain: JSON.stringify(chainId) }]
  })
  const [first] = withChain
  const other = withChain.find(({ chain }) => chain !== first!.chain)
  return other === undefined ? null : new SeveralChainsError(first!, other)
}

/** @throws {SeveralChainsError} for what {@link findSeveralChains} finds. */
export function refuseSeveralChains(logs: readonly FollowedLog[]): void {
  const error = findSeveralChains(logs)
  if (error !== null) throw error
}
