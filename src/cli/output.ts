// Output of commands: tables and sentences for people, JSON for programs, and progress when it takes long. Nothing in this folder
// writes to a stream but through here, so that no value from outside reaches a terminal unescaped.
import { escapeInvisibleInJson, escapeInvisibleKeepingLines, printableLine } from '../node/log.ts'

export { printableLine }

export const jsonArg = {
  json: { type: 'boolean', description: 'Print JSON on standard output and nothing else there' },
} as const

const quietMs = 2_000
const againMs = 10_000

/** Our own colours, as `paint` and the help write them; whatever else a text holds is escaped. */
const colour = /(\u001b\[[0-9]{1,3}m)/

/** stdout is for the answer alone; everything else goes to stderr. */
export function printAnswer(isJson: boolean | undefined, value: unknown, text: string): void {
  process.stdout.write(
    isJson === true ? `${escapeInvisibleInJson(JSON.stringify(value))}\n` : `${escapeInvisibleKeepingLines(text)}\n`,
  )
}

/** For a text that was painted for a terminal, of values that went through `oneLine`. */
export function printPainted(text: string): void {
  const pieces = text.split(colour).map((piece, at) => (at % 2 === 1 ? piece : escapeInvisibleKeepingLines(piece)))
  process.stdout.write(pieces.join(''))
}

export function printRemark(text: string): void {
  process.stderr.write(`${escapeInvisibleKeepingLines(text)}\n`)
}

export type Column<Row> = { readonly title: string; readonly cell: (row: Row) => string | number | null }

/** Aligned by spaces, one row a line, so that ids can be pasted and columns cut. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ cell }) => printableLine(String(cell(row) ?? '-'))))
  const lines = [columns.map(({ title }) => title), ...cells]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const isNumber = columns.map((_, at) => cells.length > 0 && cells.every((line) => /^\d+$/.test(line[at] ?? '')))
  const aligned = lines.map((line) =>
    line.map((cell, at) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))),
  )
  return aligned.map((line) => line.join('  ').trimEnd()).join('\n')
}

/** To the second, in UTC, as it can be compared with the log. */
export function formatInstant(text: string | null): string {
  return text === null ? '-' : new Date(text).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Says after two seconds that it is still working, and then every ten; `what` may be asked anew each time. */
export async function withProgress<T>(what: string | (() => string), work: () => Promise<T>): Promise<T> {
  const started = Date.now()
  const showElapsed = (): void => {
    const seconds = Math.round((Date.now() - started) / 1000)
    printRemark(`${typeof what === 'string' ? what : what()}, ${seconds} s so far …`)
  }
  let later: ReturnType<typeof setInterval> | undefined
  const first = setTimeout(() => {
    showElapsed()
    later = setInterval(showElapsed, againMs)
  }, quietMs)
  try {
    return await work()
  } finally {
    clearTimeout(first)
    clearInterval(later)
  }
}
