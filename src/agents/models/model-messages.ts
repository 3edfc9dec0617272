// Envelopes as AI SDK messages: the calls of one turn in one message, their results in the next, with the pictures a model is
// shown.
import type { JSONValue, ModelMessage } from 'ai'
import type { Envelope } from '../../contract/gateway-events.ts'
import { isKnownPart, type Part } from '../../contract/index.ts'
import { asFields } from '../../lib/index.ts'
import type { ModelRequest } from './model.ts'

export type SafeName = (toolName: string) => string

type Assistant = Extract<ModelMessage, { role: 'assistant' }>
type AssistantPart = Exclude<Assistant['content'], string>[number]
type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number]

export function toModelMessages(
  messages: readonly Envelope[],
  safeName: SafeName,
  pictures: ReadonlyMap<string, LoadedPicture> = new Map(),
): ModelMessage[] {
  const out: ModelMessage[] = []
  let turn: unknown
  for (const message of messages) {
    switch (message.type) {
      case 'tool_call':
        addToolCall(out, toolCallPart(message, safeName), turn === message.payload['turn'])
        turn = message.payload['turn']
        break
      case 'tool_result':
        appendToolResultPart(out, toolResultPart(message, safeName))
        break
      case 'text':
      case 'multimodal_part':
      case 'final_result':
        addTextMessage(out, message, pictures)
        // Text of the same turn stands before its calls; after a message of another speaker a new turn begins.
        turn = undefined
        break
      case 'approval_required':
        // Its call is shown once it has a result; until then this is all a model sees of it.
        appendAssistantPart(out, { type: 'text', text: `I asked for an approval: ${envelopeText(message)}` })
        turn = undefined
        break
      // Frames, questions and errors are told to people; to a model their calls and results say the same.
      case 'delta':
      case 'input_required':
      case 'error':
        break
    }
  }
  return out
}

/** The transcript has each call beside its result; a provider wants all calls of a turn before all of their results. */
function addToolCall(out: ModelMessage[], part: AssistantPart, isSameTurn: boolean): void {
  const calls = out.at(-2)
  if (isSameTurn && out.at(-1)?.role === 'tool' && calls?.role === 'assistant' && Array.isArray(calls.content))
    calls.content.push(part)
  else appendAssistantPart(out, part)
}

function addTextMessage(out: ModelMessage[], message: Envelope, pictures: ReadonlyMap<string, LoadedPicture>): void {
  const text = envelopeText(message)
  if (text === '') return
  if (message.role === 'assistant') appendAssistantPart(out, { type: 'text', text })
  else if (message.role === 'system') out.push({ role: 'user', content: `[note] ${text}` })
  else out.push({ role: 'user', content: addPictures(text, message, pictures) })
}

type UserContent = Extract<ModelMessage, { role: 'user' }>['content']

function addPictures(text: string, { payload }: Envelope, pictures: ReadonlyMap<string, LoadedPicture>): UserContent {
  const shown = payloadPictures(payload).flatMap(({ id }) => pictures.get(id) ?? [])
  if (shown.length === 0) return text
  const files = shown.map(({ mime, bytes }) => ({ type: 'file' as const, data: bytes, mediaType: mime }))
  return [{ type: 'text', text }, ...files]
}

function appendAssistantPart(out: ModelMessage[], part: AssistantPart): void {
  const last = out.at(-1)
  if (last?.role === 'assistant' && Array.isArray(last.content)) last.content.push(part)
  else out.push({ role: 'assistant', content: [part] })
}

function appendToolResultPart(out: ModelMessage[], part: ToolPart): void {
  const last = out.at(-1)
  if (last?.role === 'tool') last.content.push(part)
  else out.push({ role: 'tool', content: [part] })
}

function toolCallPart(message: Envelope, safeName: SafeName): AssistantPart {
  const { tool_name, parameters } = message.payload
  return {
    type: 'tool-call',
    toolCallId: messageToolCallId(message),
    toolName: safeName(String(tool_name ?? '')),
    input: parameters ?? {},
  }
}

function toolResultPart(message: Envelope, safeName: SafeName): ToolPart {
  const { tool_name, success, result, error } = message.payload
  const output =
    success === true
      ? // Stored results are JSON by construction.
        ({ type: 'json', value: (result ?? null) as JSONValue } as const)
      : ({ type: 'error-text', value: String(error ?? envelopeText(message)) } as const)
  return {
    type: 'tool-result',
    toolCallId: messageToolCallId(message),
    toolName: safeName(String(tool_name ?? '')),
    output,
  }
}

function messageToolCallId(message: Envelope): string {
  return String(message.metadata['tool_call_id'] ?? '')
}

function envelopeText({ content }: Envelope): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}

// Lines name pictures by id, and their bytes are read when the model is asked. No line, and so no journal and no transcript, ever
// holds them.

export type Picture = { readonly id: string; readonly mime: string }
type LoadedPicture = { readonly mime: string; readonly bytes: Uint8Array }

const shownTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const maxPictures = 8
/** What providers take of one; a larger picture is named in the text like any other file. */
const maxBytes = 5_000_000

/** The payload of a line that is shown with pictures. */
export function pictureReferences(parts: readonly Part[]): { readonly pictures?: readonly Picture[] } {
  const pictures = parts.flatMap((part) => partPicture(part) ?? []).slice(0, maxPictures)
  return pictures.length === 0 ? {} : { pictures }
}

export async function loadPictures({ messages, readFile }: ModelRequest): Promise<ReadonlyMap<string, LoadedPicture>> {
  const loaded = new Map<string, LoadedPicture>()
  if (readFile === undefined) return loaded
  for (const { id, mime } of messages.flatMap((line) => payloadPictures(line.payload))) {
    const bytes = loaded.has(id) ? undefined : await readFile(id, maxBytes)
    if (bytes !== undefined) loaded.set(id, { mime, bytes })
  }
  return loaded
}

function payloadPictures(payload: Readonly<Record<string, unknown>>): readonly Picture[] {
  const { pictures } = payload
  if (!Array.isArray(pictures)) return []
  return pictures.map(asFields).map(({ id, mime }) => ({ id: String(id), mime: String(mime) }))
}

function partPicture(part: Part): Picture | undefined {
  if (!isKnownPart(part) || part.kind !== 'file' || part.attachment === undefined) return undefined
  const { mime = '', size = maxBytes + 1, attachment } = part
  return shownTypes.has(mime) && size <= maxBytes ? { id: attachment.id, mime } : undefined
}
