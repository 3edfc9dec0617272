// Parts of a message as agents read them: text, files that are fetched only when an agent opens them, JSON, tool events.
import { type KnownPart, maxInlineBytes, type Part, textPart } from '../../../src/contract/index.ts'
import { type Fields, isPlainObject } from '../protocol/field-reader.ts'
import type { A2aPart } from '../protocol/objects.ts'

const textTypes = ['text/plain', 'text/markdown', 'text/html'] as const
/** Written as text, and a file to the agent that works with it. */
const tableTypes = ['text/csv', 'text/tab-separated-values']
const toolEvents = ['tool-call', 'tool-result', 'tool-error']

export function normalizeParts(given: readonly A2aPart[]): readonly Part[] {
  const parts: Part[] = []
  const calls = new Map<string, number>()
  for (const part of given) {
    const event = readToolEvent(part)
    const known = event === undefined ? undefined : calls.get(event.id)
    if (event === undefined) parts.push(normalizePart(part))
    else if (known === undefined) {
      calls.set(event.id, parts.length)
      parts.push(event)
    } else parts[known] = { ...parts[known], ...withoutUndefined(event) } as KnownPart
  }
  return parts
}

function normalizePart({ text, raw, url, data, mediaType, filename }: A2aPart): Part {
  const mime = mediaType === undefined ? {} : { mime: mediaType }
  const name = filename === undefined ? {} : { name: filename }
  if (text !== undefined) {
    const type = mediaType?.toLowerCase().split(';')[0]?.trim()
    const data_base64 = type !== undefined && tableTypes.includes(type) ? encodeTextBase64(text) : undefined
    if (data_base64 !== undefined && data_base64.length * 3 <= maxInlineBytes * 4)
      return { kind: 'file', bytes_ref: { kind: 'inline', data_base64 }, ...mime, ...name }
    const known = textTypes.find((each) => each === type)
    return { kind: 'text', mime: known ?? 'text/plain', content: text }
  }
  if (raw !== undefined) return { kind: 'file', bytes_ref: { kind: 'inline', data_base64: raw }, ...mime, ...name }
  if (url !== undefined) {
    // Only what can be fetched safely is a file; anything else is an address in the sender's text.
    if (new URL(url).protocol === 'https:') return { kind: 'file', bytes_ref: { kind: 'url', url }, ...mime, ...name }
    return { kind: 'link', url, ...(filename === undefined ? {} : { title: filename }) }
  }
  return {
    kind: 'artifact',
    bytes_ref: { kind: 'inline', data_base64: encodeTextBase64(JSON.stringify(data ?? null)) },
    mime: mediaType ?? 'application/json',
    ...name,
  }
}

type ToolCall = Extract<KnownPart, { kind: 'tool_call' }>

/** The tool event in a data part, if it is one. Text never becomes one. */
function readToolEvent({ data }: A2aPart): ToolCall | undefined {
  if (!isPlainObject(data) || typeof data['type'] !== 'string' || !toolEvents.includes(data['type'])) return undefined
  const { type, toolCallId: id, toolName, input, output, error } = data as Fields
  if (typeof id !== 'string' || id === '' || id.length > 256) return undefined
  const name = typeof toolName === 'string' && toolName !== '' ? toolName : undefined
  return {
    kind: 'tool_call',
    id,
    name: name ?? 'unknown',
    args: input ?? {},
    ...(type === 'tool-result' ? { result: output ?? null } : {}),
    ...(type === 'tool-error' ? { error: { message: readErrorText(error) } } : {}),
  }
}

/** A result says nothing about the call that it belongs to: its name and input stay as they were. */
function withoutUndefined({ result, error }: ToolCall): Partial<ToolCall> {
  return { ...(result === undefined ? {} : { result }), ...(error === undefined ? {} : { error }) }
}

function readErrorText(error: unknown): string {
  const message = isPlainObject(error) ? error['message'] : error
  return typeof message === 'string' ? message : 'failed'
}

/** Reference to earlier work of the same caller, in words. */
export function referencePart(id: string, state: string, text: string): Part {
  const said = text.trim() === '' ? '' : `:\n${text.slice(0, 4000)}`
  return textPart(`[refers to task ${id}, ${state}]${said}`)
}

function encodeTextBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}
