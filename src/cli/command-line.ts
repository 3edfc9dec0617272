// The command line parser: from arguments to one command, found, checked, run. Anything unknown is an error, never ignored.
import { parseArgs as parseStrictly, stripVTControlCharacters } from 'node:util'
import { type ArgsDef, type CommandDef, type ParsedArgs, parseArgs, renderUsage } from 'citty'
import { type CommandError, exitCodeHelp, exitCodes, usageError } from './command-error.ts'
import { toProblemWithExitCode } from './load-config.ts'
import { printAnswer, printPainted, printRemark } from './output.ts'

export async function runCli(root: Group, version: string, words: readonly string[]): Promise<number> {
  try {
    if (words.length === 1 && (words[0] === '--version' || words[0] === '-v')) {
      printAnswer(false, undefined, version)
      return exitCodes.ok
    }
    const { node, path, rest } = findCommand(root, words)
    const ours = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
    if (ours.includes('--help') || ours.includes('-h')) {
      printPainted(await helpText(node, path, process.stdout.isTTY === true))
      return exitCodes.ok
    }
    if ('commands' in node) throw missingOrUnknownCommandError(node, path, rest)
    checkArguments(node, [...path, node.name].join(' '), rest)
    // The words were checked against these very definitions.
    await node.run(parseArgs([...rest], commandArgs(node)) as never)
    return typeof process.exitCode === 'number' ? process.exitCode : exitCodes.ok
  } catch (error) {
    return printProblemAndGetExitCode(error, words.includes('--json'))
  }
}

type Found = { readonly node: Node; readonly path: readonly string[]; readonly rest: readonly string[] }

function findCommand(root: Group, words: readonly string[]): Found {
  let node: Node = root
  const path: string[] = []
  let rest = words
  while ('commands' in node) {
    const [word] = rest
    const named: Node | undefined = node.commands.find((each) => hasNameOrAlias(each, word))
    const next: Node | undefined = named ?? findFallbackCommand(node, rest)
    if (next === undefined) break
    path.push(node.name)
    node = next
    if (named !== undefined) rest = rest.slice(1)
  }
  return { node, path, rest }
}

export function hasNameOrAlias(node: Node, word: string | undefined): boolean {
  return node.name === word || ('commands' in node && word !== undefined && node.aliases?.includes(word) === true)
}

/** Flags alone are flags of the fallback; help is about the group. */
function findFallbackCommand({ commands, fallback }: Group, rest: readonly string[]): Node | undefined {
  const isAsked = rest.every((word) => word !== '--help' && word !== '-h') && rest[0]?.startsWith('-') !== false
  return isAsked ? commands.find((each) => each.name === fallback) : undefined
}

function missingOrUnknownCommandError(node: Group, path: readonly string[], rest: readonly string[]): CommandError {
  const name = [...path, node.name].join(' ')
  const known = node.commands.map((each) => each.name).join(', ')
  const [word] = rest
  return usageError(
    word === undefined
      ? `${name} needs a command: ${known}; see ${name} --help`
      : `unknown ${word.startsWith('-') ? 'flag' : 'command'} ${word}; ${name} knows ${known}; see ${name} --help`,
  )
}

/** citty takes any flag and any number of words; here a misspelt one must not pass for an answer. */
function checkArguments(node: Command<never>, name: string, words: readonly string[]): void {
  const args = Object.entries(commandArgs(node))
  const flags = args.filter(([, arg]) => arg.type !== 'positional')
  const wanted = args.filter(([, arg]) => arg.type === 'positional')
  const options = Object.fromEntries(
    flags.map(([flag, arg]) => [flag, { type: arg.type === 'boolean' ? ('boolean' as const) : ('string' as const) }]),
  )
  const given = parseOrWrongUsage(name, () =>
    parseStrictly({ args: [...words], options, allowPositionals: true, strict: true }),
  )
  const surplus = given.positionals[wanted.length]
  if (surplus !== undefined) throw usageError(`${surplus} is one word too many; see ${name} --help`)
  const missing = wanted.slice(given.positionals.length).find(([, arg]) => arg.required !== false)
  if (missing !== undefined) throw usageError(`<${missing[0].toUpperCase()}> is missing; see ${name} --help`)
  for (const [flag, arg] of flags) {
    const value = given.values[flag]
    if (value === undefined && arg.required === true) throw usageError(`--${flag} is missing; see ${name} --help`)
    if (arg.type === 'enum' && value !== undefined && !(arg.options ?? []).includes(String(value)))
      throw usageError(`--${flag} must be one of ${(arg.options ?? []).join(', ')}; see ${name} --help`)
    if (value === '') throw usageError(`--${flag} needs a value; see ${name} --help`)
  }
}

function parseOrWrongUsage<T>(name: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    // Node's own words, up to its advice about writing positional arguments.
    const text = error instanceof Error ? (error.message.split(/\. |\n/)[0] ?? '') : ''
    throw usageError(`${text.replace(/^Unknown option '([^']*)'$/, 'unknown flag $1')}; see ${name} --help`)
  }
}

/** Errors for people: what is wrong and what to do, without a stack; the same as JSON where JSON was asked for. */
function printProblemAndGetExitCode(error: unknown, isJson: boolean): number {
  const { code, message, exitCode } = toProblemWithExitCode(error)
  if (isJson) printAnswer(true, { error: { code, remedy: message } }, '')
  // The configuration's problems stand one a line; they are ours.
  printRemark(`parley: ${message}`)
  return exitCode
}

type Command<Args extends ArgsDef = ArgsDef> = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly args: Args
  readonly run: (args: ParsedArgs<Args>) => Promise<void>
}

/** A word that only groups others: `parley deliveries …`. */
export type Group = {
  readonly name: string
  /** Shorter words for the same group; help and errors say its name. */
  readonly aliases?: readonly string[]
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
async function helpText(node: Node, path: readonly string[], isColoured: boolean): Promise<string> {
  const parent: CommandDef = { meta: { name: path.join(' ') } }
  const usage = await renderUsage(toCittyCommand(node), path.length === 0 ? undefined : parent)
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

function toCittyCommand(node: Node): CommandDef {
  const meta = { name: node.name, description: node.description }
  if (!('commands' in node)) return { meta, args: commandArgs(node) }
  return { meta, subCommands: Object.fromEntries(node.commands.map((each) => [each.name, toCittyCommand(each)])) }
}

function commandArgs(node: Command<never>): ArgsDef {
  return node.args as ArgsDef
}

export const version = '0.1.0'
