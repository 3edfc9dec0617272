// A command that one channel adds to the command line: what its platform must be told, or asked.
import type { Json } from './json.ts'

export type CommandFlag = {
  readonly type: 'string' | 'boolean'
  readonly description: string
  readonly valueHint?: string
  readonly default?: string
}

export type CommandFlags = Readonly<Record<string, string | boolean | undefined>>

/** `parley <channel> <name>`. */
export interface ChannelCommand {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly flags: Readonly<Record<string, CommandFlag>>
  /** What is printed: for programs and for people. Throws `bad_request` where a flag says something impossible. */
  run(flags: CommandFlags): Promise<{ readonly value: Json; readonly text: string }>
}

/** All commands of one channel. */
export type ChannelCommands = {
  readonly channel: string
  readonly description: string
  readonly commands: readonly ChannelCommand[]
}
