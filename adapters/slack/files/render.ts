// Hop 8: a file of a reply as one upload. Pure.
import { isKnownPart, type Part } from '../../../src/contract/index.ts'
import type { FilePart } from '../../../src/markdown/index.ts'
import type { SlackCall, SlackReplyTo } from '../wire/call.ts'

/** Held in memory while it is sent; Slack itself takes a gigabyte. */
export const maxUploadBytes = 50_000_000

/** Stored, and neither empty nor too large; any other is named in the text. */
export function isUploadable(part: Part): part is FilePart {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return false
  const size = part.kind === 'file' ? part.size : undefined
  return part.attachment !== undefined && size !== 0 && (size ?? 1) <= maxUploadBytes
}

export function uploadCall(part: FilePart, to: SlackReplyTo): SlackCall {
  return {
    method: 'upload',
    account: to.account,
    payload: {
      channel_id: to.channel,
      ...(to.thread_ts === undefined ? {} : { thread_ts: to.thread_ts }),
      ...(to.team_id === undefined ? {} : { team_id: to.team_id }),
    },
    file: { attachment: part.attachment?.id ?? '', name: part.name ?? 'file' },
  }
}
