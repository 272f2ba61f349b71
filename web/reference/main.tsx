import { effect } from '@preact/signals'
import { render } from 'preact'
import '../src/styles/tokens.css'
import '../src/styles/base.css'
import '../src/styles/controls.css'
import '../src/styles/layout.css'
import './reference.css'
import { nextTheme, THEME_ICONS, theme } from '../src/theme.ts'
import { loadDocument } from './document.ts'
import { Reference } from './reference.tsx'
import { loadStoredMarkets } from './stored-markets.ts'

const button = document.getElementById('theme')!
button.addEventListener('click', nextTheme)
effect(() => {
  button.textContent = THEME_ICONS[theme.value]
  button.setAttribute('aria-label', `Theme: ${theme.value}. Change it`)
})

const root = document.getElementById('reference')!
try {
  const [api, storedMarket] = await Promise.all([loadDocument('/openapi.json'), loadStoredMarkets()])
  render(<Reference api={api} storedMarket={storedMarket} />, root)
} catch (error) {
  render(<p class="failure">The API reference could not be loaded: {(error as Error).message}</p>, root)
}
