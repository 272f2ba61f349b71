import { effect } from '@preact/signals'
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import '../src/styles/tokens.css'
import '../src/styles/base.css'
import '../src/styles/controls.css'
import '../src/styles/layout.css'
import './reference.css'
import { isDark, nextTheme, THEME_ICONS, theme } from '../src/theme.ts'
import { loadDocument } from './load-document.ts'
import { mendMarkup } from './mend-markup.ts'
import { samplesPlugin } from './samples-plugin.ts'

const button = document.getElementById('theme')!
button.addEventListener('click', nextTheme)
effect(() => {
  button.textContent = THEME_ICONS[theme.value]
  button.setAttribute('aria-label', `Theme: ${theme.value}. Change it`)
  // What Swagger UI's own style sheet goes by.
  document.documentElement.classList.toggle('dark-mode', isDark())
})

mendMarkup(document.getElementById('reference')!)
SwaggerUI({
  spec: await loadDocument('/openapi.json'),
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // It would send the document to a service of somebody else's.
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  showExtensions: false,
  // A page of thousands of rows would become some hundred thousand elements.
  syntaxHighlight: false,
  plugins: [samplesPlugin],
})
