// Commands made from the resource table: flags from the schemas of an operation, its answer as a table, as lines or as JSON.
import type { ArgDef, ArgsDef } from 'citty'
import * as z from 'zod'
import { type AnyCommand, type CommandArgs, type CommandFacts, type FlagRule, formatInstant } from '../api/command.ts'
import { type AnyOperation, idSchema, issueText, pathParams } from '../api/resource.ts'
import { isGatewayError } from '../lib/errors.ts'
import { splitCommaList } from '../lib/index.ts'
import { usageError } from './command-error.ts'
import type { Group, Node } from './command-line.ts'
import { confirmOrAbort, parseExpiryFlagMs, parseTimeFlag, yesArg } from './flags.ts'
import { type OperatorContext, operatorCommand } from './operator-command.ts'
import { formatTable, printableLine } from './output.ts'
import type { ShownResource } from './resources.ts'

/** The commands of a resource, and those that take several requests; `before` may stand for one of the table. */
export function resourceGroup(
  resource: ShownResource,
  more: readonly Node[] = [],
  before: readonly Node[] = [],
): Group {
  const { name, description, examples, aliases, fallback } = resource
  const replaced = before.map((each) => each.name)
  return {
    name,
    description,
    examples,
    ...(aliases === undefined ? {} : { aliases }),
    ...(fallback === undefined ? {} : { fallback }),
    commands: [...before, ...resourceToCommandNodes(resource).filter((each) => !replaced.includes(each.name)), ...more],
  }
}

export function resourceToCommandNodes({ name, commands }: ShownResource): readonly Node[] {
  return commands.map(({ operation, command }) => operationCommandNode(name, operation, command))
}

/** A resource of one command, which goes by its name. */
export function singleCommandOfResource(resource: ShownResource): Node {
  const [only] = resourceToCommandNodes(resource)
  if (only === undefined) throw new TypeError(`${resource.name} has no command`)
  return only
}

/** More than the operation: flags of its own, and what is done with them. `run` answers false to go on as usual. */
type CommandAddition = {
  readonly args: ArgsDef
  readonly run: (context: OperatorContext<ArgsDef>, input: Readonly<Record<string, unknown>>) => Promise<boolean>
}

export function operationCommandNode(
  group: string,
  operation: AnyOperation,
  command: AnyCommand,
  addition?: CommandAddition,
): Node {
  const fields = commandFields(operation, command)
  const words = fields.filter(({ isWord }) => isWord)
  const typed = command.name === group ? `parley ${group}` : `parley ${group} ${command.name}`
  return operatorCommand<ArgsDef>({
    name: command.name,
    description: command.description,
    examples: command.examples,
    args: {
      ...Object.fromEntries(fields.map(({ flag, arg }) => [flag, arg])),
      ...addition?.args,
      ...(command.confirm === undefined ? {} : yesArg),
    },
    async before(args) {
      readCommandInput(operation, command, fields, args as CommandArgs)
      if (command.confirm !== undefined)
        await confirmOrAbort(command.confirm(args as CommandArgs), args['yes'] === true)
    },
    async run(context) {
      const args = context.args as CommandArgs
      const input = readCommandInput(operation, command, fields, args)
      if ((await addition?.run(context, input)) === true) return
      const whenPrinted = args['json'] === true ? {} : command.whenPrinted
      const options = command.timeoutMs === undefined ? {} : { timeoutMs: command.timeoutMs }
      const answer = await context.ask(operation, { ...input, ...whenPrinted } as never, options)
      const facts = { args, isOffline: context.isOffline }
      context.show(
        addArgumentsToOkAnswer(answer, words, args),
        formatCommandAnswer(command, answer, facts, nextPageHintLines(typed, fields, args, answer)),
      )
    },
  })
}

// Flags are the fields of the query or the body, as their schemas describe them.

type CommandField = {
  readonly name: string
  readonly flag: string
  readonly arg: ArgDef
  readonly isWord: boolean
  readonly rule: FlagRule
  readonly schema: FieldSchema
}

type FieldSchema = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly pattern?: string
}

