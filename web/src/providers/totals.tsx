import type { LiquidityProvider } from 'lyra-client'
import { type Unit, whyNoUnit } from '../figures/amount.ts'
import { add, type Decimal, parseDecimal, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { Amount } from '../parts/amount.tsx'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { isPenalised } from './columns.ts'

type Sums = { key: string; unit: Unit | null; required: Decimal; stake: Decimal }

const NOTHING: Decimal = { digits: 0n, scale: 0 }

/** What providers come to together, by settlement asset. */
export function sumsOf(providers: readonly LiquidityProvider[]): Sums[] {
  const sums = new Map<string, Sums>()
  for (const { marketId, sla, feeShare } of providers) {
    const unit = marketUnit(marketId)
    const key = unit === null ? `as sent ${marketId}` : (instrumentOf(marketId)?.settlementAsset?.id ?? '')
    const known = sums.get(key) ?? { key, unit, required: NOTHING, stake: NOTHING }
    sums.set(key, {
      ...known,
      required: add(known.required, parseDecimal(sla?.requiredLiquidity ?? '') ?? NOTHING),
      stake: add(known.stake, parseDecimal(feeShare.virtualStake) ?? NOTHING),
    })
  }
  return [...sums.values()]
}

/** The totals of the providers that are listed. */
export function Totals({ providers }: { providers: readonly LiquidityProvider[] }) {
  const count = (of: (provider: LiquidityProvider) => string) => new Set(providers.map(of)).size
  const sums = sumsOf(providers)
  const why = [...new Set(providers.map(({ marketId }) => whyNoUnit(instrumentOf(marketId))))].find(
    (text) => text !== null,
  )
  return (
    <>
      <dl class="facts totals" aria-label="Totals of the providers listed">
        <Fact name="Provisions" value={providers.length} figure="provisions" />
        <Fact name="Parties" value={count(({ partyId }) => partyId)} figure="parties" />
        <Fact name="Markets" value={count(({ marketId }) => marketId)} figure="markets" />
        <Fact name="Penalised" value={providers.filter(isPenalised).length} figure="penalised" />
        {sums.map(({ key, unit, required, stake }) => (
          <div key={key}>
            <dt>Required liquidity</dt>
            <dd>
              <Amount text={writeDecimal(required)} unit={unit} places={2} name="total-required" />
            </dd>
            <dt>Virtual stake</dt>
            <dd>
              <Amount text={writeDecimal(stake)} unit={unit} places={2} name="total-stake" />
            </dd>
          </div>
        ))}
      </dl>
      {why !== undefined && why !== null && (
        <p class="quiet">Some amounts are whole numbers as sent: {why}.</p>
      )}
    </>
  )
}

function Fact({ name, value, figure }: { name: string; value: number; figure: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-figure={figure}>{groupDigits(`${value}`)}</dd>
    </div>
  )
}
