// What a command is, and how it prints its own help.
import { stripVTControlCharacters } from 'node:util'
import { type ArgsDef, type CommandDef, type ParsedArgs, renderUsage } from 'citty'
import { exitCodeHelp } from './exit.ts'

export type Command<Args extends ArgsDef = ArgsDef> = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly args: Args
  readonly run: (args: ParsedArgs<Args>) => Promise<void>
}

/** A word that only groups others: `parley deliveries …`. */
export type Group = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  /** The command that is meant where none is named. */
  readonly fallback?: string
  readonly commands: readonly Node[]
}

// Arguments are checked against the command's own definition before it runs; the list does not need their types.
export type Node = Command<never> | Group

/** A typed command as a member of the tree. */
export function defineCommand<const Args extends ArgsDef>(given: Command<Args>): Node {
  return given as unknown as Node
}

/** `path` is what was typed before the command's own name. */
export async function helpText(node: Node, path: readonly string[], isColoured: boolean): Promise<string> {
  const parent: CommandDef = { meta: { name: path.join(' ') } }
  const usage = await renderUsage(asCitty(node), path.length === 0 ? undefined : parent)
  const lines = [
    usage.trimEnd(),
    '',
    'EXAMPLES',
    '',
    ...node.examples.map((example) => `  ${example}`),
    '',
    'EXIT CODES',
    '',
    ...exitCodeHelp.map((line) => `  ${line}`),
    '',
  ]
  const text = lines.join('\n')
  return isColoured ? text : stripVTControlCharacters(text).replace(/ +$/gm, '')
}

function asCitty(node: Node): CommandDef {
  const meta = { name: node.name, description: node.description }
  if (!('commands' in node)) return { meta, args: commandArgs(node) }
  return { meta, subCommands: Object.fromEntries(node.commands.map((each) => [each.name, asCitty(each)])) }
}

export function commandArgs(node: Command<never>): ArgsDef {
  return node.args as ArgsDef
}
