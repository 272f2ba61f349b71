import type { Client } from 'pg'
import { TABLES } from '../../schema/tables.ts'
import { type Queryable, queryRows } from '../connection/query-rows.ts'

/** The rights of a role, whose name is quoted, on all tables of a schema: `select, insert`. */
type Grant = { role: string; rights: string }

/** A table or view of a schema. */
type Relation = { name: string; isView: boolean }

/** The tables and views of a schema, and the rights that other roles than their owner have on all tables. */
type SharedGrants = { relations: readonly Relation[]; grants: readonly Grant[] }

const READ_RELATIONS = `
  select relname::text, (relkind = 'v')::int from pg_class
  where relnamespace = to_regnamespace($1) and relkind in ('r', 'p', 'v') order by 1`

const READ_GRANTS = `
  select role, string_agg(privilege_type, ', ' order by privilege_type)
  from (
    select case when grantee = 0 then 'public' else quote_ident(rolname) end role, privilege_type
    from pg_class, aclexplode(relacl) left join pg_roles on pg_roles.oid = grantee
    where relnamespace = to_regnamespace($1) and relkind in ('r', 'p') and grantee <> relowner
      and (grantee = 0 or rolname is not null)
    group by 1, 2
    having count(distinct pg_class.oid) = $2::int
  ) granted
  group by role order by role`

/** Reads the rights of other roles on all tables of a schema, before tables and views are added. */
export async function readSharedGrants(client: Queryable, schema: string): Promise<SharedGrants> {
  const relations = await readRelations(client, schema)
  const tables = relations.filter(({ isView }) => !isView)
  // The table with the version may have been created by another user, before the rights were granted.
  const rows = await queryRows(client, READ_GRANTS, [schema, String(tables.length)])
  return { relations, grants: rows.map(([role, rights]) => ({ role: String(role), rights: String(rights) })) }
}

async function readRelations(client: Queryable, schema: string): Promise<Relation[]> {
  const rows = await queryRows(client, READ_RELATIONS, [schema])
  return rows.map(([name, isView]) => ({ name: String(name), isView: Number(isView) === 1 }))
}

/** Grants on new tables the rights that other roles have on all older ones, and on new views the right to read. */
export async function grantOnNewTables(
  client: Client,
  schema: string,
  { relations, grants }: SharedGrants,
  onNotice: (message: string) => void,
): Promise<void> {
  const isOld = new Set(relations.map(({ name }) => name))
  const added = (await readRelations(client, schema)).filter(({ name }) => !isOld.has(name))
  const tables = added.filter(({ isView }) => !isView)
  const views = added.filter(({ isView }) => isView)
  for (const { role, rights } of grants) {
    for (const { name } of tables) await client.query(`grant ${rights} on ${schema}.${name} to ${role}`)
    if (tables.length > 0)
      onNotice(`granted ${rights.toLowerCase()} on the new tables to ${role}, as on the others`)
    if (views.length === 0 || !rights.split(', ').includes('SELECT')) continue
    for (const { name } of views) await client.query(`grant select on ${schema}.${name} to ${role}`)
    onNotice(`granted select on the new views to ${role}, as on the tables`)
  }
}

const READ_DENIED = `
  select name from unnest(string_to_array($1, ' ')) name
  where not has_table_privilege(to_regclass($2 || '.' || name), 'select') order by 1 limit 1`

/** The first table of a store that its user may not read; null if it may read all. */
export async function readDeniedTable(client: Queryable, schema: string): Promise<string | null> {
  const names = TABLES.map(({ name }) => name).join(' ')
  const [row] = await queryRows(client, READ_DENIED, [names, schema])
  return row === undefined ? null : String(row[0])
}
