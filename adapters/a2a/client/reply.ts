// The result of a remote agent as a reply, and parts to and from it. Its answers are passed on as its words; of its faults the
// person hears only a sentence of ours.
import {
  type AgentFiles,
  type AgentReply,
  isKnownPart,
  maxInlineBytes,
  maxTextLength,
  type NormalizedResponse,
  type Part,
  textPart,
} from '../../../src/contract/index.ts'
import { encodeBase64 } from '../../../src/lib/index.ts'
import { partsText } from '../../../src/markdown/index.ts'
import type { FaultCode } from './fault.ts'
import {
  artifactsText,
  type ChainRefusal,
  type RemoteMessage,
  type RemotePart,
  type RemoteTask,
  remotePartsText,
} from './task.ts'

export type Outcome =
  | { readonly kind: 'task'; readonly task: RemoteTask }
  | { readonly kind: 'message'; readonly message: RemoteMessage }
  | { readonly kind: 'failed'; readonly code: FaultCode | 'budget_exceeded' | 'remote_rejected' | 'remote_cancelled' }

export type SaidBy = { readonly agent: string; readonly writesMarkdown: boolean }

const maxReplyParts = 64

export function replyFromOutcome(outcome: Outcome, by: SaidBy): AgentReply {
  switch (outcome.kind) {
    case 'failed':
      return failedReply(outcome.code)
    case 'message':
      return { parts: partsOrDone(inboundParts(outcome.message.parts, by)), status: 'completed' }
    case 'task':
      return taskReply(outcome.task, by)
  }
}

function taskReply(task: RemoteTask, by: SaidBy): AgentReply {
  const parts = remoteResultParts(task, by)
  switch (task.state) {
    case 'completed':
      return { parts: partsOrDone(parts), status: 'completed' }
    case 'input_required': {
      const asked =
        parts.length > 0 ? parts : [textPart(`${by.agent} needs one more answer from you before it can go on.`)]
      return { parts: asked, status: 'input_required' }
    }
    case 'auth_required':
      return { parts: [...parts, signInPart(by)], status: 'input_required' }
    case 'rejected':
      return task.said?.refusal === undefined ? failedReply('remote_rejected') : endedReply(task.said.refusal)
    case 'cancelled':
      return failedReply('remote_cancelled')
    default:
      return failedReply('remote_failed')
  }
}

/** Its results, and what it said with its last state unless that is what the results say. */
function remoteResultParts(task: RemoteTask, by: SaidBy): Part[] {
  const { artifacts, said, history } = task
  const results = artifacts.flatMap(({ parts, name }) => inboundParts(joinTextParts(parts), { ...by, name }))
  const words = artifactsText(task)
  const isNew =
    said !== undefined &&
    !(said.parts.every((part) => part.kind === 'text') && words.includes(remotePartsText(said.parts)))
  const last = isNew || results.length > 0 ? undefined : history.findLast(({ isFromAgent }) => isFromAgent)
  const spoken = isNew ? said.parts : (last?.parts ?? [])
  return [...results, ...inboundParts(spoken, by)].slice(0, maxReplyParts)
}

/** Chunks of one stream are no paragraphs, also where they are told apart afterwards. */
function joinTextParts(parts: readonly RemotePart[]): readonly RemotePart[] {
  const pieces: RemotePart[] = []
  for (const part of parts) {
    const last = pieces.at(-1)
    const isOn = last?.kind === 'text' && part.kind === 'text' && last.mediaType === part.mediaType
    if (isOn) pieces[pieces.length - 1] = { ...last, text: last.text + part.text }
    else pieces.push(part)
  }
  return pieces
}

function partsOrDone(parts: readonly Part[]): Part[] {
  return parts.length > 0 ? parts.slice(0, maxReplyParts) : [textPart('Done.')]
}

/** The state itself authorizes nothing: a person who signed in elsewhere says so here, and the task goes on. */
function signInPart({ agent }: SaidBy): Part {
  const message = `${agent} needs you to sign in before it can go on. Write here when you have done so.`
  return { kind: 'policy', policy: { kind: 'unauthorized', message } }
}

const operators = 'My operator has to look at it.'

const sentences: Readonly<Record<Extract<Outcome, { kind: 'failed' }>['code'], string>> = {
  remote_unreachable: 'I could not reach the agent that answers this. Please try again later.',
  remote_address_refused: `The agent that answers this is at a place I may not go to. ${operators}`,
  remote_card_invalid: `I could not find the agent that answers this. ${operators}`,
  remote_card_unsigned: `The agent that answers this did not prove who it is. ${operators}`,
  remote_no_interface: `The agent that answers this speaks no language I know. ${operators}`,
  remote_version_refused: `The agent that answers this speaks no language I know. ${operators}`,
  remote_unauthorized: `The agent that answers this does not let me in. ${operators}`,
  remote_refused: 'The agent that answers this did not take your message. Please put it differently.',
  remote_unsupported: `The agent that answers this cannot do what I asked of it. ${operators}`,
  remote_task_lost: 'The agent that answers this has lost your request. Please ask again.',
  remote_malformed: `The agent that answers this said something I could not read. ${operators}`,
  remote_too_much: 'The agent that answers this said more than I may take. Please narrow the question.',
  remote_timeout: 'The agent that answers this took too long, and I asked it to stop. Please try again later.',
  remote_failed: 'The agent that answers this could not do it. Please try again later, or put it differently.',
  remote_rejected: 'The agent that answers this declined to do it.',
  remote_cancelled: 'The agent that answers this stopped before it was done.',
  budget_exceeded: 'I stopped here because I had used up what I may use for one message.',
}

