// Commands of the resource table as data: how the command line shows an operation. They stand beside it and are no part of it, so
// that a Worker does not carry them.
import type { OperationOutput, Resource } from './resource.ts'

export type CommandArgs = Readonly<Record<string, string | boolean | undefined>>

/** `isOffline`: no gateway runs, and what was changed waits for one. */
export type CommandFacts = { readonly args: CommandArgs; readonly isOffline: boolean }

export type Cell = string | number | null | undefined

/** A field whose flag is not called, described or written like the field. */
export type FlagRule = {
  readonly flag?: string
  readonly description?: string
  readonly valueHint?: string
  readonly options?: readonly string[]
  readonly default?: string
  /** A `duration` is written 12h and sent as milliseconds, a `time` may be so long ago, a `list` has commas. */
  readonly as?: 'duration' | 'time' | 'list' | 'json'
  /** What is sent for what was typed; undefined: nothing. Throws `bad_request`, whose words begin behind the flag. */
  readonly parse?: (text: string) => unknown
}

/** `parley <resource> <name>`. Its words are those of the path, its flags the fields of the query or the body. */
type BaseCommand<Output> = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  /** Of words in the path. */
  readonly about?: Readonly<Record<string, string>>
  /** Fields that are words too, behind those of the path. */
  readonly words?: readonly string[]
  /** False: no flag. */
  readonly flags?: Readonly<Record<string, FlagRule | false>>
  /** Fields that are always sent like this. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The same, unless JSON is asked for. */
  readonly whenPrinted?: Readonly<Record<string, unknown>>
  /** Asked before it is done, where it cannot be taken back; `--yes` answers it. */
  readonly confirm?: (args: CommandArgs) => string
  readonly timeoutMs?: number
  /** Printed before and behind a table. */
  readonly head?: (answer: Output) => readonly string[]
  readonly foot?: (answer: Output) => readonly string[]
}

type TextCommand<Output> = BaseCommand<Output> & {
  /** Line by line; a value from outside never makes a line of its own. */
  readonly text: (answer: Output, facts: CommandFacts) => string | readonly string[]
}

/** By title: a field, or what stands there. Fields that are instants are written to the second. */
type TableColumns<Row> = Readonly<Record<string, (keyof Row & string) | ((row: Row, facts: CommandFacts) => Cell)>>

type TableCommand<Output> = {
  [Rows in keyof Output]: Output[Rows] extends readonly (infer Row)[]
    ? BaseCommand<Output> & {
        /** The list of the answer that is printed. */
        readonly rows: Rows
        readonly columns: TableColumns<Row>
        /** Printed where there are no rows. */
        readonly empty: string | ((facts: CommandFacts) => string)
      }
    : never
}[keyof Output]

// biome-ignore lint/suspicious/noExplicitAny: every operation answers something of its own.
type Anything = any

/** Of an operation that is not looked at. */
export type AnyCommand = BaseCommand<Anything> &
  (
    | Pick<TextCommand<Anything>, 'text'>
    | {
        readonly rows: string
        readonly columns: Readonly<Record<string, string | ((row: Anything, facts: CommandFacts) => Cell)>>
        readonly empty: string | ((facts: CommandFacts) => string)
      }
  )

export type OperationCommand<Output> = TextCommand<Output> | TableCommand<Output>

export type ResourceCommands<Of extends Resource> = {
  readonly description: string
  readonly examples: readonly string[]
  /** Shorter words for the group. */
  readonly aliases?: readonly string[]
  /** The command that is meant where none is named. */
  readonly fallback?: string
  readonly commands: {
    readonly [Name in keyof Of['operations']]?:
      | OperationCommand<OperationOutput<Of['operations'][Name]>>
      | readonly OperationCommand<OperationOutput<Of['operations'][Name]>>[]
  }
}

/** A row per field, for commands that show one thing whole. */
export function formatFieldRows(facts: object): readonly string[] {
  const width = Math.max(...Object.keys(facts).map((name) => name.length)) + 2
  return Object.entries(facts).map(([name, value]) => {
    const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '-')
    return `${name.padEnd(width)}${text}`
  })
}

/** To the second, in UTC, as it can be compared with the log. */
export function formatInstant(text: string | null): string {
  return text === null ? '-' : new Date(text).toISOString().replace(/\.\d+Z$/, 'Z')
}

export const exampleId = '0192f1c2-7d5e-7abc-8def-0123456789ab'
