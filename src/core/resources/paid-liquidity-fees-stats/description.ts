import { defineResource, type RequestKind, type Selection } from '../../model/resource.ts'
import { paidFeesPartyTable, paidFeesStatsTable } from './table.ts'

/** What markets paid to their liquidity providers, by epoch. */
export const paidLiquidityFeesStats = defineResource({
  name: 'paidLiquidityFeesStats',
  nodeName: 'PaidLiquidityFees',
  summary: 'List the liquidity fees that markets paid, by epoch',
  meaning: 'The fees that a market allocated to its liquidity providers for an epoch, before fee penalties.',
  path: '/api/v2/liquidity/paidfees',
  bodyKey: 'paidLiquidityFees',
  isOfReference: true,
  tag: 10,
  cursor: 'g',
  key: [
    { column: 'market_id', type: 'id' },
    { column: 'asset_id', type: 'text' },
    { column: 'reverse_epoch', type: 'int64', hidden: '`epochSeq` (descending)' },
    { column: 'height', type: 'uint64', hidden: 'height' },
    { column: 'event_index', type: 'index', hidden: 'index in the block' },
  ],
  filters: [
    'assetId',
    'marketId',
    'epochSeq',
    {
      name: 'epochFrom',
      meaning: 'Only rows of this epoch and later ones. `epochSeq` is then ignored.',
    },
    {
      name: 'epochTo',
      meaning:
        'Only rows of this epoch and earlier ones. `epochSeq` is then ignored; if `epochFrom` is greater, the two are swapped.',
    },
    {
      name: 'partyIds',
      meaning: 'Only rows that name one of these parties, and of their fees only those of these parties.',
      through: paidFeesPartyTable,
    },
  ],
  flags: [
    {
      name: 'includeDerivedParties',
      needs: 'partyIds',
      meaning:
        'Without effect: the parties that derive from others, those of AMMs, are not known. `true` needs `partyIds`.',
    },
  ],
  selectionRule: selectedEpochs,
  wholeList: { epochFrom: '0' },
  storage: { table: paidFeesStatsTable },
  fields: [
    { name: 'market', meaning: 'The market.', column: 'market_id', form: 'marketId' },
    { name: 'asset', meaning: 'The asset of the fees.', column: 'asset_id', form: 'text' },
    { name: 'epochSeq', meaning: 'Number of the epoch.', column: 'epoch', form: 'integer' },
    {
      name: 'totalFeesPaid',
      meaning: 'All fees that the market allocated, in the smallest unit of the asset. Empty if not set.',
      form: 'text',
      decimal: { scale: 0 },
    },
    {
      name: 'feesPaidPerParty',
      meaning: 'The fees of each party.',
      form: {
        typeName: 'PaidLiquidityFee',
        meaning: 'The fees of a liquidity provider.',
        filtered: { by: 'partyIds', field: 'party' },
        elements: [
          { name: 'party', meaning: 'The party.', form: 'partyId' },
          {
            name: 'amount',
            meaning: 'Its fees before the fee penalty, in the smallest unit of the asset.',
            form: 'text',
          },
          {
            name: 'quantumAmount',
            meaning: 'The same in quanta of the asset; mostly empty.',
            form: 'text',
          },
        ],
      },
    },
  ],
  coverage: 'count',
})

/**
 * As data nodes understand the filters of epochs: a range counts instead of a single epoch, and its ends may be swapped. A
 * list without any of them, and without both market and asset, has the highest epoch of the table.
 */
function selectedEpochs(selection: Selection, kind: RequestKind): Selection {
  const { epochSeq, epochFrom, epochTo, ...others } = selection
  if (epochFrom !== undefined && epochTo !== undefined) {
    const [first, last] = epochFrom > epochTo ? [epochTo, epochFrom] : [epochFrom, epochTo]
    return { ...others, epochFrom: first, epochTo: last }
  }
  if (epochFrom !== undefined) return { ...others, epochFrom }
  if (epochTo !== undefined) return { ...others, epochTo }
  if (epochSeq !== undefined) return selection
  const isOfOneMarket = selection.marketId !== undefined && selection.assetId !== undefined
  return kind === 'list' && !isOfOneMarket ? { ...selection, greatest: 'epoch' } : selection
}
