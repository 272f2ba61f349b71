import { effect } from '@preact/signals'
import { render } from 'preact'
import '../src/styles/tokens.css'
import '../src/styles/base.css'
import '../src/styles/controls.css'
import '../src/styles/layout.css'
import './reference.css'
import { nextTheme, THEME_ICONS, theme } from '../src/theme.ts'
import { loadDocument } from './document.ts'
import { loadHeldMarkets } from './held-markets.ts'
import { Reference } from './reference.tsx'

const button = document.getElementById('theme')!
button.addEventListener('click', nextTheme)
effect(() => {
  button.textContent = THEME_ICONS[theme.value]
  button.setAttribute('aria-label', `Theme: ${theme.value}. Change it`)
})

const root = document.getElementById('reference')!
try {
  const [api, heldMarket] = await Promise.all([loadDocument('/openapi.json'), loadHeldMarkets()])
  render(<Reference api={api} heldMarket={heldMarket} />, root)
} catch (error) {
  render(<p class="failure">The API reference could not be loaded: {(error as Error).message}</p>, root)
}