function commandFields(operation: AnyOperation, command: AnyCommand): readonly CommandField[] {
  const inPath = pathParams(operation.path).map((name): CommandField => {
    const description =
      command.about?.[name] ?? operation.params?.[name]?.meta()?.description ?? 'An id, as the list shows it'
    const arg = { type: 'positional', required: true, description } as const
    return { name, flag: name, arg, isWord: true, rule: {}, schema: {} }
  })
  const { properties, required } = fieldSchemas(operation)
  const names = Object.keys(properties).filter(
    (name) => command.fixed?.[name] === undefined && command.flags?.[name] !== false,
  )
  const words = command.words ?? []
  const fields = [...words, ...names.filter((name) => !words.includes(name))].map((name): CommandField => {
    const schema = properties[name] ?? {}
    const rule = command.flags?.[name] || {}
    const isWord = words.includes(name)
    const isNeeded = required.includes(name)
    return {
      name,
      flag: rule.flag ?? name.replaceAll('_', '-'),
      arg: fieldToCliArgument(schema, rule, isWord, isNeeded),
      isWord,
      rule,
      schema,
    }
  })
  return [...inPath, ...fields]
}

const maxShownOptions = 7

function fieldToCliArgument(schema: FieldSchema, rule: FlagRule, isWord: boolean, isNeeded: boolean): ArgDef {
  const description = rule.description ?? schema.description ?? ''
  if (isWord) return { type: 'positional', required: true, description }
  if (schema.type === 'boolean') return { type: 'boolean', description }
  const options = rule.options ?? (rule.parse === undefined ? schema.enum?.map(String) : undefined)
  // More of them would push every flag to the right.
  const isShort = options !== undefined && options.length <= maxShownOptions
  const fallback = rule.default ?? (schema.default == null ? undefined : String(schema.default))
  const shared = {
    description,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(isNeeded && fallback === undefined ? { required: true as const } : {}),
  }
  if (isShort) return { type: 'enum', options: [...options], ...shared }
  if (options !== undefined)
    return { type: 'string', valueHint: 'word', ...shared, description: `${description}: ${options.join(', ')}` }
  return { type: 'string', valueHint: rule.valueHint ?? (schema.type === 'integer' ? 'number' : 'id'), ...shared }
}

type FieldSchemas = { readonly properties: Readonly<Record<string, FieldSchema>>; readonly required: readonly string[] }

function fieldSchemas({ query, body }: AnyOperation): FieldSchemas {
  const schema: z.ZodType | undefined = body?.schema ?? query
  if (schema === undefined) return { properties: {}, required: [] }
  type Json = FieldSchema & {
    readonly properties?: Record<string, Json>
    readonly required?: string[]
    readonly anyOf?: Json[]
  }
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json
  const shapes = json.anyOf ?? [json]
  const unwrapNullable = (each: Json): FieldSchema => {
    const [only] = each.anyOf?.filter(({ type }) => type !== 'null') ?? []
    return { ...only, ...each }
  }
  return {
    properties: Object.fromEntries(
      shapes.flatMap(({ properties = {} }) =>
        Object.entries(properties).map(([name, each]) => [name, unwrapNullable(each)]),
      ),
    ),
    required: shapes.length > 1 ? [] : (json.required ?? []),
  }
}

/** What was typed, checked by the schemas that the gateway checks it with, and told in the words that were typed. */
function readCommandInput(
  operation: AnyOperation,
  command: AnyCommand,
  fields: readonly CommandField[],
  args: CommandArgs,
): Readonly<Record<string, unknown>> {
  const given = fields.flatMap((field) => {
    const value = args[field.flag]
    const sent = value === undefined ? undefined : parseFieldValue(field, value, operation.body !== undefined)
    return sent === undefined ? [] : [[field.name, sent] as const]
  })
  const input: Record<string, unknown> = { ...Object.fromEntries(given), ...command.fixed }
  const formatArgumentName = (name: string): string => {
    const field = fields.find((each) => each.name === name.split('.')[0])
    if (field === undefined) return name
    return field.isWord ? `<${field.flag.toUpperCase()}>` : `--${field.flag}`
  }
  const inPath = pathParams(operation.path)
  for (const name of inPath)
    throwUsageErrorIfInvalid(operation.params?.[name] ?? idSchema, input[name], formatArgumentName, name)
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
  const schema: z.ZodType | undefined = operation.body?.schema ?? operation.query
  if (schema instanceof z.ZodUnion && !schema.safeParse(rest).success) {
    const flags = fields.filter(({ isWord }) => !isWord).map(({ flag }) => `--${flag}`)
    throw usageError(`give either ${flags.join(' or ')}`)
  }
  if (schema !== undefined) throwUsageErrorIfInvalid(schema, rest, formatArgumentName)
  return input
}

