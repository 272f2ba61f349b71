import type { Checkpoint } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { Id } from '../parts/id.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { TablePlace } from '../parts/table-place.tsx'

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
  return (
    <>
      {isOther && (
        <p class="notice">
          Block {groupDigits(height!)} has no checkpoint. Marked is the last one before it, of block{' '}
          {groupDigits(marked)}.
        </p>
      )}
      <TablePlace name="Table of checkpoints">
        <table class="checkpoints">
          <TableHead
            titles={['Block', 'Checkpoint hash', 'Block hash']}
            texts={['Checkpoint hash', 'Block hash']}
          />
          <tbody>
            {checkpoints.map(({ atBlock, hash, blockHash }) => (
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
              </tr>
            ))}
          </tbody>
        </table>
      </TablePlace>
    </>
  )
}
