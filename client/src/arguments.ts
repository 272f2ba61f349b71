/** The ids that are a part of paths. */
export type IdName = 'marketId' | 'partyId'

/** A parameter of a method: a string, or an object whose properties have one of these names. */
export type Parameter =
  | { name: IdName }
  | { name: 'resource'; allowed: readonly string[] }
  | {
      name: 'filters' | 'options' | 'streams'
      properties: readonly string[]
      /** A property that must be given. */
      required?: string | undefined
    }

/** What a property of such an object is. */
const KINDS = { filters: 'filter', options: 'option', streams: 'resource' } as const

/** The keys of every member of a union. */
type AllKeys<Union> = Union extends unknown ? keyof Union : never

/** The parameter for options. Names come as a record, so that the compiler finds one that is missing. */
export function optionsOf<Options>(names: Record<AllKeys<Options>, true>): Parameter {
  return { name: 'options', properties: Object.keys(names) }
}

/**
 * Checks the arguments of a call at run time: TypeScript accepts unknown properties of an object in a variable, and
 * JavaScript accepts everything. Undefined properties count as absent.
 *
 * @throws {TypeError} naming the method, the argument, and the allowed values
 */
export function checkArguments(
  method: string,
  parameters: readonly Parameter[],
  given: readonly unknown[],
): void {
  const call = `${method}(${parameters.map(({ name }) => name).join(', ')})`
  if (given.slice(parameters.length).some((value) => value !== undefined)) {
    throw new TypeError(`${call}: ${given.length} arguments given; allowed: ${parameters.length}`)
  }
  for (const [index, parameter] of parameters.entries()) {
    const fault =
      'properties' in parameter
        ? faultOfObject(parameter, given[index], parameters)
        : faultOfString(parameter, given[index])
    if (fault !== null) throw new TypeError(`${call}: ${fault}`)
  }
}

function faultOfString(
  parameter: Exclude<Parameter, { properties: unknown }>,
  value: unknown,
): string | null {
  if (typeof value !== 'string') return `${parameter.name} must be a string, not ${typeName(value)}`
  if (value === '') return `${parameter.name} is empty`
  if (!('allowed' in parameter) || parameter.allowed.includes(value)) return null
  return `unknown ${parameter.name} '${value}'; allowed: ${parameter.allowed.join(', ')}`
}

function faultOfObject(
  { name, properties, required }: Extract<Parameter, { properties: unknown }>,
  value: unknown,
  parameters: readonly Parameter[],
): string | null {
  const allowed = `allowed: ${properties.length === 0 ? 'none' : properties.join(', ')}`
  // The prototype says nothing of an object of another frame. A signal or a Date has another name here.
  if (value !== undefined && Object.prototype.toString.call(value) !== '[object Object]') {
    return `${name} must be an object, not ${typeName(value)}; ${allowed}`
  }
  const object = (value ?? {}) as Record<string, unknown>
  for (const key in object) {
    if (object[key] === undefined || properties.includes(key)) continue
    const other = parameters.find((one) => 'properties' in one && one.properties.includes(key))
    if (other !== undefined) return `'${key}' belongs in ${other.name}, not in ${name}; ${allowed}`
    return `unknown ${KINDS[name]} '${key}'; ${allowed}`
  }
  return required === undefined || object[required] ? null : `${name} lack ${required}`
}

/** A type as an error names it: `string`, `Object`, `AbortSignal`. */
function typeName(value: unknown): string {
  if (typeof value !== 'object') return typeof value
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}
