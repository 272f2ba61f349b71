import { render } from 'preact'
import { App } from './app.tsx'
import { watchCoverage } from './service/coverage.ts'
import 'uplot/dist/uPlot.min.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/layout.css'
import './styles/tables.css'
import './styles/views.css'

watchCoverage()
render(<App />, document.getElementById('app')!)
