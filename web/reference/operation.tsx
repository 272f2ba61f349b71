import { useEffect, useRef, useState } from 'preact/hooks'
import { type Document, type Operation, type Parameter, resolve } from './document.ts'
import { ParameterField } from './parameter-field.tsx'
import { ResponseDetails } from './response.tsx'
import type { Asked } from './samples.ts'
import { Samples } from './samples-view.tsx'
import { Try } from './try.tsx'
import { Words } from './words.tsx'

type OperationProps = {
  api: Document
  path: string
  operation: Operation
  /** An initial market. */
  storedMarket: string | undefined
  /** Whether the address names this operation. */
  isNamed: boolean
}

/** Whether a parameter is common to all operations; few people fill these in. */
const isCommon = ({ name, in: place }: Parameter) => place === 'header' || name === 'pretty'

/** An operation: a line, and its parameters and responses once it is opened. */
export function OperationDetails(props: OperationProps) {
  const { path, operation, isNamed } = props
  const [isOpen, setOpen] = useState(isNamed)
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (!isNamed) return
    setOpen(true)
    details.current?.scrollIntoView()
  }, [isNamed])
  return (
    <details
      ref={details}
      class="operation"
      id={operation.operationId}
      open={isOpen}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open && !isOpen) history.replaceState(null, '', `#${operation.operationId}`)
        setOpen(currentTarget.open)
      }}
    >
      <summary>
        <span class="method">GET</span>
        <code class="path" data-path={path}>
          {path}
        </code>
        <span class="quiet">{operation.summary}</span>
      </summary>
      {isOpen && <Opened {...props} />}
    </details>
  )
}

function Opened({ api, path, operation, storedMarket }: OperationProps) {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve(api, parameter))
  const [values, setValues] = useState<Record<string, string>>(() => prefilled(parameters, storedMarket))
  const fieldsOf = (shown: readonly Parameter[]) =>
    shown.map((parameter) => (
      <ParameterField
        key={parameter.name}
        operationId={operation.operationId}
        parameter={parameter}
        value={values[parameter.name] ?? ''}
        onChange={(value) => setValues({ ...values, [parameter.name]: value })}
      />
    ))
  const own = parameters.filter((parameter) => !isCommon(parameter))
  const asked: Asked = {
    base: location.origin,
    path,
    given: parameters.flatMap(({ name, in: place }) => {
      const value = values[name] ?? ''
      return value === '' ? [] : [{ in: place, name, value }]
    }),
  }
  return (
    <div class="opened">
      {operation.description !== undefined && <Words text={operation.description} />}
      {own.length > 0 && <div class="parameters">{fieldsOf(own)}</div>}
      <details class="more">
        <summary>Headers and layout</summary>
        <div class="parameters">{fieldsOf(parameters.filter(isCommon))}</div>
      </details>
      <Samples asked={asked} />
      <Try asked={asked} />
      <h3>Responses</h3>
      {Object.entries(operation.responses).map(([status, response]) => (
        <ResponseDetails key={status} api={api} status={status} response={response} />
      ))}
    </div>
  )
}

/** A market if rows of one must be asked for: in the path, of a stream, or as one of the filters of which one is needed. */
function prefilled(
  parameters: readonly Parameter[],
  storedMarket: string | undefined,
): Record<string, string> {
  const market = parameters.find(({ name }) => name === 'marketId')
  if (market === undefined || storedMarket === undefined) return {}
  const isNeeded = market.required === true || (market.description ?? '').includes('must be given')
  return isNeeded ? { marketId: storedMarket } : {}
}
