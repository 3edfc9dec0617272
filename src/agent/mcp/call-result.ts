// What an MCP tool answered, as a result of ours. It is data through and through: links are shown and never followed, pictures
// and sounds are named and left out, and nothing in it can look like a call or a pause.
import type { Fields } from '../../contract/index.ts'
import { fieldsOf, isFields, jsonOf, trimmed } from '../fields.ts'
import { ToolError } from '../tools/tool-error.ts'
import { firstBytes } from '../tools/truncate-result.ts'

/** What is kept in the journal at most; the model is shown less. */
const maxBytes = 64 * 1024
const maxBlocks = 256

/** The envelope is explicit: a body with a `success` of its own must not be taken for one. */
export function callResult(name: string, answer: unknown): Fields {
  const given = fieldsOf(answer)
  const { content, structuredContent, isError } = given
  if (!Array.isArray(content) && !isFields(structuredContent))
    throw new ToolError(`${name} answered with something that is no result.`, 'mcp_invalid_result')
  const blocks = (Array.isArray(content) ? content : []).slice(0, maxBlocks).map(blockOf)
  if (isError === true) {
    const words = blocks.map((block) => trimmed(block['text'])).filter((text) => text !== undefined)
    const error = firstBytes(words.join('\n') || `${name} failed.`, maxBytes)
    return { success: false, error, metadata: { error_type: 'mcp_tool_error' } }
  }
  return { success: true, result: bounded(bodyOf(blocks, structuredContent)) }
}

/** Structured content says in full what its text repeats; links and other things beside it are kept. */
function bodyOf(blocks: readonly Fields[], structured: unknown): unknown {
  if (isFields(structured)) {
    const others = blocks.filter((block) => block['type'] !== 'text')
    const value = jsonOf(structured)
    return others.length === 0 ? value : { structured: value, content: others }
  }
  const [first] = blocks
  return blocks.length === 1 && first?.['type'] === 'text' ? first['text'] : { content: blocks }
}

function blockOf(block: unknown): Fields {
  const given = fieldsOf(block)
  switch (given['type']) {
    case 'text':
      return { type: 'text', text: String(given['text'] ?? '') }
    case 'resource_link':
      return { type: 'resource_link', ...texts(given, ['uri', 'name', 'title', 'description', 'mimeType']) }
    case 'resource': {
      const resource = fieldsOf(given['resource'])
      return { type: 'resource', ...texts(resource, ['uri', 'mimeType', 'text']), ...omitted(resource['blob']) }
    }
    case 'image':
    case 'audio':
      return { type: given['type'], ...texts(given, ['mimeType']), ...omitted(given['data']) }
    default:
      return { type: 'unsupported' }
  }
}

function texts(given: Fields, keys: readonly string[]): Fields {
  const found = keys.map((key) => [key, given[key]] as const)
  return Object.fromEntries(found.filter(([, text]) => typeof text === 'string'))
}

/** Base64 tells a model nothing and fills its context. */
function omitted(data: unknown): Fields {
  return typeof data === 'string' ? { omitted_bytes: Math.floor((data.length * 3) / 4) } : {}
}

function bounded(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const size = new TextEncoder().encode(text).length
  if (size <= maxBytes) return body
  return { truncated: true, original_bytes: size, excerpt: firstBytes(text, maxBytes) }
}
