/** A name in camel case, in lower case with something between its words: `funding period data points`. */
export function wordsOfName(name: string, between = ' '): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `${between}${letter.toLowerCase()}`)
}
