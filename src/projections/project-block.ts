import type { Block } from '../blocks/block.ts'
import { projectAuction } from './auctions.ts'
import type { Batch, StreamPlace } from './batch.ts'
import { projectCheckpoint } from './checkpoints.ts'
import { projectFundingPeriodDataPoint } from './funding-period-data-points.ts'
import { projectFundingPeriod } from './funding-periods.ts'
import { projectAsset, projectInstrument } from './instruments.ts'
import { projectLiquidityProvision, projectMarketData } from './liquidity-providers.ts'

/** Adds what a block changes to a batch. */
export function projectBlock(batch: Batch, block: Block): void {
  if (block.isAddition) batch.additions++
  else batch.blocks++
  const { height, replacesAfter } = block
  if (block.replacesImport) batch.replacedImports.push(height)
  if (replacesAfter !== null) batch.replaced.push({ height, eventIndex: replacesAfter })
  for (const { index, event } of block.events) {
    const place: StreamPlace = { height: block.height, eventIndex: index }
    switch (event.kind) {
      case 'funding-period-data-point':
        projectFundingPeriodDataPoint(batch, event, place)
        break
      case 'market-data':
        projectMarketData(batch, event, place)
        break
      case 'checkpoint':
        projectCheckpoint(batch, event, place, block.timestamp)
        break
      case 'funding-period':
        projectFundingPeriod(batch, event, place)
        break
      case 'auction':
        projectAuction(batch, event, place)
        break
      case 'liquidity-provision':
        projectLiquidityProvision(batch, event, place)
        break
      case 'market':
        projectInstrument(batch, event, place)
        break
      case 'asset':
        projectAsset(batch, event, place)
        break
      default:
        event satisfies never
    }
  }
}
