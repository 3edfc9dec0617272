// Tools of an MCP server: their declarations, and their results as ours. What the server claims about them counts only where the
// configuration trusts it: without that every tool is one that writes and must not be repeated.

import { asFields, isPlainObject, toJson, trimmedText, truncateToBytes } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { readDeclaration } from '../tools/declaration.ts'
import { type RejectedDeclaration, type ToolDeclaration, ToolError } from '../tools/tool.ts'
import { hashFnv1a } from '../tools/tool-names.ts'
import type { McpServer } from './mcp-server.ts'

/** A tool of a server. JSON: what a turn was offered is kept in its journal. */
export type ServerTool = {
  readonly server: string
  /** As the server calls it. */
  readonly tool: string
  readonly declaration: ToolDeclaration
}

export type ServerTools = { readonly tools: readonly ServerTool[]; readonly rejected: readonly RejectedDeclaration[] }

const maxDescription = 4_000
const maxNameLength = 128

export function toToolDeclarations(server: McpServer, listed: readonly unknown[]): ServerTools {
  const tools = new Map<string, ServerTool>()
  const rejected: RejectedDeclaration[] = []
  const spelled = listed.map((entry) => asFields(entry)['name']).filter((name) => typeof name === 'string')
  const ourNames = assignToolNames(new Set(spelled), maxNameLength - server.name.length - 1)
  for (const entry of listed) {
    const given = asFields(entry)
    const tool = typeof given['name'] === 'string' ? given['name'] : ''
    const name = `${server.name}/${ourNames.get(tool) ?? ''}`
    const fault = tools.has(name)
      ? 'duplicate_tool_name: listed twice; the first one stays'
      : findToolDeclarationFault(given)
    if (fault !== undefined) {
      rejected.push({ name: printableToolName(server, tool), reason: fault })
      continue
    }
    const reading = readDeclaration({ ...toDeclarationFields(server, given), name }, 'server')
    if (reading.ok) tools.set(name, { server: server.name, tool, declaration: reading.declaration })
    else rejected.push({ ...reading.rejected, name: printableToolName(server, tool) })
  }
  return { tools: [...tools.values()], rejected }
}

/**
 * Ours are lower case: `readFile` is `read_file` here. A name that several tools would have belongs to the one that is spelled so,
 * and the others end with a fingerprint of their own spelling: whichever is listed first, each keeps its name.
 */
function assignToolNames(spelled: ReadonlySet<string>, maxLength: number): ReadonlyMap<string, string> {
  const alike = new Map<string, number>()
  for (const tool of spelled) alike.set(sanitizeToolName(tool), (alike.get(sanitizeToolName(tool)) ?? 0) + 1)
  const named = [...spelled].map((tool) => {
    const name = sanitizeToolName(tool)
    const isItsOwn = name === tool || alike.get(name) === 1
    if (isItsOwn && name !== '' && name.length <= maxLength) return [tool, name] as const
    const end = `_${hashFnv1a(tool)}`
    return [tool, `${(name === '' ? 'tool' : name).slice(0, maxLength - end.length)}${end}`] as const
  })
  return new Map(named)
}

/** Empty where nothing of it can be kept. */
function sanitizeToolName(tool: string): string {
  const name = tool
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '_')
  if (/^[a-z]/.test(name)) return name
  return /[a-z0-9]/.test(name) ? `tool_${name.replace(/^[_-]+/, '')}` : ''
}

function printableToolName(server: McpServer, tool: string): string {
  const printable = tool.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '')
  return `${server.name}/${printable}`.slice(0, maxNameLength)
}

function toDeclarationFields(server: McpServer, given: Fields): Fields {
  const name = trimmedText(given['name']) ?? ''
  const title = trimmedText(given['title'])
  const description = trimmedText(given['description']) ?? title ?? name
  const { $schema: _, ...parameters } = asFields(toJson(given['inputSchema']))
  return {
    description: description.slice(0, maxDescription),
    parameters,
    ...readTrustedToolAnnotations(server, asFields(given['annotations'])),
    timeout_ms: mcpToolTimeout(server, name),
  }
}

function mcpToolTimeout({ timeoutMs, toolTimeoutsMs }: McpServer, tool: string): number {
  return Object.hasOwn(toolTimeoutsMs, tool) ? (toolTimeoutsMs[tool] ?? timeoutMs) : timeoutMs
}

