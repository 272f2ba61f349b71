import { useState } from 'preact/hooks'
import { reportTarget } from '../../../client/src/requests.ts'
import { monthOf } from '../figures/format-time.ts'
import type { Range } from '../series/series.ts'

/** Months to choose from, the newest ones: five years. */
const MOST_MONTHS = 60

const RANGE = 'range'

export type StatementDownloadProps = {
  partyId: string
  /** What the view shows. */
  range: Range
  /** From when to when there are payments. */
  stored: Range
  /** The time of the last block. */
  last: bigint
}

/** Chooses a month or the shown range, and links to a party's statement of it: what an accountant needs, as CSV. */
export function StatementDownload({ partyId, range, stored, last }: StatementDownloadProps) {
  const months = monthsOf(stored.from, last)
  const lastMonth = months[1] ?? months[0]!
  const [chosen, setChosen] = useState(lastMonth.name)
  const { from, to } = chosen === RANGE ? range : (months.find(({ name }) => name === chosen) ?? lastMonth)
  return (
    <div class="statement">
      <label class="field inline">
        <span class="field-label">Statement of</span>
        <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          {months.map(({ name }, index) => (
            <option key={name} value={name}>
              {index === 0 ? `${name}, until now` : index === 1 ? `last month, ${name}` : name}
            </option>
          ))}
          <option value={RANGE}>the range above</option>
        </select>
      </label>
      <a
        class="button"
        href={`${location.origin}${reportTarget('partyStatement', partyId, { from, to })}&format=csv`}
        download=""
        title="Each funding payment with rate and size, and the fees and fee penalty of each epoch, in whole units"
      >
        Download statement
      </a>
    </div>
  )
}

type Month = Range & { name: string }

/** The months of a range of times in UTC, the newest first. */
export function monthsOf(from: bigint, to: bigint): Month[] {
  const newest = new Date(Number(to / 1_000_000n))
  const months: Month[] = []
  for (let back = 0; back < MOST_MONTHS; back++) {
    const { ns: start, end } = monthOf(newest.getUTCFullYear(), newest.getUTCMonth() - back)
    const name = new Date(Number(start / 1_000_000n)).toISOString().slice(0, 7)
    months.push({ name, from: start, to: end })
    if (start <= from) break
  }
  return months
}
