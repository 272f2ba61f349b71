import { Option } from 'commander'
import { timeBefore } from '#core/domain/time'
import { wordsOfName } from '#core/domain/words'
import { FILTERS, type Filter } from '#core/model/filters'
import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import type { IdKind } from '#core/store/queries/contents/ids'
import type { Store } from '#core/store/store'
import { parametersOf } from '#service/questions/parameters'
import { type GivenTime, lastBlockOf } from './bound.ts'
import type { ExportCommandOptions, GivenFilters } from './export-options.ts'
import { InvalidSettingError } from './options.ts'
import { wholeId } from './whole-id.ts'

type Restriction = keyof GivenFilters | 'from' | 'to'

/** The options that restrict the rows, and their parameters in the API. */
const RESTRICTIONS = [
  ...Object.entries(FILTERS).map(([name, { option, type }]) => ({ option, name, type })),
  { option: 'from', name: 'dateRange.startTimestamp', type: null },
  { option: 'to', name: 'dateRange.endTimestamp', type: null },
] as const satisfies { option: Restriction; name: string; type: Filter['type'] | null }[]

/** The placeholder of a filter's value, by type. */
const PLACEHOLDERS: Record<Filter['type'], string> = {
  marketId: 'id',
  assetId: 'id',
  partyId: 'id',
  traderId: 'id',
  partyIds: 'ids',
  source: 'source',
  uint64: 'number',
}

/** The options that apply to a resource. */
function restrictionsOf(resource: Resource): Restriction[] {
  const parameters = [resource.scope, ...parametersOf(resource).map(({ name }) => name)]
  return RESTRICTIONS.filter(({ name }) => parameters.includes(name)).map(({ option }) => option)
}

/** The names of the resources that take an option, for its help. */
export function takersOf(option: Restriction): string {
  return RESOURCES.filter((resource) => restrictionsOf(resource).includes(option))
    .map(({ kebabName }) => kebabName)
    .join(', ')
}

/** The options for the filters of all resources. */
export function filterOptions(): Option[] {
  return Object.values(FILTERS).flatMap(({ option, type, meaning }) => {
    const takers = takersOf(option)
    if (takers === '') return []
    const text = `${meaning[0]!.toLowerCase()}${meaning.slice(1, -1)}${BY[PLACEHOLDERS[type]] ?? ''}`
    const otherwise = type === 'marketId' ? '; default: all markets' : ''
    return [new Option(`--${flagOf(option)} <${PLACEHOLDERS[type]}>`, `${text} (${takers})${otherwise}`)]
  })
}

/** How ids may be given, by their placeholder. */
const BY: Readonly<Record<string, string>> = {
  id: ', by id or unique prefix',
  ids: ', by ids or unique prefixes, with commas between them',
}

const flagOf = (option: string) => wordsOfName(option, '-')

/** The kinds of ids, by the types of filters. */
const KINDS: Readonly<Partial<Record<Filter['type'], IdKind>>> = {
  marketId: 'market',
  assetId: 'asset',
  partyId: 'party',
  traderId: 'party',
  partyIds: 'party',
}

/**
 * The values of the given restrictions by parameter: ids are completed, and ages are counted back from the last block of the
 * store.
 */
export async function restrictionsIn(
  store: Store,
  options: ExportCommandOptions,
): Promise<Map<string, readonly string[]>> {
  const values = new Map<string, readonly string[]>()
  for (const { option, name, type } of RESTRICTIONS) {
    const value = options[option]
    if (value === undefined) continue
    const kind = type === null ? undefined : KINDS[type]
    if (typeof value === 'object') values.set(name, [String(await timeOf(store, value))])
    else if (kind === undefined) values.set(name, [value])
    else values.set(name, await wholeIds(store, kind, type === 'partyIds' ? value.split(',') : [value]))
  }
  return values
}

async function wholeIds(store: Store, kind: IdKind, given: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const one of given) ids.push(await wholeId(store, kind, one))
  return ids
}

async function timeOf(store: Store, time: GivenTime): Promise<bigint> {
  if (time.by === 'time') return time.before
  return timeBefore(BigInt((await lastBlockOf(store, 'export')).timestamp), time.age)
}

/** Refuses options that the resource does not have, whatever their values. */
export function refuseForeign(resource: Resource, options: ExportCommandOptions): void {
  const allowed = restrictionsOf(resource)
  const foreign = RESTRICTIONS.find(
    ({ option }) => options[option] !== undefined && !allowed.includes(option),
  )?.option
  if (foreign === undefined) return
  const flags = allowed.map((name) => `--${flagOf(name)}`).join(', ')
  throw new InvalidSettingError(
    `${resource.kebabName} cannot be filtered by ${foreign} (--${flagOf(foreign)}); ${flags === '' ? 'omit it' : `allowed: ${flags}`}`,
  )
}
