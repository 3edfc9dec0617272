// Stored copies of payloads and messages: secrets removed, size and depth bounded.

import type { OmittedContent } from '../contract/inbound-event.ts'
import {
  type IgnoredEvent,
  type InboundMessage,
  isKnownPart,
  type NormalizedMessage,
  type Part,
  textPart,
} from '../contract/index.ts'
import { isFilePart } from '../contract/parts.ts'
import { cleanName, cleanText } from '../lib/clean-text.ts'
import { isPlainObject, truncateToBytes } from '../lib/index.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { secretQuery, secretValue } from '../lib/secret.ts'

const secretKey = /(token|secret|password|authorization|signature|credential|api_?key|cookie)/i
/**
 * What every secret value or query holds somewhere, and every text that is not clean: most have nothing of it, and are not
 * looked at twice.
 */
const hint = /[^\u0001-\u007f]|bearer\s|xox[a-z]-|parley_|eyj|[?&]/i
const maxDepth = 32
const maxBytes = 64 * 1024

/** No character takes more in JSON: `\u0000`. */
const maxEscaped = 6

/** A measure that is never too small: characters of text and names, and a few for whatever stands around them. */
type Size = { atMost: number }

/** Returns an object in any case, so that what cannot be kept says so instead of vanishing. */
export function redactRaw(raw: unknown): JsonObject {
  const size: Size = { atMost: 0 }
  const copy = redactJson(raw, 0, size)
  const kept: JsonObject = isPlainObject(copy) ? copy : { value: copy }
  if (size.atMost * maxEscaped <= maxBytes) return kept
  const bytes = JSON.stringify(kept).length
  return bytes <= maxBytes ? kept : { omitted: 'larger than the stored limit', bytes }
}

function redactJson(value: unknown, depth: number, size: Size): Json {
  size.atMost += 8
  if (depth > maxDepth) return '[nested too deep]'
  if (typeof value === 'string') {
    const shown = hint.test(value)
      ? cleanText(value).replace(secretValue, '[redacted]').replace(secretQuery, '$1[redacted]')
      : value
    size.atMost += shown.length
    return shown
  }
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (Array.isArray(value)) return value.map((item) => redactJson(item, depth + 1, size))
  return typeof value === 'object' ? redactFields(value as Record<string, unknown>, depth, size) : null
}

function redactFields(fields: Record<string, unknown>, depth: number, size: Size): JsonObject {
  const copy: Record<string, Json> = {}
  // The signature of evidence from another gateway is called just `value`.
  const isAttestation = fields['type'] === 'signed-attestation'
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    const mayHold = typeof value === 'string' || (typeof value === 'object' && value !== null)
    const isSecret = mayHold && (secretKey.test(key) || (isAttestation && key === 'value'))
    copy[cleanText(key)] = isSecret ? '[redacted]' : redactJson(value, depth + 1, size)
    size.atMost += key.length + 8
  }
  return copy
}

// What is kept of a message whose sender is not admitted: a few kilobytes of text, no files, no original. Pure.

/** Of everything such a message says, in UTF-8. */
export const maxStrangerBytes = 8 * 1024
/** Of its original payload, and of where it came from on its platform. */
const maxAroundBytes = 2 * 1024
const maxNames = 10
const maxNameLength = 80

/** Anything larger, and whatever has files, is looked at before it is stored: is its sender admitted? */
export function isLargeOrHasFiles({ message }: InboundMessage, arrivedBytes: number): boolean {
  return arrivedBytes > maxStrangerBytes || message.parts.some(isFilePart)
}