function throwUsageErrorIfInvalid(
  schema: z.ZodType,
  value: unknown,
  wordOf: (name: string) => string,
  name?: string,
): void {
  const [issue] = schema.safeParse(value).error?.issues ?? []
  if (issue === undefined) return
  const path = name === undefined ? issue.path : [name]
  throw usageError(issueText({ ...issue, path }, wordOf))
}

function parseFieldValue({ flag, rule, schema }: CommandField, value: string | boolean, isBody: boolean): unknown {
  if (typeof value === 'boolean') return value
  if (rule.parse !== undefined) return parseFlag(flag, value, rule.parse)
  if (value === 'all' && rule.options?.includes('all') === true && schema.enum?.includes('all') !== true)
    return undefined
  switch (rule.as) {
    case 'duration':
      return parseExpiryFlagMs(value)
    case 'time':
      return parseTimeFlag(flag, value)
    case 'list':
      return splitCommaList(value)
    case 'json':
      return parseFlag(flag, value, (text) => JSON.parse(text))
    default:
      return isBody && schema.type === 'integer' ? Number(value) : value
  }
}

function parseFlag(flag: string, text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (isGatewayError(error)) throw usageError(`--${flag} ${error.message}`)
    throw usageError(`--${flag} must be JSON, such as {"ok":true} or "text"`)
  }
}

// The answer.

/** A bare ok says also what it was done to. */
function addArgumentsToOkAnswer(answer: object, words: readonly CommandField[], args: CommandArgs): object {
  if (!('ok' in answer)) return answer
  return { ...Object.fromEntries(words.map(({ name, flag }) => [name, args[flag]])), ...answer }
}

function formatCommandAnswer(
  command: AnyCommand,
  answer: object,
  facts: CommandFacts,
  more: readonly string[],
): string {
  const lines = 'text' in command ? [command.text(answer, facts)].flat() : tableLines(command, answer, facts)
  // Another version may leave out what this one names.
  return [...(command.head?.(answer) ?? []), ...lines, ...more].map((line) => printableLine(String(line))).join('\n')
}

export function tableLines(
  { rows, columns, empty, foot }: Extract<AnyCommand, { readonly rows: unknown }>,
  answer: object,
  facts: CommandFacts,
): readonly string[] {
  const found = Reflect.get(answer, rows) as readonly object[]
  if (found.length === 0) return [typeof empty === 'function' ? empty(facts) : empty]
  const table = formatTable(
    found,
    Object.entries(columns).map(([title, column]) => ({
      title,
      cell: (row: object) => (typeof column === 'function' ? column(row, facts) : fieldCell(row, column)) ?? null,
    })),
  )
  const below = foot?.(answer) ?? []
  return [...table.split('\n'), ...(below.length === 0 ? [] : ['', ...below])]
}

const instantFields = /^(?:at|since)$|(?:At|_at)$/

function fieldCell(row: object, field: unknown): string | number | null {
  const value: unknown = Reflect.get(row, String(field))
  if (instantFields.test(String(field))) return formatInstant(typeof value === 'string' ? value : null)
  return typeof value === 'number' ? value : value == null ? null : String(value)
}

/** What to type for the next page: the same again, from where this one ended. */
function nextPageHintLines(
  typed: string,
  fields: readonly CommandField[],
  args: CommandArgs,
  answer: object,
): readonly string[] {
  const next = 'next' in answer ? answer.next : null
  if (typeof next !== 'string' && typeof next !== 'number') return []
  const words = fields.flatMap(({ flag, isWord, arg }) => {
    const value = args[flag]
    if (value === undefined || flag === 'before' || value === arg.default) return []
    return isWord ? [String(value)] : [`--${flag}`, String(value)]
  })
  return ['', `More: ${[typed, ...words, '--before', String(next)].join(' ')}`]
}
