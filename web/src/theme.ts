import { effect, signal } from '@preact/signals'

/** Theme of the pages: the system's, or always one. */
export type Theme = 'auto' | 'light' | 'dark'

const THEMES: readonly Theme[] = ['auto', 'light', 'dark']
const KEY = 'lyra-theme'

/** Icons on the switch. */
export const THEME_ICONS: Record<Theme, string> = { auto: '◐', light: '☀', dark: '☾' }

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const systemDark = signal(systemIsDark.matches)
systemIsDark.addEventListener('change', ({ matches }) => {
  systemDark.value = matches
})

export const theme = signal<Theme>(storedTheme())

/** Whether the pages are dark now. */
export function isDark(): boolean {
  return theme.value === 'dark' || (theme.value === 'auto' && systemDark.value)
}

/** Chooses the next theme of the three. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!
}

effect(() => {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  try {
    if (theme.value === 'auto') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme.value)
  } catch {
    // Without storage the choice lasts as long as the page.
  }
})

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY)
    return THEMES.find((known) => known === stored) ?? 'auto'
  } catch {
    return 'auto'
  }
}
