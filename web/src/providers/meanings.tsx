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
          <dt>No SLA</dt>
          <dd>
            The network has sent no service level agreement figures of the provider: it has just committed, or
            the market has none.
          </dd>
        </div>
      </dl>
    </details>
  )
}