const statuses: Readonly<Partial<Record<string, NormalizedResponse['status']>>> = {
  remote_rejected: 'refused',
  remote_cancelled: 'cancelled',
}

function failedReply(code: Extract<Outcome, { kind: 'failed' }>['code']): AgentReply {
  const message = sentences[code]
  return { parts: [textPart(message)], status: statuses[code] ?? 'failed', error: { code, message, retryable: false } }
}

const endings: Readonly<Record<ChainRefusal, string>> = {
  'gw:hop_limit':
    'I passed this on, and got no answer: it went through as many agents as it may, each asking the next.',
  'gw:agent_loop': 'I passed this on, and got no answer: the agents behind me ask each other in a circle.',
}

/** The chain ended further on: the first caller is told why, through every agent in between. */
function endedReply(code: ChainRefusal): AgentReply {
  const message = endings[code]
  return { parts: [textPart(message)], status: 'refused', error: { code, message, retryable: false } }
}

// Files go as bytes: the URLs we have are good for a minute, and for us.

const maxFileBytes = 5 * 1024 * 1024
const maxBytesTogether = 8 * 1024 * 1024

/** What cannot be sent is named. */
export async function outboundParts(parts: readonly Part[], files: AgentFiles): Promise<readonly RemotePart[]> {
  const sent: RemotePart[] = []
  let left = maxBytesTogether
  for (const part of parts) {
    const file = await fileBytes(part, files, Math.min(maxFileBytes, left))
    if (file !== undefined) {
      left -= file.size
      sent.push(file.part)
      continue
    }
    const text = partsText([part])
    const mediaType = isKnownPart(part) && part.kind === 'text' && part.mime !== 'text/html' ? part.mime : 'text/plain'
    if (text !== '') sent.push({ kind: 'text', text, mediaType })
  }
  return sent.length > 0 ? sent : [{ kind: 'text', text: '(no words)', mediaType: 'text/plain' }]
}

async function fileBytes(
  part: Part,
  files: AgentFiles,
  maxBytes: number,
): Promise<{ readonly part: RemotePart; readonly size: number } | undefined> {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { bytes_ref: ref, attachment, name, mime } = part
  const shown = { ...(name === undefined ? {} : { name }), ...(mime === undefined ? {} : { mediaType: mime }) }
  if (attachment === undefined) {
    if (ref.kind !== 'inline' || ref.data_base64.length > maxBytes) return undefined
    return { part: { kind: 'bytes', base64: ref.data_base64, ...shown }, size: ref.data_base64.length }
  }
  // Larger ones throw: they are named like any that cannot be had.
  const bytes = await files.bytes(attachment.id, maxBytes).catch(() => undefined)
  if (bytes === undefined) return undefined
  return { part: { kind: 'bytes', base64: encodeBase64(bytes), ...shown }, size: bytes.byteLength }
}

export type ReadAs = { readonly writesMarkdown: boolean; readonly name?: string | undefined }

/** A stranger's words, files and links, as ours can be shown. Links are shown and never fetched. */
function inboundParts(parts: readonly RemotePart[], as: ReadAs): readonly Part[] {
  return parts.flatMap((part) => inboundPart(part, as))
}

function inboundPart(part: RemotePart, as: ReadAs): readonly Part[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [textPart(part.text.slice(0, maxTextLength), textMime(part.mediaType, as))]
    case 'bytes':
      return [inlineFilePart(part.base64, part.name ?? as.name, part.mediaType)]
    case 'url':
      return [remoteLinkPart(part.url, part.name ?? as.name)]
    case 'data':
      return [dataFilePart(part.data, as.name)]
  }
}

function textMime(mediaType: string | undefined, { writesMarkdown }: ReadAs): 'text/plain' | 'text/markdown' {
  if (mediaType === undefined) return writesMarkdown ? 'text/markdown' : 'text/plain'
  return mediaType.startsWith('text/markdown') ? 'text/markdown' : 'text/plain'
}

function inlineFilePart(base64: string, name: string | undefined, mime: string | undefined): Part {
  const shown = name ?? 'file'
  if (!fitsInline(base64)) return textPart(`[file ${shown}: too large to be passed on]`)
  return {
    kind: 'file',
    bytes_ref: { kind: 'inline', data_base64: base64 },
    name: shown,
    ...(mime === undefined ? {} : { mime }),
  }
}

function remoteLinkPart(url: string, title: string | undefined): Part {
  const isShown = URL.canParse(url) && new URL(url).protocol === 'https:'
  if (!isShown) return textPart(`[file ${title ?? 'elsewhere'}: cannot be fetched]`)
  return { kind: 'link', url, ...(title === undefined ? {} : { title }) }
}

function dataFilePart(data: unknown, name: string | undefined): Part {
  const base64 = encodeBase64(new TextEncoder().encode(JSON.stringify(data, null, 2)))
  const shown = `${name ?? 'data'}.json`.replace(/\.json\.json$/, '.json')
  if (!fitsInline(base64)) return textPart(`[file ${shown}: too large to be passed on]`)
  const bytes_ref = { kind: 'inline', data_base64: base64 } as const
  return { kind: 'artifact', bytes_ref, artifact_type: 'data', mime: 'application/json', name: shown }
}

function fitsInline(base64: string): boolean {
  return base64.length <= Math.floor(maxInlineBytes / 3) * 4
}
