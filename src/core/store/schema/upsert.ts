import { earlierStartInSql, notBeforeInSql } from '../../domain/event-position.ts'
import type { MergeRule } from '../../model/columns.ts'
import type { NamedColumn, Table } from '../../model/table.ts'
import { hasPositions } from './tables.ts'

/** The statement that inserts a row of a table, with a placeholder for each column. */
export function insertText({ name, columns }: Table): string {
  const names = columns.map((column) => column.name).join(', ')
  return `insert into ${name} (${names}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})`
}

/** The columns of a table that are its key, and the others. */
function splitColumns({ columns, keyLength }: Table): { key: NamedColumn[]; others: NamedColumn[] } {
  return { key: columns.slice(0, keyLength), others: columns.slice(keyLength) }
}

/**
 * What happens to a stored row when another one with the same key is written: it is overwritten always, or only by a row
 * from the same or a later event, or by the rule of `fullIf` (see {@link Table}), or each column has a rule of its own.
 */
type ConflictRule = 'always' | 'if newer' | 'by fullness' | 'by column'

function conflictRuleOf(table: Table): ConflictRule {
  const { key, others } = splitColumns(table)
  // Rows with the same position in their keys are from the same event.
  if (key.some(({ name }) => name === 'height')) return 'always'
  if (others.some(({ merge }) => merge !== 'newer')) return 'by column'
  if (!hasPositions(table)) return 'always'
  return table.fullIf === undefined ? 'if newer' : 'by fullness'
}

/**
 * The clause `on conflict` of a table. In SQL, `excluded` is the row that is written, and the table's name is
 * the stored row. `mergeRows` (write/merge-rows.ts) does the same with two rows of one batch.
 */
export function onConflict(table: Table): string {
  const { key, others } = splitColumns(table)
  const conflict = `on conflict (${key.map(({ name }) => name).join(', ')})`
  // Rows that are their key alone are equal.
  if (others.length === 0) return `${conflict} do nothing`
  const head = `${conflict} do update set`
  const overwritten = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  const rule = conflictRuleOf(table)
  switch (rule) {
    case 'always':
      return `${head} ${overwritten}`
    case 'if newer':
      return `${head} ${overwritten} where ${notBeforeInSql('excluded', table.name)}`
    case 'by fullness':
      return `${head} ${overwritten} where ${isFullerInSql(table.name, table.fullIf!)}`
    case 'by column':
      return `${head} ${others.map((column) => mergedColumn(table.name, column)).join(', ')}`
    default:
      return rule satisfies never
  }
}

/** The assignment to a column by its own rule. */
function mergedColumn(table: string, { name, merge }: NamedColumn): string {
  const [written, stored] = [`excluded.${name}`, `${table}.${name}`]
  const writtenIf = (condition: string) => `case when ${condition} then ${written} else ${stored} end`
  const values: Record<MergeRule, string> = {
    newer: writtenIf(notBeforeInSql('excluded', table)),
    earliest: writtenIf(earlierStartInSql('excluded', table)),
    least: writtenIf(`${written} < ${stored}`),
    greatest: writtenIf(`${written} > ${stored}`),
    sum: `${stored} + ${written}`,
    given: written,
  }
  return `${name} = ${values[merge]}`
}

/**
 * Whether the written row replaces the stored one by the rule of `fullIf`: of two full rows the newer one counts, a full row
 * replaces one that is not, and of two that are not full the earlier one counts.
 */
function isFullerInSql(table: string, fullIf: string): string {
  const [written, stored] = [`excluded.${fullIf}`, `${table}.${fullIf}`]
  return `case
    when ${written} and ${stored} then ${notBeforeInSql('excluded', table)}
    when ${written} or ${stored} then ${written}
    else ${notBeforeInSql(table, 'excluded')}
  end`
}
