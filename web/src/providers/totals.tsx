import type { LiquidityProvider } from 'lyra-client'
import { type Unit, whyNoUnit } from '../figures/amount.ts'
import { add, type Decimal, parseDecimal, writeDecimal, ZERO } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { Amount } from '../parts/values/amount.tsx'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { isPenalised } from './columns.ts'
import { NotKnown } from './provider-figure.tsx'

/** `required` is null if no provider's is known; that of `unknown` providers is not in it. */
type Sums = { asset: string; unit: Unit; required: Decimal | null; unknown: number; stake: Decimal }

/** Totals of providers by asset, for markets whose asset is known. */
export function sumsOf(providers: readonly LiquidityProvider[]): Sums[] {
  const sums = new Map<string, Sums>()
  for (const { marketId, sla, feeShare } of providers) {
    const unit = marketUnit(marketId)
    if (unit === null) continue
    const asset = instrumentOf(marketId)?.settlementAsset?.id ?? ''
    const known = sums.get(asset) ?? { asset, unit, required: null, unknown: 0, stake: ZERO }
    // Empty in a market that has not left its opening auction.
    const required = parseDecimal(sla?.requiredLiquidity ?? '0')
    sums.set(asset, {
      ...known,
      required: required === null ? known.required : add(known.required ?? ZERO, required),
      unknown: known.unknown + (required === null ? 1 : 0),
      stake: add(known.stake, parseDecimal(feeShare.virtualStake) ?? ZERO),
    })
  }
  return [...sums.values()].sort((left, right) => (left.unit.symbol < right.unit.symbol ? -1 : 1))
}

/** The totals of the providers that are listed: how many, and how much of each asset. */
export function Totals({ providers }: { providers: readonly LiquidityProvider[] }) {
  const count = (of: (provider: LiquidityProvider) => string) => new Set(providers.map(of)).size
  const unknown = providers.filter(({ marketId }) => marketUnit(marketId) === null)
  const markets = new Set(unknown.map(({ marketId }) => marketId)).size
  const why = unknown[0] === undefined ? null : whyNoUnit(instrumentOf(unknown[0].marketId))
  return (
    <>
      <dl class="facts totals" aria-label="Totals of the providers listed">
        <Fact name="Provisions" value={providers.length} figure="provisions" />
        <Fact name="Parties" value={count(({ partyId }) => partyId)} figure="parties" />
        <Fact name="Markets" value={count(({ marketId }) => marketId)} figure="markets" />
        <Fact name="Penalised" value={providers.filter(isPenalised).length} figure="penalised" />
      </dl>
      <div class="asset-totals">
        {sumsOf(providers).map(({ asset, unit, required, unknown, stake }) => (
          <dl
            key={asset}
            class="facts totals"
            aria-label={`Totals in ${unit.symbol}`}
            title={`Asset ${asset}`}
          >
            <div>
              <dt>Required liquidity</dt>
              <dd>
                {required === null ? (
                  <NotKnown />
                ) : (
                  <Amount text={writeDecimal(required)} unit={unit} places={2} name="total-required" />
                )}
                {required !== null && unknown > 0 && (
                  <span class="quiet"> without {groupDigits(`${unknown}`)} not known</span>
                )}
              </dd>
            </div>
            <div>
              <dt>Virtual stake</dt>
              <dd>
                <Amount text={writeDecimal(stake)} unit={unit} places={2} name="total-stake" />
              </dd>
            </div>
          </dl>
        ))}
      </div>
      {why !== null && (
        <p class="quiet">
          Amounts of {groupDigits(`${markets}`)} {markets === 1 ? 'market' : 'markets'} are shown as sent, as
          whole numbers, and excluded from totals: {why}.
        </p>
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