export function trimStrangerMessage(event: InboundMessage): InboundMessage {
  const { rawBlobs: _kept, pendingBlob: _bytes, ...rest } = event
  const { message, task } = event
  const { parts, leftOut } = shrinkParts(message.parts)
  const isWhole = leftOut.files.length === 0 && !leftOut.is_text_cut
  return {
    ...rest,
    message: { ...shrinkMessageMetadata(message), parts },
    ...(isWhole ? {} : { omitted: leftOut }),
    // The same message in the words of its protocol.
    ...(task === undefined || isJsonWithinBytes(task.payload, maxStrangerBytes)
      ? {}
      : { task: { ...task, payload: {} } }),
  }
}

/** What asks for nothing is kept to be looked at, where any server can send it, and only if it is small. */
export function omitLargeRaw(event: IgnoredEvent): IgnoredEvent {
  return isJsonWithinBytes(event.raw, maxStrangerBytes) ? event : { ...event, raw: omitted }
}

const omitted = { omitted: 'larger than what is kept of it' } as const

function shrinkMessageMetadata(message: NormalizedMessage): NormalizedMessage {
  const { history: _history, policy_resolution: _policy, channel, ...rest } = message
  return {
    ...rest,
    raw: isJsonWithinBytes(message.raw, maxAroundBytes) ? message.raw : omitted,
    ...(channel === undefined ? {} : { channel: shrinkChannel(channel) }),
  }
}

function shrinkChannel(channel: NonNullable<NormalizedMessage['channel']>): NonNullable<NormalizedMessage['channel']> {
  if (isJsonWithinBytes(channel, maxAroundBytes)) return channel
  const {
    context: _open,
    client_tools: _tools,
    client_data: _data,
    tool_result: _result,
    caller: _caller,
    command,
    ...rest
  } = channel
  const isCommand = command !== undefined && isJsonWithinBytes(command, maxAroundBytes)
  return { ...rest, mentions: [], ...(isCommand ? { command } : {}) }
}

function shrinkParts(parts: readonly Part[]): { readonly parts: Part[]; readonly leftOut: OmittedContent } {
  const kept: Part[] = []
  const files: string[] = []
  let fileCount = 0
  let left = maxStrangerBytes
  let isCut = false
  for (const part of parts) {
    if (isFilePart(part)) {
      fileCount += 1
      if (files.length < maxNames) files.push(cleanFileLabel(part.name ?? part.mime))
      continue
    }
    const small = shrinkPart(part, left)
    if (small !== part) isCut = true
    if (small === undefined) continue
    left -= countPartBytes(small)
    kept.push(small)
  }
  const leftOut = { files, more_files: fileCount - files.length, is_text_cut: isCut }
  return { parts: [...kept, ...omittedContentNoteParts(leftOut)], leftOut }
}

/** Undefined: there is no room for any of it. */
function shrinkPart(part: Part, left: number): Part | undefined {
  if (countPartBytes(part) <= left) return part
  if (!isKnownPart(part) || part.kind !== 'text' || left <= 0) return undefined
  const content = truncateToBytes(part.content, left)
  return content === '' ? undefined : { ...part, content }
}

/** In words, for agent and model to read. */
function omittedContentNoteParts({ files, more_files, is_text_cut }: OmittedContent): Part[] {
  const names = [...files, ...(more_files > 0 ? [`${more_files} more`] : [])]
  const why = 'not kept, its sender was not known yet and is asked to send it again'
  return [
    ...names.map((name) => textPart(`[file ${name}: ${why}]`)),
    ...(is_text_cut ? [textPart(`[the rest of this message: ${why}]`)] : []),
  ]
}

function cleanFileLabel(given: unknown): string {
  const shown = cleanName(typeof given === 'string' ? given : '').slice(0, maxNameLength)
  return shown === '' ? 'without a name' : shown
}

const encoder = new TextEncoder()

function countPartBytes(part: Part): number {
  const isText = isKnownPart(part) && part.kind === 'text'
  return encoder.encode(isText ? part.content : JSON.stringify(part)).byteLength
}

function isJsonWithinBytes(value: unknown, bytes: number): boolean {
  return encoder.encode(JSON.stringify(value) ?? '').byteLength <= bytes
}
