import { SOURCES } from '../resources/funding-period-data-points.ts'

const MARKET_ID = { type: 'string', pattern: '^[0-9a-f]{64}$' }
const PARTY_ID = { type: 'string', pattern: '^([0-9a-f]{64}|network)$' }
const UINT64 = { type: 'string', pattern: '^[0-9]+$' }
const TEXT = { type: 'string' }

const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, TEXT]))

/** The schema of a JSON object in which every field is present, and no other. */
export const closedObject = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** JSON schemas of the resources' nodes: every field is present, and no other. */
export const NODE_SCHEMAS = {
  Checkpoint: closedObject({
    hash: { ...TEXT, description: 'Hash of the checkpoint.' },
    blockHash: { ...TEXT, description: 'Hash of the block at which the checkpoint is made.' },
    atBlock: { ...UINT64, description: 'Height of the block at which the checkpoint is made.' },
  }),
  FundingPeriodDataPoint: closedObject({
    marketId: MARKET_ID,
    seq: { ...UINT64, description: 'The funding period that the point belongs to.' },
    dataPointType: { type: 'string', enum: [...SOURCES] },
    price: { ...TEXT, description: 'Price of the asset as the point sees it.' },
    timestamp: { type: 'string', pattern: '^-?[0-9]+$', description: 'Unix nanoseconds.' },
    twap: { ...TEXT, description: 'Time-weighted average price of the source up to the point.' },
  }),
  LiquidityProvider: closedObject({
    partyId: PARTY_ID,
    marketId: MARKET_ID,
    feeShare: closedObject({
      party: PARTY_ID,
      ...texts('equityLikeShare', 'averageEntryValuation', 'averageScore', 'virtualStake'),
    }),
    sla: {
      oneOf: [
        { type: 'null' },
        closedObject({
          party: PARTY_ID,
          ...texts(
            'currentEpochFractionOfTimeOnBook',
            'lastEpochFractionOfTimeOnBook',
            'lastEpochFeePenalty',
            'lastEpochBondPenalty',
          ),
          hysteresisPeriodFeePenalties: { type: 'array', items: TEXT },
          ...texts('requiredLiquidity', 'notionalVolumeBuys', 'notionalVolumeSells'),
        }),
      ],
    },
  }),
}
