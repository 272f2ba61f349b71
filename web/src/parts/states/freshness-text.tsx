import { type Freshness, freshness } from '../../service/freshness.ts'

/** The colour of a state. */
export const FRESHNESS_DOTS: Record<Freshness['state'], string> = {
  connecting: 'unknown',
  live: 'up',
  receiving: 'up',
  lagging: 'faulty',
  static: 'still',
  'not-ready': 'faulty',
  empty: 'faulty',
  down: 'down',
}

/** How current the data are, in the same words everywhere. */
export function FreshnessText() {
  const { state, text, more } = freshness.value
  return (
    <span class="freshness" title={more} data-freshness={state}>
      <span class={`dot ${FRESHNESS_DOTS[state]}`} aria-hidden="true" />
      <span class="freshness-text">{text}</span>
    </span>
  )
}
