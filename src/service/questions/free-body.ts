/**
 * Frees the memory of a body at once; nobody may read it afterwards. Left to the garbage collector, bodies would cost a
 * whole collection whenever a few dozen megabytes had accumulated.
 */
export function freeBody({ buffer, length }: Buffer): void {
  // Shorter ones may share their memory with others.
  if (length >= Buffer.poolSize) (buffer as ArrayBuffer).transfer(0)
}
