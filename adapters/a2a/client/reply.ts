// The result of a remote agent as a reply, and parts to and from it. Its answers are passed on as its words; of its faults the
// person hears only a sentence of ours.

import {
  type AgentReply,
  isKnownPart,
  maxInlineBytes,
  maxTextLength,
  type NormalizedResponse,
  type Part,
  type RemoteCallContext,
  say,
  textPart,
} from '../../../src/contract/index.ts'
import { encodeBase64 } from '../../../src/lib/index.ts'
import { partsText } from '../../../src/markdown/index.ts'
import type { A2aPart } from '../protocol/objects.ts'
import type { FaultCode } from './fault.ts'
import { artifactsText, type ChainRefusal, type RemoteMessage, type RemoteTask, remotePartsText } from './task.ts'

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
      return { parts: completedReplyParts(toInboundParts(outcome.message.parts, by)), status: 'completed' }
    case 'task':
      return taskToReply(outcome.task, by)
  }
}

function taskToReply(task: RemoteTask, by: SaidBy): AgentReply {
  const parts = remoteResultParts(task, by)
  switch (task.state) {
    case 'completed':
      return { parts: completedReplyParts(parts), status: 'completed' }
    case 'input_required': {
      const asked = parts.length > 0 ? parts : [textPart(say('remote.needs_answer', { agent: by.agent }))]
      return { parts: asked, status: 'input_required' }
    }
    case 'auth_required':
      return { parts: [...parts, signInPart(by)], status: 'input_required' }
    case 'rejected':
      return task.said?.refusal === undefined ? failedReply('remote_rejected') : chainRefusedReply(task.said.refusal)
    case 'cancelled':
      return failedReply('remote_cancelled')
    default:
      return failedReply('remote_failed')
  }
}

/** Its results, and what it said with its last state unless that is what the results say. */
function remoteResultParts(task: RemoteTask, by: SaidBy): Part[] {
  const { artifacts, said, history } = task
  const results = artifacts.flatMap(({ parts, name }) => toInboundParts(mergeAdjacentTextParts(parts), { ...by, name }))
  const words = artifactsText(task)
  const isNew =
    said !== undefined &&
    !(said.parts.every(({ text }) => text !== undefined) && words.includes(remotePartsText(said.parts)))
  const last = isNew || results.length > 0 ? undefined : history.findLast(({ isFromAgent }) => isFromAgent)
  const spoken = isNew ? said.parts : (last?.parts ?? [])
  return [...results, ...toInboundParts(spoken, by)].slice(0, maxReplyParts)
}

/** Chunks of one stream are no paragraphs, also where they are told apart afterwards. */
function mergeAdjacentTextParts(parts: readonly A2aPart[]): readonly A2aPart[] {
  const pieces: A2aPart[] = []
  for (const part of parts) {
    const last = pieces.at(-1)
    const isOn = last?.text !== undefined && part.text !== undefined && last.mediaType === part.mediaType
    if (isOn) pieces[pieces.length - 1] = { ...last, text: `${last.text}${part.text}` }
    else pieces.push(part)
  }
  return pieces
}

function completedReplyParts(parts: readonly Part[]): Part[] {
  return parts.length > 0 ? parts.slice(0, maxReplyParts) : [textPart(say('status.completed'))]
}

/** The state itself authorizes nothing: a person who signed in elsewhere says so here, and the task goes on. */
function signInPart({ agent }: SaidBy): Part {
  const message = say('remote.needs_sign_in', { agent })
  return { kind: 'policy', policy: { kind: 'unauthorized', message } }
}

const sentenceKeys = {
  remote_unreachable: 'remote.unreachable',
  remote_address_refused: 'remote.address_refused',
  remote_card_invalid: 'remote.not_found',
  remote_card_unsigned: 'remote.not_proven',
  remote_no_interface: 'remote.no_interface',
  remote_version_refused: 'remote.no_interface',
  remote_unauthorized: 'remote.unauthorized',
  remote_refused: 'remote.refused',
  remote_unsupported: 'remote.unsupported',
  remote_task_lost: 'remote.task_lost',
  remote_malformed: 'remote.malformed',
  remote_too_much: 'remote.too_much',
  remote_timeout: 'remote.timeout',
  remote_failed: 'remote.failed',
  remote_rejected: 'remote.declined',
  remote_cancelled: 'remote.cancelled',
  budget_exceeded: 'run.budget_spent',
} as const satisfies Readonly<Record<Extract<Outcome, { kind: 'failed' }>['code'], string>>

const statuses: Readonly<Partial<Record<string, NormalizedResponse['status']>>> = {
  remote_rejected: 'refused',
  remote_cancelled: 'cancelled',
}

function failedReply(code: Extract<Outcome, { kind: 'failed' }>['code']): AgentReply {
  const message = say(sentenceKeys[code])
  return { parts: [textPart(message)], status: statuses[code] ?? 'failed', error: { code, message, retryable: false } }
}