function readTrustedToolAnnotations(
  { isTrusted }: McpServer,
  { readOnlyHint, destructiveHint, idempotentHint }: Fields,
): Fields {
  if (!isTrusted) return { write: true }
  // Reading twice is reading once.
  if (readOnlyHint === true) return { write: false, idempotent: true }
  return {
    write: true,
    ...(idempotentHint === true ? { idempotent: true } : {}),
    ...(destructiveHint === true ? { categories: ['destructive'] } : {}),
  }
}

function findToolDeclarationFault({ name, inputSchema }: Fields): string | undefined {
  if (typeof name !== 'string' || name === '') return 'invalid_server_tool_declaration: it has no name'
  const formatInputSchemaFault = (what: string): string => `invalid_server_tool_declaration: inputSchema ${what}`
  if (!isPlainObject(inputSchema)) return formatInputSchemaFault('must be a JSON schema')
  const { type, properties, required } = inputSchema
  if (type !== 'object') return formatInputSchemaFault('must be of type object')
  if (properties !== undefined && !isPlainObject(properties))
    return formatInputSchemaFault('has properties that are none')
  const areSchemas = Object.values(asFields(properties)).every(
    (each) => isPlainObject(each) || typeof each === 'boolean',
  )
  if (!areSchemas) return formatInputSchemaFault('has a property that is no schema')
  const isList = Array.isArray(required) && required.every((each) => typeof each === 'string')
  return required === undefined || isList ? undefined : formatInputSchemaFault('has no list of names in required')
}

// A result is data through and through: links are shown and never followed, pictures and sounds are named and left out, and
// nothing in it can look like a call or a pause.

/** What is kept in the journal at most; the model is shown less. */
const maxBytes = 64 * 1024
const maxBlocks = 256

/** The envelope is explicit: a body with a `success` of its own must not be taken for one. */
export function readCallResult(name: string, answer: unknown): Fields {
  const given = asFields(answer)
  const { content, structuredContent, isError } = given
  if (!Array.isArray(content) && !isPlainObject(structuredContent))
    throw new ToolError(`${name} answered with something that is no result.`, 'mcp_invalid_result')
  const blocks = (Array.isArray(content) ? content : []).slice(0, maxBlocks).map(readContentBlock)
  if (isError === true) {
    const words = blocks.map((block) => trimmedText(block['text'])).filter((text) => text !== undefined)
    const error = truncateToBytes(words.join('\n') || `${name} failed.`, maxBytes)
    return { success: false, error, metadata: { error_type: 'mcp_tool_error' } }
  }
  return { success: true, result: limitResultBody(mcpResultBody(blocks, structuredContent)) }
}

/** Structured content says in full what its text repeats; links and other things beside it are kept. */
function mcpResultBody(blocks: readonly Fields[], structured: unknown): unknown {
  if (isPlainObject(structured)) {
    const others = blocks.filter((block) => block['type'] !== 'text')
    const value = toJson(structured)
    return others.length === 0 ? value : { structured: value, content: others }
  }
  const [first] = blocks
  return blocks.length === 1 && first?.['type'] === 'text' ? first['text'] : { content: blocks }
}

function readContentBlock(block: unknown): Fields {
  const given = asFields(block)
  switch (given['type']) {
    case 'text':
      return { type: 'text', text: String(given['text'] ?? '') }
    case 'resource_link':
      return { type: 'resource_link', ...pickTextFields(given, ['uri', 'name', 'title', 'description', 'mimeType']) }
    case 'resource': {
      const resource = asFields(given['resource'])
      return {
        type: 'resource',
        ...pickTextFields(resource, ['uri', 'mimeType', 'text']),
        ...omittedBytesField(resource['blob']),
      }
    }
    case 'image':
    case 'audio':
      return { type: given['type'], ...pickTextFields(given, ['mimeType']), ...omittedBytesField(given['data']) }
    default:
      return { type: 'unsupported' }
  }
}

function pickTextFields(given: Fields, keys: readonly string[]): Fields {
  const found = keys.map((key) => [key, given[key]] as const)
  return Object.fromEntries(found.filter(([, text]) => typeof text === 'string'))
}

/** Base64 tells a model nothing and fills its context. */
function omittedBytesField(data: unknown): Fields {
  return typeof data === 'string' ? { omitted_bytes: Math.floor((data.length * 3) / 4) } : {}
}

function limitResultBody(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const size = new TextEncoder().encode(text).length
  if (size <= maxBytes) return body
  return { truncated: true, original_bytes: size, excerpt: truncateToBytes(text, maxBytes) }
}
