import type { Parameter } from './document.ts'
import { inline } from './words.tsx'

type FieldProps = {
  operationId: string
  parameter: Parameter
  value: string
  onChange: (value: string) => void
}

/** A parameter to fill in: names to choose from, yes or no, or any text. Empty is not sent. */
export function ParameterField({ operationId, parameter, value, onChange }: FieldProps) {
  const { name, in: place, required, description = '', schema } = parameter
  const id = `${operationId}-${name}`
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum
  const byDefault = schema.default === undefined ? '' : ` Default: \`${schema.default}\`.`
  const attributes = { id, 'aria-describedby': `${id}-meaning`, 'data-parameter': name }
  return (
    <div class="parameter">
      <label for={id}>
        <code>{name}</code>
        {required && <span class="bad"> required</span>}
        {place !== 'query' && <span class="quiet"> {place}</span>}
      </label>
      {choices === undefined ? (
        <input
          {...attributes}
          type="text"
          spellcheck={false}
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      ) : (
        <select {...attributes} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">not sent</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      <p id={`${id}-meaning`} class="quiet">
        {inline(`${description}${byDefault}`)}
      </p>
    </div>
  )
}
