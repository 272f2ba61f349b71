import { Command, InvalidArgumentError } from 'commander'
import { describeBlocks, describeRanges } from '#core/domain/height-ranges'
import { MAX_INT64 } from '#core/domain/integers'
import { acceptGap, MAX_NAMED } from '#core/store/admin/accept-gap'
import { findStore } from '#core/store/open-store'
import { InvalidSettingError, storeOption } from './options.ts'

const NOTES = `
For blocks that nobody has any more. The service may be running: live ingestion that has stopped at these blocks goes on
within a second, and records them as a gap. They can still be filled later. lyra ingest has --allow-gap instead.`

/** `lyra gap`: accepts that blocks stay missing. */
export function command(): Command {
  const accept = new Command('accept')
    .summary('let live ingestion continue without missing blocks')
    .description('Lets live ingestion continue without the missing blocks FROM to TO.')
    .argument('<from>', 'height of the first missing block', parseHeight)
    .argument('<to>', 'height of the last one', parseHeight)
    .addOption(storeOption())
    .addHelpText('after', NOTES)
    .action(async (from: bigint, to: bigint, { store: name }: { store: string }) => {
      if (from > to)
        throw new InvalidSettingError(`block ${from} comes after block ${to}: give the lower one first`)
      const store = await findStore(name)
      const before = await acceptGap(store, { from, to })
      console.log(`${store.name}: live ingestion may continue without ${describeBlocks({ from, to })}`)
      if (before.length > 0)
        console.log(
          `It needs ${describeRanges(before, MAX_NAMED)} before that: accept these, too, unless they come.`,
        )
    })
  return new Command('gap').description('Lets a store continue without missing blocks.').addCommand(accept)
}

function parseHeight(text: string): bigint {
  if (/^\d{1,19}$/.test(text) && BigInt(text) > 0n && BigInt(text) <= MAX_INT64) return BigInt(text)
  throw new InvalidArgumentError('It must be the height of a block, such as 1677.')
}
