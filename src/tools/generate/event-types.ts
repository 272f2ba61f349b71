/** A kind of event: its field number in `BusEvent`'s oneof, and the number in `BusEvent.type`. */
export type EventType = { kind: number; type: number }

/** The kinds of events with meaningful contents (docs/events.md, envelope; types as in real streams). */
export const EVENT_TYPES = {
  timeUpdate: { kind: 101, type: 2 },
  marketData: { kind: 111, type: 12 },
  marketCreated: { kind: 116, type: 17 },
  marketUpdated: { kind: 125, type: 26 },
  asset: { kind: 117, type: 18 },
  epoch: { kind: 131, type: 31 },
  auction: { kind: 121, type: 22 },
  liquidityProvision: { kind: 124, type: 25 },
  lossSocialization: { kind: 113, type: 14 },
  expiredOrders: { kind: 156, type: 57 },
  cancelledOrders: { kind: 187, type: 89 },
  checkpoint: { kind: 135, type: 35 },
  beginBlock: { kind: 148, type: 49 },
  endBlock: { kind: 149, type: 50 },
  protocolUpgradeStarted: { kind: 150, type: 51 },
  fundingPeriod: { kind: 159, type: 61 },
  fundingPeriodDataPoint: { kind: 160, type: 62 },
  fundingPayments: { kind: 178, type: 80 },
  paidLiquidityFees: { kind: 179, type: 81 },
} as const satisfies Record<string, EventType>
