// A command that one channel adds to the command line: what its platform must be told, or asked.
import type { Json } from './json.ts'

export type CommandFlag = {
  /** `positional`: a word of its own, in the order of the flags. */
  readonly type: 'string' | 'boolean' | 'positional'
  readonly description: string
  readonly valueHint?: string
  readonly default?: string
  readonly required?: boolean
}

export type CommandFlags = Readonly<Record<string, string | boolean | undefined>>

/** What a command may look at: the configuration of its own channel, and the network. */
export interface CommandDesk {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly fetch: typeof fetch
  /** Of one connection, checked; undefined where there is none. `instead` stands for variables that are not set. */
  settings(
    connection: string,
    instead?: Readonly<Record<string, string>>,
  ): Promise<{ readonly settings: unknown; readonly publicUrl: string | undefined } | undefined>
}

/** `problem`: it was done or looked at, and something is wrong all the same. */
export type CommandResult = { readonly value: Json; readonly text: string; readonly problem?: string }

/** `parley <channel> <name>`. */
export interface ChannelCommand {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly flags: Readonly<Record<string, CommandFlag>>
  /** What is printed: for programs and for people. Throws `bad_request` where a flag says something impossible. */
  run(flags: CommandFlags, desk: CommandDesk): Promise<CommandResult>
}

/** All commands of one channel. */
export type ChannelCommands = {
  readonly channel: string
  readonly description: string
  readonly commands: readonly ChannelCommand[]
}
