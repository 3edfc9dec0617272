// What is kept of a message whose sender is not admitted: a few kilobytes of text, no files, no original. Pure.
import {
  cleanName,
  type IgnoredEvent,
  type InboundMessage,
  isKnownPart,
  type NormalizedMessage,
  type OmittedContent,
  type Part,
  textPart,
} from '../contract/index.ts'

/** Of everything such a message says, in UTF-8. */
export const maxStrangerBytes = 8 * 1024
/** Of its original payload, and of where it came from on its platform. */
const maxAroundBytes = 2 * 1024
const maxNames = 10
const maxNameLength = 80

/** Anything larger, and whatever has files, is looked at before it is stored: is its sender admitted? */
export function isHeavy({ message }: InboundMessage, arrivedBytes: number): boolean {
  return arrivedBytes > maxStrangerBytes || message.parts.some(isFilePartKind)
}

export function trimStrangerMessage(arrived: InboundMessage): InboundMessage {
  const { originals: _kept, toKeep: _bytes, ...rest } = arrived
  const { message, task } = arrived
  const { parts, leftOut } = smallParts(message.parts)
  const isWhole = leftOut.files.length === 0 && !leftOut.is_text_cut
  return {
    ...rest,
    message: { ...smallFacts(message), parts },
    ...(isWhole ? {} : { leftOut }),
    // The same message in the words of its protocol.
    ...(task === undefined || isSmall(task.payload, maxStrangerBytes) ? {} : { task: { ...task, payload: {} } }),
  }
}

/** What asks for nothing is kept to be looked at, where any server can send it, and only if it is small. */
export function leaveOutRaw(arrived: IgnoredEvent): IgnoredEvent {
  return isSmall(arrived.raw, maxStrangerBytes) ? arrived : { ...arrived, raw: omitted }
}

const omitted = { omitted: 'larger than what is kept of it' } as const

function smallFacts(message: NormalizedMessage): NormalizedMessage {
  const { history: _history, policy_resolution: _policy, channel, ...rest } = message
  return {
    ...rest,
    raw: isSmall(message.raw, maxAroundBytes) ? message.raw : omitted,
    ...(channel === undefined ? {} : { channel: smallChannel(channel) }),
  }
}

function smallChannel(channel: NonNullable<NormalizedMessage['channel']>): NonNullable<NormalizedMessage['channel']> {
  if (isSmall(channel, maxAroundBytes)) return channel
  const {
    context: _open,
    client_tools: _tools,
    client_data: _data,
    tool_result: _result,
    caller: _caller,
    command,
    ...rest
  } = channel
  const isCommand = command !== undefined && isSmall(command, maxAroundBytes)
  return { ...rest, mentions: [], ...(isCommand ? { command } : {}) }
}

function smallParts(parts: readonly Part[]): { readonly parts: Part[]; readonly leftOut: OmittedContent } {
  const kept: Part[] = []
  const files: string[] = []
  let fileCount = 0
  let left = maxStrangerBytes
  let isCut = false
  for (const part of parts) {
    if (isFilePartKind(part)) {
      fileCount += 1
      if (files.length < maxNames) files.push(cleanFileLabel(part['name'] ?? part['mime']))
      continue
    }
    const small = smallPart(part, left)
    if (small !== part) isCut = true
    if (small === undefined) continue
    left -= countPartBytes(small)
    kept.push(small)
  }
  const leftOut = { files, more_files: fileCount - files.length, is_text_cut: isCut }
  return { parts: [...kept, ...leftOutNotes(leftOut)], leftOut }
}

/** Undefined: there is no room for any of it. */
function smallPart(part: Part, left: number): Part | undefined {
  if (countPartBytes(part) <= left) return part
  if (!isKnownPart(part) || part.kind !== 'text' || left <= 0) return undefined
  const content = truncateToBytes(part.content, left)
  return content === '' ? undefined : { ...part, content }
}

/** In words, for agent and model to read. */
function leftOutNotes({ files, more_files, is_text_cut }: OmittedContent): Part[] {
  const names = [...files, ...(more_files > 0 ? [`${more_files} more`] : [])]
  const why = 'not kept, its sender was not known yet and is asked to send it again'
  return [
    ...names.map((name) => textPart(`[file ${name}: ${why}]`)),
    ...(is_text_cut ? [textPart(`[the rest of this message: ${why}]`)] : []),
  ]
}

type FilePart = Part & { readonly kind: 'file' | 'artifact' }

function isFilePartKind(part: Part): part is FilePart {
  return part.kind === 'file' || part.kind === 'artifact'
}

function cleanFileLabel(given: unknown): string {
  const shown = cleanName(typeof given === 'string' ? given : '').slice(0, maxNameLength)
  return shown === '' ? 'without a name' : shown
}

const encoder = new TextEncoder()

/** No character is cut in two. */
function truncateToBytes(text: string, bytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(bytes))
  return text.slice(0, read)
}

function countPartBytes(part: Part): number {
  const isText = isKnownPart(part) && part.kind === 'text'
  return encoder.encode(isText ? part.content : JSON.stringify(part)).byteLength
}

function isSmall(value: unknown, bytes: number): boolean {
  return encoder.encode(JSON.stringify(value) ?? '').byteLength <= bytes
}
