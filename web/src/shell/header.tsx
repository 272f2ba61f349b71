import { VIEWS, type View, view } from '../location.ts'
import { Link } from '../parts/link.tsx'
import { nextTheme, THEME_ICONS, theme } from '../theme.ts'
import { Position } from './position.tsx'

const NAMES: Record<View, string> = {
  markets: 'Markets',
  funding: 'Funding',
  providers: 'Providers',
  party: 'Party',
  checkpoints: 'Checkpoints',
  node: 'Node',
}

export function Header() {
  return (
    <header class="header">
      <Link view="markets" class="brand">
        <svg viewBox="0 0 32 32" aria-hidden="true" width="22" height="22">
          <path class="brand-line" d="M4 19 L11 9 L18 15 L28 4" />
          <path class="brand-base" d="M4 26 H28" />
        </svg>
        <span>Lyra</span>
      </Link>
      <nav class="nav" aria-label="Views">
        {VIEWS.map((name) => (
          <Link key={name} view={name} {...(view.value === name && { 'aria-current': 'page' })}>
            {NAMES[name]}
          </Link>
        ))}
      </nav>
      <div class="header-end">
        <Position />
        <a class="docs-link" href="/docs">
          API
        </a>
        <button
          type="button"
          class="theme-switch"
          title="Change the theme"
          aria-label={`Theme: ${theme.value}. Change it`}
          onClick={nextTheme}
        >
          <span aria-hidden="true">{THEME_ICONS[theme.value]}</span>
        </button>
      </div>
    </header>
  )
}