/** The chain ended further on: the first caller is told why, through every agent in between. */
function chainRefusedReply(code: ChainRefusal): AgentReply {
  const message = say(code === 'gw:hop_limit' ? 'chain.ended_further_on' : 'chain.loops_further_on')
  return { parts: [textPart(message)], status: 'refused', error: { code, message, retryable: false } }
}

// Files go as bytes: the URLs we have are good for a minute, and for us.

const maxFileBytes = 5 * 1024 * 1024
const maxBytesTogether = 8 * 1024 * 1024

/** What cannot be sent is named. */
export async function toOutboundParts(
  parts: readonly Part[],
  files: RemoteCallContext['attachments'],
): Promise<readonly A2aPart[]> {
  const sent: A2aPart[] = []
  let left = maxBytesTogether
  for (const part of parts) {
    const file = await loadFilePart(part, files, Math.min(maxFileBytes, left))
    if (file !== undefined) {
      left -= file.size
      sent.push(file.part)
      continue
    }
    const text = partsText([part])
    const mediaType = isKnownPart(part) && part.kind === 'text' && part.mime !== 'text/html' ? part.mime : 'text/plain'
    if (text !== '') sent.push({ text, mediaType })
  }
  return sent.length > 0 ? sent : [{ text: '(no words)', mediaType: 'text/plain' }]
}

async function loadFilePart(
  part: Part,
  files: RemoteCallContext['attachments'],
  maxBytes: number,
): Promise<{ readonly part: A2aPart; readonly size: number } | undefined> {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { bytes_ref: ref, attachment, name, mime } = part
  const shown = {
    ...(name === undefined ? {} : { filename: name }),
    ...(mime === undefined ? {} : { mediaType: mime }),
  }
  if (attachment === undefined) {
    if (ref.kind !== 'inline' || ref.data_base64.length > maxBytes) return undefined
    return { part: { raw: ref.data_base64, ...shown }, size: ref.data_base64.length }
  }
  // Larger ones throw: they are named like any that cannot be had.
  const bytes = await files.bytes(attachment.id, maxBytes).catch(() => undefined)
  if (bytes === undefined) return undefined
  return { part: { raw: encodeBase64(bytes), ...shown }, size: bytes.byteLength }
}

export type ReadAs = { readonly writesMarkdown: boolean; readonly name?: string | undefined }

/** A stranger's words, files and links, as ours can be shown. Links are shown and never fetched. */
function toInboundParts(parts: readonly A2aPart[], as: ReadAs): readonly Part[] {
  return parts.flatMap((part) => toInboundPart(part, as))
}

function toInboundPart(part: A2aPart, as: ReadAs): readonly Part[] {
  const { text, raw, url, data, mediaType, filename = as.name } = part
  if (text !== undefined)
    return text === '' ? [] : [textPart(text.slice(0, maxTextLength), chooseTextMime(mediaType, as))]
  if (raw !== undefined) return [inlineFilePart(raw, filename, mediaType)]
  return [url === undefined ? dataFilePart(data, as.name) : remoteLinkPart(url, filename)]
}

function chooseTextMime(mediaType: string | undefined, { writesMarkdown }: ReadAs): 'text/plain' | 'text/markdown' {
  if (mediaType === undefined) return writesMarkdown ? 'text/markdown' : 'text/plain'
  return mediaType.startsWith('text/markdown') ? 'text/markdown' : 'text/plain'
}

function inlineFilePart(base64: string, name: string | undefined, mime: string | undefined): Part {
  const shown = name ?? 'file'
  if (!fitsInlineLimit(base64)) return textPart(say('file.too_large_to_pass_on', { name: shown }))
  return {
    kind: 'file',
    bytes_ref: { kind: 'inline', data_base64: base64 },
    name: shown,
    ...(mime === undefined ? {} : { mime }),
  }
}

function remoteLinkPart(url: string, title: string | undefined): Part {
  const isShown = URL.canParse(url) && new URL(url).protocol === 'https:'
  if (!isShown) return textPart(say('file.unreachable', { name: title ?? 'elsewhere' }))
  return { kind: 'link', url, ...(title === undefined ? {} : { title }) }
}

function dataFilePart(data: unknown, name: string | undefined): Part {
  const base64 = encodeBase64(new TextEncoder().encode(JSON.stringify(data, null, 2)))
  const shown = `${name ?? 'data'}.json`.replace(/\.json\.json$/, '.json')
  if (!fitsInlineLimit(base64)) return textPart(say('file.too_large_to_pass_on', { name: shown }))
  const bytes_ref = { kind: 'inline', data_base64: base64 } as const
  return { kind: 'artifact', bytes_ref, artifact_type: 'data', mime: 'application/json', name: shown }
}

function fitsInlineLimit(base64: string): boolean {
  return base64.length <= Math.floor(maxInlineBytes / 3) * 4
}
