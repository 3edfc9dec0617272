// Output of this channel's commands for people.

import type { CommandFlags, CommandResult, OperatingContext } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'

/** Only the flags that were given, by the names that the operation asks for. */
export function pickGivenFlags(flags: CommandFlags, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])))
}

type OperationResponse = Awaited<ReturnType<OperatingContext['operate']>>

/** A page of a list; `more`: the command that shows the next one. */
export function listResult({ value }: OperationResponse, { name, columns, none, more }: Listing): CommandResult {
  const rows = (value[name] ?? []) as readonly JsonObject[]
  const next = typeof value['next'] === 'string' ? `\n\nMore: ${more} --after '${value['next']}'` : ''
  return { value, text: rows.length === 0 ? none : `${formatColumns(rows, columns)}${next}` }
}

export type Listing = {
  readonly name: string
  readonly columns: readonly string[]
  readonly none: string
  readonly more: string
}

function formatColumns(rows: readonly JsonObject[], columns: readonly string[]): string {
  const cells = [
    columns.map((name) => name.toUpperCase()),
    ...rows.map((row) => columns.map((name) => displayCell(row[name]))),
  ]
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)))
  return cells
    .map((line) =>
      line
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Others wrote it: nothing in it moves a terminal's cursor. */
export function replaceControlCharsWithSpaces(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, ' ')
}

function displayCell(value: JsonObject[string] | undefined): string {
  const text = Array.isArray(value) ? value.map(String).join(' ') : String(value ?? '-')
  const line = replaceControlCharsWithSpaces(text).replace(/\s+/g, ' ').trim() || '-'
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}

/** `words`: what was done, for the operator who did it just now. */
export function operationDoneResult(
  answer: OperationResponse,
  { isOffline }: OperatingContext,
  words: string,
): CommandResult {
  const { value, id, isRepeat } = answer
  const later = isOffline ? ' What is to be sent waits for a gateway.' : ''
  const text = isRepeat ? `It had been done before; parley explain ${id} says what.` : `${words}${later}`
  return { value: { ...value, id, isRepeat }, text }
}
