// What an MCP tool answered, as a result of ours. It is data through and through: links are shown and never followed, pictures
// and sounds are named and left out, and nothing in it can look like a call or a pause.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject, toJson, trimmedText } from '../fields.ts'
import { ToolError } from '../tools/tool-error.ts'
import { truncateToBytes } from '../tools/truncate-result.ts'

/** What is kept in the journal at most; the model is shown less. */
const maxBytes = 64 * 1024
const maxBlocks = 256

/** The envelope is explicit: a body with a `success` of its own must not be taken for one. */
export function callResult(name: string, answer: unknown): Fields {
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
  return { success: true, result: boundResultBody(mcpResultBody(blocks, structuredContent)) }
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
      return { type: 'resource_link', ...pickTexts(given, ['uri', 'name', 'title', 'description', 'mimeType']) }
    case 'resource': {
      const resource = asFields(given['resource'])
      return { type: 'resource', ...pickTexts(resource, ['uri', 'mimeType', 'text']), ...omittedData(resource['blob']) }
    }
    case 'image':
    case 'audio':
      return { type: given['type'], ...pickTexts(given, ['mimeType']), ...omittedData(given['data']) }
    default:
      return { type: 'unsupported' }
  }
}

function pickTexts(given: Fields, keys: readonly string[]): Fields {
  const found = keys.map((key) => [key, given[key]] as const)
  return Object.fromEntries(found.filter(([, text]) => typeof text === 'string'))
}

/** Base64 tells a model nothing and fills its context. */
function omittedData(data: unknown): Fields {
  return typeof data === 'string' ? { omitted_bytes: Math.floor((data.length * 3) / 4) } : {}
}

function boundResultBody(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const size = new TextEncoder().encode(text).length
  if (size <= maxBytes) return body
  return { truncated: true, original_bytes: size, excerpt: truncateToBytes(text, maxBytes) }
}
