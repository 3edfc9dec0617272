// What backup and restore count while rows go by.

/** What is being written or read at the moment, for a person who waits. */
export type BackupProgress = { readonly what: string; readonly rows: number; readonly bytes: number }

export const lineEnd = 10

/** Rows: a line's end inside a value is written as two other characters. */
export function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, at + 1)) lines += 1
  return lines
}
