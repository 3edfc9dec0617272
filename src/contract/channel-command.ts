// A command that one channel adds to the command line: what its platform must be told, or asked.
import type { Json, JsonObject } from '../lib/json-value.ts'

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
export interface CommandContext {
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
  run(flags: CommandFlags, context: CommandContext): Promise<CommandResult>
}

/** The gateway of a connection of the channel: the one that runs, or its database where none does. */
export interface OperatingContext {
  /** Runs an operation of the adapter (`Adapter.operations`). Refusals are told to the operator as they are. */
  operate(name: string, input: JsonObject): Promise<OperationResponse>
  /** True: no gateway runs, and what is to be sent waits for one. */
  readonly isOffline: boolean
  /** A file on the operator's machine, within its bounds. */
  readText(path: string, maxBytes: number): Promise<string>
}

/** `id`: the row of what was changed, null where it only looked. `isRepeat`: it had been done before, and was not done again. */
export type OperationResponse = { readonly value: JsonObject; readonly id: string | null; readonly isRepeat: boolean }

/** A command that asks the gateway. `--connection`, `--url` and `--token` come by themselves. */
export interface OperatingCommand extends Omit<ChannelCommand, 'run'> {
  /** Asked before it is done, where it cannot be taken back; `--yes` answers it. */
  confirm?(flags: CommandFlags): string
  operate(flags: CommandFlags, context: OperatingContext): Promise<CommandResult>
}

/** A word that only groups others: `parley <channel> <name> …`. */
export type ChannelCommandGroup = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  /** The command that is meant where none is named. */
  readonly fallback?: string
  readonly commands: readonly (ChannelCommand | OperatingCommand)[]
}

/** All commands of one channel. */
export type ChannelCommands = {
  readonly channel: string
  readonly description: string
  readonly commands: readonly (ChannelCommand | OperatingCommand | ChannelCommandGroup)[]
}
