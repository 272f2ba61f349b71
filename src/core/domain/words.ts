/** A camel-case name in lower case, with a separator between its words: `funding period data points`. */
export function wordsOfName(name: string, between = ' '): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `${between}${letter.toLowerCase()}`)
}

/** A number of things: `12,345`. The formatters of Intl would load the rules of all languages, in each thread. */
export function count(value: number | bigint): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `one, two and three` */
export function listed(words: readonly string[]): string {
  return words.join(', ').replace(/, ([^,]*)$/, ' and $1')
}
