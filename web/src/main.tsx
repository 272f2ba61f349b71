import { render } from 'preact'
import { App, loadViews } from './app.tsx'
import { askForFirstView } from './first-requests.ts'
import { watchCoverage } from './service/coverage.ts'
import { watchInstruments } from './service/instruments.ts'
import 'uplot/dist/uPlot.min.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/layout.css'
import './styles/tables.css'
import './styles/views/figures.css'
import './styles/views/range.css'
import './styles/views/charts.css'
import './styles/views/funding.css'
import './styles/views/markets.css'
import './styles/views/providers.css'
import './styles/views/party.css'
import './styles/views/checkpoints.css'
import './styles/views/node.css'
import './styles/views/mine.css'
import './styles/views/watches.css'

loadViews()
watchCoverage()
askForFirstView()
watchInstruments()
render(<App />, document.getElementById('app')!)
// Nothing is copied before there is something to see.
setTimeout(async () => (await import('./parts/copy-exactly.ts')).copyExactly())
