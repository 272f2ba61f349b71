import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { Failure, Skeleton } from './states.tsx'

/** A component whose code is a file of its own, which is loaded when it is shown, or before by `load`. */
export type Lazy<Props> = FunctionComponent<Props> & { load: () => void }

/**
 * @param what name of the component for people
 * @param ask imports the component
 * @param isQuiet whether nothing is shown before it is there, nor if it cannot be loaded
 */
export function lazy<Props extends object>(
  what: string,
  ask: () => Promise<FunctionComponent<Props>>,
  isQuiet = false,
): Lazy<Props> {
  const state = signal<{ Content: FunctionComponent<Props> } | Error | null>(null)
  let asked = false
  const load = () => {
    if (asked) return
    asked = true
    ask().then(
      (Content) => {
        state.value = { Content }
      },
      (error: Error) => {
        state.value = error
      },
    )
  }
  const Shown: FunctionComponent<Props> = (props) => {
    load()
    const known = state.value
    if (isQuiet && (known === null || known instanceof Error)) return null
    if (known === null) {
      return (
        <section class="panel">
          <Skeleton what={what} tall />
        </section>
      )
    }
    // Another version of the service has files of other names: the page itself must be loaded again.
    if (known instanceof Error) return <Failure error={known} onRetry={() => location.reload()} />
    return <known.Content {...props} />
  }
  return Object.assign(Shown, { load })
}
