export type TableHeadProps = {
  /** In the order of the columns. */
  titles: readonly string[]
  /** Those of columns without figures. */
  texts: readonly string[]
}

/** The head of a table that is not sorted by its columns. */
export function TableHead({ titles, texts }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {titles.map((title) => (
          <th key={title} scope="col" class={texts.includes(title) ? '' : 'figure-column'}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  )
}
