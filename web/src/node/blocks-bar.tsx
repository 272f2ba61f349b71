import type { Coverage } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'

type Blocks = Coverage['blocks']

/** Gaps that are listed; a store with more has other troubles. */
const LISTED = 100

/** Which heights are stored, imported and missing: as a bar, and in words. */
export function BlocksBar({ blocks: { ranges, gaps, imported } }: { blocks: Blocks }) {
  const parts = [
    ...ranges.map((range) => ({ ...range, kind: 'stored' as const })),
    ...imported.map((range) => ({ ...range, kind: 'imported' as const })),
    ...gaps,
  ].sort((left, right) => (BigInt(left.from) < BigInt(right.from) ? -1 : 1))
  const [first, last] = [parts[0], parts.at(-1)]
  if (first === undefined || last === undefined) return <p class="quiet">None yet.</p>
  const whole = BigInt(last.to) - BigInt(first.from) + 1n
  return (
    <>
      <div class="blocks-bar" aria-hidden="true">
        {parts.map(({ from, to, kind }) => (
          <span
            key={from}
            class={kind}
            style={{ flexGrow: shareOf(BigInt(to) - BigInt(from) + 1n, whole) }}
          />
        ))}
      </div>
      <div class="blocks-ends" aria-hidden="true">
        <span>{groupDigits(first.from)}</span>
        <span>{groupDigits(last.to)}</span>
      </div>
      {gaps.length === 0 ? (
        <p>
          Every block from {groupDigits(first.from)} to {groupDigits(last.to)}, without a gap.
        </p>
      ) : (
        <>
          <p>
            {groupDigits(String(gaps.length))} {gaps.length === 1 ? 'gap' : 'gaps'} between block{' '}
            {groupDigits(first.from)} and block {groupDigits(last.to)}:
          </p>
          <ul class="gaps">
            {gaps.slice(0, LISTED).map(({ from, to, kind, start, end }) => (
              <li key={from}>
                {heightsText(from, to)} <span class="bad">{kind}</span>
                {start !== null && end !== null && `, ${formatMinute(start)} to ${formatMinute(end)} UTC`}
              </li>
            ))}
          </ul>
          {gaps.length > LISTED && <p class="quiet">The first {LISTED} are listed.</p>}
        </>
      )}
      {imported.length > 0 && <Imported ranges={imported} />}
    </>
  )
}

/** Which blocks are imported, and what that means. */
function Imported({ ranges }: { ranges: Blocks['imported'] }) {
  const count = ranges.reduce((sum, { from, to }) => sum + BigInt(to) - BigInt(from) + 1n, 0n)
  return (
    <div class="imported">
      <p>
        {groupDigits(count.toString())} {count === 1n ? 'block is' : 'blocks are'} <strong>imported</strong>{' '}
        from a data node's tables:
      </p>
      <ul>
        {ranges.slice(0, LISTED).map(({ from, to }) => (
          <li key={from}>{heightsText(from, to)}</li>
        ))}
      </ul>
      {ranges.length > LISTED && <p class="quiet">The first {LISTED} are listed.</p>}
      <p class="quiet">
        Each has only the last data point of each market, period and source, with times in microseconds; the
        order of its rows is unknown, and its funding cannot be verified. Only a new store made from event
        files has them complete.
      </p>
    </div>
  )
}

function heightsText(from: string, to: string): string {
  return from === to ? `block ${groupDigits(from)}` : `blocks ${groupDigits(from)} to ${groupDigits(to)}`
}

/** In millionths, so that no figure is too great for a style. */
function shareOf(part: bigint, whole: bigint): number {
  return Number((part * 1_000_000n) / whole)
}
