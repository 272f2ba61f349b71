import type { Checkpoint } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { TableHead } from '../parts/tables/table-head.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Id } from '../parts/values/id.tsx'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { missingBetween } from '../service/missing.ts'

export type CheckpointsTableProps = {
  checkpoints: readonly Checkpoint[]
  /** The height that was asked for; the last checkpoint at or below it is marked. */
  height: string | null
}

export function CheckpointsTable({ checkpoints, height }: CheckpointsTableProps) {
  const marked =
    height === null
      ? undefined
      : checkpoints.find(({ atBlock }) => BigInt(atBlock) <= BigInt(height))?.atBlock
  const isOther = marked !== undefined && BigInt(marked) !== BigInt(height!)
  const last = BigInt(lastHeight(latestCoverage()!))
  /** The block of the checkpoint above one; of the first, the block that was asked for. */
  const heightAbove = (index: number): bigint | null => {
    const above = index === 0 ? height : checkpoints[index - 1]!.atBlock
    return above === null ? null : BigInt(above)
  }
  return (
    <>
      {isOther && (
        <p class="notice">
          {describeNone(BigInt(height!), BigInt(marked), last)} Marked is the last stored one before it, of
          block {groupDigits(marked)}.
        </p>
      )}
      <TablePlace name="Table of checkpoints">
        <table class="checkpoints">
          <TableHead
            titles={['Block', 'Checkpoint hash', 'Block hash']}
            texts={['Checkpoint hash', 'Block hash']}
          />
          <tbody>
            {checkpoints.flatMap(({ atBlock, hash, blockHash }, index) => [
              <MissingBetween
                key={`above ${atBlock} ${hash}`}
                older={BigInt(atBlock)}
                newer={heightAbove(index)}
              />,
              <tr
                key={`${atBlock} ${hash}`}
                class={atBlock === marked ? 'marked' : ''}
                aria-current={atBlock === marked}
              >
                <td class="figure-column">{groupDigits(atBlock)}</td>
                <td>
                  <Id id={hash} what="the checkpoint hash" whole />
                </td>
                <td>
                  <Id id={blockHash} what="the block hash" whole />
                </td>
              </tr>,
            ])}
          </tbody>
        </table>
      </TablePlace>
    </>
  )
}

/** Why there is no checkpoint of a block, as far as is known; the one of an older block is shown. */
function describeNone(height: bigint, older: bigint, last: bigint): string {
  const block = groupDigits(`${height}`)
  if (height > last) return `Block ${block} is after the last stored block, ${groupDigits(`${last}`)}.`
  return missingBetween('checkpoints', older, height).length > 0
    ? `No checkpoint of block ${block} is stored, and blocks up to it are missing.`
    : `Block ${block} has no checkpoint.`
}

/** Says between two checkpoints which blocks are missing; nothing if none are. */
function MissingBetween({ older, newer }: { older: bigint; newer: bigint | null }) {
  if (newer === null) return null
  const missing = missingBetween('checkpoints', older, newer)
  if (missing.length === 0) return null
  const [first, last] = [missing[0]!.from, missing.at(-1)!.to]
  return (
    <tr class="missing-rows">
      <td class="unpaid" colSpan={3}>
        {missing.length === 1 ? 'blocks' : 'blocks among'} {groupDigits(first)} to {groupDigits(last)} missing
      </td>
    </tr>
  )
}
