import type { Parameters, RequestProps, System } from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import { curlSample, type Given, typescriptSample } from './samples.ts'

const LANGUAGES = [
  ['curl', curlSample],
  ['TypeScript', typescriptSample],
] as const

const COPIED_MS = 1_500

/** Shows under each operation the request that its parameters make, as they are filled in, to copy. */
export function samplesPlugin() {
  return {
    wrapComponents: {
      execute: (Execute: unknown, system: System) => {
        const { createElement, Fragment } = system.React
        const Samples = samplesComponent(system)
        return (props: RequestProps) =>
          createElement(Fragment, null, createElement(Execute, props), createElement(Samples, props))
      },
    },
  }
}

function samplesComponent({ React, specSelectors, getStore }: System) {
  const { createElement, useEffect, useState } = React
  return ({ path, method }: RequestProps) => {
    const [, setChanges] = useState(0)
    const [chosen, setChosen] = useState(0)
    const [copied, setCopied] = useState(false)
    // Parameters change without this component being told.
    useEffect(() => getStore().subscribe(() => setChanges((count: number) => count + 1)), [])
    useEffect(() => {
      if (!copied) return
      const timer = setTimeout(() => setCopied(false), COPIED_MS)
      return () => clearTimeout(timer)
    }, [copied])
    const [, write] = LANGUAGES[chosen]!
    const text = write({
      base: location.origin,
      path,
      given: givenOf(specSelectors.operationWithMeta(path, method)),
    })
    return createElement(
      'section',
      { className: 'samples', 'aria-label': 'The request in code' },
      createElement(
        'div',
        { className: 'samples-bar' },
        createElement(
          'div',
          { className: 'segments' },
          ...LANGUAGES.map(([name], index) =>
            createElement(
              'button',
              {
                type: 'button',
                key: name,
                'aria-pressed': index === chosen,
                onClick: () => setChosen(index),
              },
              name,
            ),
          ),
        ),
        createElement(
          'button',
          {
            type: 'button',
            className: 'button',
            onClick: () => void navigator.clipboard.writeText(text).then(() => setCopied(true)),
          },
          copied ? 'Copied' : 'Copy',
        ),
      ),
      createElement('pre', { className: 'sample', tabIndex: 0 }, createElement('code', null, text)),
    )
  }
}

/** The parameters that have a value. */
function givenOf(operation: Parameters): Given[] {
  const parameters = operation.toJS().parameters ?? []
  return parameters.flatMap((parameter) => {
    const { value } = parameter
    return value === undefined || value === null || value === ''
      ? []
      : [{ in: parameter.in, name: parameter.name, value: String(value) }]
  })
}
