import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { shortId } from '../../figures/short-id.ts'
import { instrumentOf, marketLabel } from '../../service/instruments.ts'
import { MARKET_ID, marketMatches } from '../../service/markets.ts'

/** Markets that are listed at once; the rest is found by typing more. */
const LISTED = 100

export type MarketPickerProps = {
  /** The market chosen; null for none, or for all. */
  marketId: string | null
  markets: readonly string[]
  /** Label for no market, if that is a choice: `All markets`. */
  none?: string
  onPick: (marketId: string | null) => void
}

/** Chooses a market: it is found by code, name or id, by mouse or by keys. */
export function MarketPicker({ marketId, markets, none, onPick }: MarketPickerProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [typed, setTyped] = useState<string | null>(null)
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(0)
  const wanted = (typed ?? '').trim()
  const found = markets.filter((market) => marketMatches(market, wanted))
  const whole = wanted.toLowerCase()
  const choices: (string | null)[] = [
    ...(none !== undefined && wanted === '' ? [null] : []),
    ...found.slice(0, LISTED),
    // A market that is not stored has no figures, but may be asked for.
    ...(found.length === 0 && MARKET_ID.test(whole) ? [whole] : []),
  ]
  const close = () => {
    setOpen(false)
    setTyped(null)
  }
  const pick = (choice: string | null) => {
    close()
    input.current?.blur()
    if (choice !== marketId) onPick(choice)
  }
  useEffect(() => {
    if (open) list.current?.children[active]?.scrollIntoView?.({ block: 'nearest' })
  }, [open, active])
  const onKeyDown = (event: KeyboardEvent) => {
    const last = choices.length - 1
    const steps: Record<string, () => void> = {
      ArrowDown: () => (open ? setActive(Math.min(last, active + 1)) : setOpen(true)),
      ArrowUp: () => setActive(Math.max(0, active - 1)),
      Enter: () => open && choices[active] !== undefined && pick(choices[active]!),
      Escape: close,
    }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    step()
  }
  const label = marketId === null ? (none ?? '') : marketLabel(marketId)
  return (
    <div class="field picker">
      <label class="field-label" for={id}>
        Market
      </label>
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && choices.length > 0 ? `${id}-${active}` : undefined}
        placeholder={open ? 'code, name or id' : (none ?? 'Choose a market')}
        autocomplete="off"
        spellcheck={false}
        value={typed ?? label}
        onFocus={() => {
          setOpen(true)
          setTyped('')
          setActive(0)
        }}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setOpen(true)
          setActive(0)
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <div class="picker-popup" hidden={!open}>
        <div
          ref={list}
          id={`${id}-list`}
          role="listbox"
          tabIndex={-1}
          aria-label="Markets"
          class="picker-list"
          // The field keeps the focus while a choice is clicked or the list is scrolled.
          onMouseDown={(event) => event.preventDefault()}
        >
          {choices.map((choice, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
            <div
              key={choice ?? 'none'}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={choice === marketId}
              class={index === active ? 'choice active' : 'choice'}
              onClick={() => pick(choice)}
            >
              <MarketChoice marketId={choice} none={none} />
            </div>
          ))}
        </div>
        {choices.length === 0 && <p class="quiet">No market has that code, name or id.</p>}
        {found.length > LISTED && (
          <p class="quiet">{found.length - LISTED} more. Keep typing to narrow the list.</p>
        )}
      </div>
    </div>
  )
}

function MarketChoice({ marketId, none }: { marketId: string | null; none: string | undefined }) {
  if (marketId === null) return <span>{none}</span>
  const instrument = instrumentOf(marketId)
  return (
    <>
      <span class="choice-code">{marketLabel(marketId)}</span>
      {instrument !== null && <span class="choice-name">{instrument.name}</span>}
      <code class="choice-id">{shortId(marketId)}</code>
    </>
  )
}
