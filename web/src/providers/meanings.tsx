import { COLUMNS } from './columns.ts'

export function Meanings() {
  return (
    <details class="panel meanings">
      <summary>What the figures mean</summary>
      <dl>
        {COLUMNS.map(({ name, title, meaning }) => (
          <div key={name}>
            <dt>{title}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
        <div>
          <dt>No SLA figures</dt>
          <dd>The network has sent none of the provider: it has just committed, or the market has no SLA.</dd>
        </div>
      </dl>
    </details>
  )
}
