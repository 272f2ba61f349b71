import { param, setParams } from '../location.ts'
import { knownMarkets } from '../parts/market-picker.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { coverageError, latestCoverage } from '../service/coverage.ts'
import { MarketRow } from './market-row.tsx'

/** Rows that are shown at first; each asks for its latest points. */
const SHOWN = 50

export function MarketsView() {
  const coverage = latestCoverage()
  if (coverage === null) {
    const error = coverageError.value
    return error === null ? (
      <Loading what="markets" />
    ) : (
      <Failure error={error} onRetry={() => location.reload()} />
    )
  }
  const wanted = (param('find') ?? '').toLowerCase()
  const markets = knownMarkets().filter((id) => id.includes(wanted))
  const count = param('all') === null ? SHOWN : markets.length
  return (
    <>
      <p class="lead">Markets of which this service holds funding data points or liquidity providers.</p>
      {(wanted !== '' || knownMarkets().length > 8) && (
        <label class="field">
          <span class="field-label">Find a market by its id</span>
          <input
            type="search"
            class="mono"
            value={wanted}
            spellcheck={false}
            onInput={(event) => setParams({ find: event.currentTarget.value || null }, { push: false })}
          />
        </label>
      )}
      {markets.length === 0 ? (
        <Empty title={wanted === '' ? 'No market yet' : 'No market has such an id'}>
          {wanted === '' ? 'No block so far had a data point or a liquidity provider in it.' : null}
        </Empty>
      ) : (
        <ul class="markets">
          {markets.slice(0, count).map((id) => (
            <MarketRow key={id} marketId={id} coverage={coverage} />
          ))}
        </ul>
      )}
      {markets.length > count && (
        <button type="button" class="button" onClick={() => setParams({ all: '1' })}>
          Show all {markets.length}
        </button>
      )}
    </>
  )
}
